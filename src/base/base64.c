/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

void base64_put(struct buf *out, struct str bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.ptr;

    for (size_t i = 0; i < bytes.len; i += 3) {
        uint32_t b1 = i + 1 < bytes.len ? p[i + 1] : 0, b2 = i + 2 < bytes.len ? p[i + 2] : 0;
        uint32_t bits = (uint32_t)p[i] << 16 | b1 << 8 | b2;
        char four[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
                         i + 1 < bytes.len ? digits[bits >> 6 & 63] : '=',
                         i + 2 < bytes.len ? digits[bits & 63] : '=' };

        buf_append(out, four, 4);
    }
}

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_read(struct str text, struct buf *out)
{
    if (text.len % 4)
        return false;
    for (size_t i = 0; i < text.len; i += 4) {
        const char *p = text.ptr + i;
        bool last = i + 4 == text.len;
        size_t pad = !last || p[3] != '=' ? 0 : p[2] != '=' ? 1 : 2;
        uint32_t bits = 0;
        char three[3];

        for (size_t k = 0; k < 4; k++) {
            int d = k < 4 - pad ? digit(p[k]) : 0;

            if (d < 0)
                return false;
            bits = bits << 6 | (uint32_t)d;
        }
        if (bits & ((1u << (8 * pad)) - 1))
            return false;
        for (size_t k = 0; k < 3; k++)
            three[k] = (char)(bits >> (16 - 8 * k));
        buf_append(out, three, 3 - pad);
    }
    return true;
}
