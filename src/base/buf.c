/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

void buf_fini(struct buf *b)
{
    free(b->ptr);
    *b = (struct buf){ 0 };
}

bool buf_grow(struct buf *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 64;
    char *ptr;

    if (b->failed || more > SIZE_MAX / 4 - b->len)
        goto fail;
    while (cap - b->len < more)
        cap *= 2;
    ptr = realloc(b->ptr, cap);
    if (!ptr)
        goto fail;
    b->ptr = ptr;
    b->cap = cap;
    return true;
fail:
    b->failed = true;
    return false;
}

void buf_reset(struct buf *b, size_t keep)
{
    if (b->cap > keep)
        buf_fini(b);
    b->len = 0;
    b->failed = false;
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    int n;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if (n > 0 && buf_reserve(b, (size_t)n + 1)) {
        vsnprintf(b->ptr + b->len, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void buf_int(struct buf *b, int64_t value)
{
    char digits[24];
    char *p = digits + sizeof(digits);
    uint64_t u = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--p = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (value < 0)
        *--p = '-';
    buf_append(b, p, (size_t)(digits + sizeof(digits) - p));
}

void buf_consume(struct buf *b, size_t n)
{
    memmove(b->ptr, b->ptr + n, b->len - n);
    b->len -= n;
}
