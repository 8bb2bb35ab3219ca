/* SPDX-License-Identifier: MIT */
/* Slices: borrowed bytes with a length, not terminated, possibly binary. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct str {
    const char *ptr;
    size_t len;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
/* For printf: printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).len, (s).ptr

static inline struct str str_of(const char *text)
{
    return (struct str){ text, strlen(text) };
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Equal but for ASCII case; `text` is terminated. */
static inline bool str_ieq(struct str a, const char *text)
{
    return a.len == strlen(text) && strncasecmp(a.ptr, text, a.len) == 0;
}

/* As memcmp; a string that is the beginning of the other comes before it. */
static inline int str_compare(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Takes the bytes up to a separator, or all of them, and the separator from the front of *rest. */
static inline struct str str_cut(struct str *rest, char separator)
{
    const char *end = rest->len ? memchr(rest->ptr, separator, rest->len) : NULL;
    struct str part = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };
    size_t used = part.len + (end != NULL);

    *rest = (struct str){ rest->ptr + used, rest->len - used };
    return part;
}

/* A number of decimal digits, without a sign. False if it is none, or too large. */
static inline bool str_number(struct str s, uint64_t *ret)
{
    uint64_t v = 0;

    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned char)s.ptr[i] - '0';

        if (digit > 9)
            return false;
        if (i < 19) /* so many digits always fit */
            v = v * 10 + digit;
        else if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *ret = v;
    return s.len > 0;
}

/* The value of a hexadecimal digit in either case; -1: it is none. */
static inline int str_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes from offset n on. */
static inline struct str str_from(struct str s, size_t n)
{
    return (struct str){ s.ptr + n, s.len - n };
}

static inline bool str_starts(struct str s, struct str prefix)
{
    return prefix.len == 0 || (s.len >= prefix.len && memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

/* Without the characters of `blank` that it begins and ends with. */
static inline struct str str_trim(struct str s, const char *blank)
{
    size_t n = strlen(blank);

    for (; s.len > 0 && memchr(blank, s.ptr[0], n); s.ptr++)
        s.len--;
    while (s.len > 0 && memchr(blank, s.ptr[s.len - 1], n))
        s.len--;
    return s;
}

#endif
