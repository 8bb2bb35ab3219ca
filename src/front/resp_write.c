/* SPDX-License-Identifier: MIT */
/* Replies, and requests too: those are arrays of bulk strings. */
#include "front/resp.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Room for the first line of a value: type, number, line end. */
#define HEADER (1 + 1 + BUF_DIGITS + 2)

static char *write_line(char *p, char type, int64_t n)
{
    *p++ = type;
    if (n < 0)
        *p++ = '-';
    p = buf_digits(p, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
    memcpy(p, "\r\n", 2);
    return p + 2;
}

static void put_header(struct buf *out, char type, int64_t n)
{
    if (buf_reserve(out, HEADER))
        out->len = (size_t)(write_line(out->ptr + out->len, type, n) - out->ptr);
}

void resp_simple(struct buf *out, const char *text)
{
    assert(!strpbrk(text, "\r\n"));
    buf_append(out, "+", 1);
    buf_text(out, text);
    buf_append(out, "\r\n", 2);
}

void resp_error(struct buf *out, const char *code, struct str text)
{
    buf_append(out, "-", 1);
    buf_text(out, code);
    buf_append(out, " ", 1);
    size_t start = out->len;
    buf_str(out, text);
    for (size_t i = start; i < out->len; i++)
        if (out->ptr[i] == '\r' || out->ptr[i] == '\n')
            out->ptr[i] = ' ';
    buf_append(out, "\r\n", 2);
}

void resp_int(struct buf *out, int64_t v)
{
    put_header(out, ':', v);
}

/* Names and small values are short: two moves that overlap cost less than a call. */
static void copy(char *to, const char *from, size_t n)
{
    if (n >= 4 && n <= 8) {
        uint32_t first, last;

        memcpy(&first, from, 4);
        memcpy(&last, from + n - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + n - 4, &last, 4);
    } else if (n > 8 && n <= 16) {
        uint64_t first, last;

        memcpy(&first, from, 8);
        memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + n - 8, &last, 8);
    } else if (n > 0) {
        memcpy(to, from, n);
    }
}

/* Most of what is ever written: one check for room, one pass. */
void resp_bulk(struct buf *out, struct str s)
{
    char *p;

    if (!buf_reserve(out, HEADER + s.len + 2))
        return;
    p = write_line(out->ptr + out->len, '$', (int64_t)s.len);
    copy(p, s.ptr, s.len);
    memcpy(p + s.len, "\r\n", 2);
    out->len = (size_t)(p + s.len + 2 - out->ptr);
}

void resp_null(struct buf *out, int proto)
{
    if (proto == 3)
        buf_append(out, "_\r\n", 3);
    else
        buf_append(out, "$-1\r\n", 5);
}

void resp_bool(struct buf *out, int proto, bool v)
{
    if (proto == 3)
        buf_text(out, v ? "#t\r\n" : "#f\r\n");
    else
        put_header(out, ':', v);
}

/* The shortest of the usual precisions that reads back as the same number. */
static size_t format_double(double v, char *ret, size_t size)
{
    if (isnan(v))
        return (size_t)snprintf(ret, size, "nan");
    if (isinf(v))
        return (size_t)snprintf(ret, size, v < 0 ? "-inf" : "inf");
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(ret, size, "%.*g", digits, v);
        if (!(strtod(ret, NULL) < v || strtod(ret, NULL) > v))
            break;
    }
    return (size_t)n;
}

void resp_double(struct buf *out, int proto, double v)
{
    char text[32];
    size_t len = format_double(v, text, sizeof text);
    if (proto != 3) {
        resp_bulk(out, (struct str){ text, len });
        return;
    }
    buf_append(out, ",", 1);
    buf_append(out, text, len);
    buf_append(out, "\r\n", 2);
}

void resp_array(struct buf *out, size_t n)
{
    put_header(out, '*', (int64_t)n);
}

void resp_map(struct buf *out, int proto, size_t pairs)
{
    if (proto == 3)
        put_header(out, '%', (int64_t)pairs);
    else
        put_header(out, '*', (int64_t)pairs * 2);
}
