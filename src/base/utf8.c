/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The number of bytes of the character at p; 0: it is malformed. The text has `left` bytes from p
 * on. */
static inline size_t length_at(const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < 2 || !is_tail(p[1]))
        return 0;
    if (p[0] < 0xe0)
        return 2;
    if (left < 3 || !is_tail(p[2]))
        return 0;
    if (p[0] < 0xf0) /* neither an overlong form nor a surrogate */
        return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ? 0 : 3;
    if (left < 4 || !is_tail(p[3]))
        return 0;
    return (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90) ? 0 : 4;
}

size_t utf8_decode(struct str s, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t len = s.len ? length_at(p, s.len) : 0;
    uint32_t c;

    if (len == 0)
        return 0;
    c = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (p[i] & 0x3f);
    *ret = c;
    return len;
}

/* Most texts are ASCII, so eight bytes are looked at together. */
size_t utf8_span(struct str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    size_t i = 0, n = 1;

    while (i < s.len && n > 0) {
        uint64_t eight;

        if (s.len - i >= sizeof(eight)) {
            memcpy(&eight, p + i, sizeof(eight));
            if (!(eight & HIGH_BITS)) {
                i += sizeof(eight);
                continue;
            }
        }
        n = length_at(p + i, s.len - i);
        i += n;
    }
    return i;
}

bool utf8_valid(struct str s)
{
    return utf8_span(s) == s.len;
}
