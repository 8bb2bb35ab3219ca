/* SPDX-License-Identifier: MIT */
/* Slices: borrowed bytes with a length, not terminated, possibly binary. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
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

/* The bytes from offset n on. */
static inline struct str str_from(struct str s, size_t n)
{
    return (struct str){ s.ptr + n, s.len - n };
}

static inline bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && memcmp(s.ptr, prefix.ptr, prefix.len) == 0;
}

#endif
