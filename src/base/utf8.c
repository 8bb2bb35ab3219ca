/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

size_t utf8_decode(struct str s, uint32_t *ret)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *p = (const unsigned char *)s.ptr;
    uint32_t c;
    size_t len;

    if (s.len == 0)
        return 0;
    if (p[0] < 0x80) {
        *ret = p[0];
        return 1;
    }
    len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || s.len < len)
        return 0;
    c = p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return len;
}

bool utf8_valid(struct str s)
{
    uint32_t c;

    while (s.len > 0) {
        size_t n = utf8_decode(s, &c);
        if (n == 0)
            return false;
        s = str_from(s, n);
    }
    return true;
}
