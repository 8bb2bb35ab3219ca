/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Four digits of up to three bytes; missing ones are filled with `=`. */
static void put_four(char *to, const unsigned char *p, size_t n)
{
    uint32_t bits = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0) | (n > 2 ? p[2] : 0);

    to[0] = digits[bits >> 18];
    to[1] = digits[bits >> 12 & 63];
    to[2] = n > 1 ? digits[bits >> 6 & 63] : '=';
    to[3] = n > 2 ? digits[bits & 63] : '=';
}

void base64_put(struct buf *out, struct str bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.ptr;
    size_t rest = bytes.len % 3, whole = bytes.len - rest;
    char *to;

    if (bytes.len > SIZE_MAX / 2 || !buf_reserve(out, bytes.len / 3 * 4 + 4))
        return;
    to = out->ptr + out->len;
    for (size_t i = 0; i < whole; i += 3, to += 4)
        put_four(to, p + i, 3);
    if (rest) {
        put_four(to, p + whole, rest);
        to += 4;
    }
    out->len = (size_t)(to - out->ptr);
}

static int value_of(char c)
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
            int d = k < 4 - pad ? value_of(p[k]) : 0;

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
