/* SPDX-License-Identifier: MIT */
/*
 * A growable byte buffer that owns its memory.
 *
 * Invariant: len <= cap. When memory runs out the buffer becomes `failed` and further appends do
 * nothing, so a writer may append freely and check once at the end. Not thread-safe.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdint.h>

#include "base/str.h"

struct buf {
    char *ptr;
    size_t len;
    size_t cap;
    bool failed;
};

void buf_fini(struct buf *b);

/* Makes room for `more` bytes after len. False (and b->failed) if memory ran out. */
bool buf_grow(struct buf *b, size_t more);

/* Keeps the memory unless it is larger than `keep` bytes. Clears `failed`. */
void buf_reset(struct buf *b, size_t keep);

void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define BUF_DIGITS 20

/* Writes the decimal digits of a number to p, which has room for BUF_DIGITS; returns their end. */
char *buf_digits(char *p, uint64_t value);
/* Appends them, with a sign if there is one. */
void buf_int(struct buf *b, int64_t value);

/* Removes the first n bytes, moving the rest down. */
void buf_consume(struct buf *b, size_t n);

static inline bool buf_reserve(struct buf *b, size_t more)
{
    return b->cap - b->len >= more || buf_grow(b, more);
}

static inline void buf_append(struct buf *b, const void *data, size_t len)
{
    if (len > 0 && buf_reserve(b, len)) {
        memcpy(b->ptr + b->len, data, len);
        b->len += len;
    }
}

static inline void buf_str(struct buf *b, struct str s)
{
    buf_append(b, s.ptr, s.len);
}

static inline void buf_text(struct buf *b, const char *text)
{
    buf_append(b, text, strlen(text));
}

static inline struct str buf_view(const struct buf *b)
{
    return (struct str){ b->ptr, b->len };
}

#endif
