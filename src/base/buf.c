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
    size_t cap = b->cap ? 2 * b->cap : 64;
    char *ptr;

    if (b->failed || more > SIZE_MAX / 4 - b->len)
        goto fail;
    if (cap - b->len < more)
        cap = b->len + more;
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

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

static const char *pair(uint32_t n)
{
    return pairs + (size_t)n * 2;
}

static void eight_digits(char *p, uint32_t v)
{
    uint32_t high = v / 10000, low = v % 10000;

    memcpy(p, pair(high / 100), 2);
    memcpy(p + 2, pair(high % 100), 2);
    memcpy(p + 4, pair(low / 100), 2);
    memcpy(p + 6, pair(low % 100), 2);
}

/* How many decimal digits a number has. 1233/4096 is a little less than the decimal logarithm of 2,
 * so the number of bits gives the digits, or one too few. */
static size_t digits_of(uint64_t v)
{
    static const uint64_t powers[BUF_DIGITS] = {
        0,
        10,
        100,
        1000,
        10000,
        100000,
        1000000,
        10000000,
        100000000,
        1000000000,
        10000000000,
        100000000000,
        1000000000000,
        10000000000000,
        100000000000000,
        1000000000000000,
        10000000000000000,
        100000000000000000,
        1000000000000000000,
        10000000000000000000U,
    };
    size_t n = (size_t)(64 - __builtin_clzll(v | 1)) * 1233 >> 12;

    return n + (v >= powers[n]);
}

/* Replies are full of numbers, most of them moments in milliseconds. */
char *buf_digits(char *p, uint64_t value)
{
    char *end, *d;
    uint32_t rest;

    if (value < 10) {
        *p = (char)('0' + value);
        return p + 1;
    }
    if (value < 100) {
        memcpy(p, pair((uint32_t)value), 2);
        return p + 2;
    }
    end = d = p + digits_of(value);
    for (; value >= 100000000; value /= 100000000)
        eight_digits(d -= 8, (uint32_t)(value % 100000000));
    for (rest = (uint32_t)value; d - p >= 2; rest /= 100)
        memcpy(d -= 2, pair(rest % 100), 2);
    if (d > p)
        *p = (char)('0' + rest);
    return end;
}

void buf_int(struct buf *b, int64_t value)
{
    char *p;

    if (!buf_reserve(b, BUF_DIGITS + 1))
        return;
    p = b->ptr + b->len;
    if (value < 0)
        *p++ = '-';
    p = buf_digits(p, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    b->len = (size_t)(p - b->ptr);
}

void buf_consume(struct buf *b, size_t n)
{
    memmove(b->ptr, b->ptr + n, b->len - n);
    b->len -= n;
}
