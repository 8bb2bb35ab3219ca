/* SPDX-License-Identifier: MIT */
/* Replies, and requests, which are arrays of bulk strings. */
#include "front/resp.h"

#include <assert.h>

#include "base/list.h"

/* Room for the first line of a value: type, number, line end. */
#define HEADER       (1 + 1 + BUF_DIGITS + 2)
#define SHORT_HEADER 4 /* of a text of up to nine bytes */

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

void resp_error(struct buf *out, const char *code, struct str text)
{
    size_t start;

    buf_append(out, "-", 1);
    buf_text(out, code);
    buf_append(out, " ", 1);
    start = out->len;
    buf_str(out, text);
    for (size_t i = start; i < out->len; i++)
        if (out->ptr[i] == '\r' || out->ptr[i] == '\n')
            out->ptr[i] = ' ';
    buf_append(out, "\r\n", 2);
}

/* Moves n bytes, at least `half` and at most twice as many: the first ones, and the last. */
static inline void copy_halves(char *to, const char *from, size_t n, size_t half)
{
    memcpy(to, from, half);
    memcpy(to + n - half, from + n - half, half);
}

/* Names, ids and small values are short: two moves that overlap cost less than a call. */
static inline void copy(char *to, const char *from, size_t n)
{
    if (n > 32)
        memcpy(to, from, n);
    else if (n > 16)
        copy_halves(to, from, n, 16);
    else if (n > 8)
        copy_halves(to, from, n, 8);
    else if (n >= 4)
        copy_halves(to, from, n, 4);
    else if (n >= 2)
        copy_halves(to, from, n, 2);
    else if (n > 0)
        *to = *from;
}

/* Most values are bulk strings: one check for room, one pass. */
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

void resp_array(struct buf *out, size_t n)
{
    put_header(out, '*', (int64_t)n);
}

/* ---- The reply vtable ---- */

static struct resp_reply *of(struct reply *r)
{
    return container_of(r, struct resp_reply, base);
}

static void write_status(struct reply *r, const char *word)
{
    struct buf *out = of(r)->out;

    assert(!strpbrk(word, "\r\n"));
    buf_append(out, "+", 1);
    buf_text(out, word);
    buf_append(out, "\r\n", 2);
}

static void write_error(struct reply *r, const char *code, struct str text)
{
    resp_error(of(r)->out, code, text);
}

static void write_integer(struct reply *r, int64_t v)
{
    put_header(of(r)->out, ':', v);
}

static void write_bytes(struct reply *r, struct str s)
{
    resp_bulk(of(r)->out, s);
}

/* Most names have a length of one digit. This path calls nothing, so it saves no registers. */
static void write_field_name(struct reply *r, struct str s)
{
    struct buf *out = of(r)->out;
    char *p;

    if (s.len > 9 || out->cap - out->len < SHORT_HEADER + 9 + 2) {
        resp_bulk(out, s);
        return;
    }
    p = out->ptr + out->len;
    memcpy(p, "$0\r\n", SHORT_HEADER);
    p[1] = (char)('0' + s.len);
    copy(p + SHORT_HEADER, s.ptr, s.len);
    memcpy(p + SHORT_HEADER + s.len, "\r\n", 2);
    out->len += SHORT_HEADER + s.len + 2;
}

static void write_null(struct reply *r)
{
    if (of(r)->proto == 3)
        buf_append(of(r)->out, "_\r\n", 3);
    else
        buf_append(of(r)->out, "$-1\r\n", 5);
}

static void write_boolean(struct reply *r, bool v)
{
    if (of(r)->proto == 3)
        buf_text(of(r)->out, v ? "#t\r\n" : "#f\r\n");
    else
        write_integer(r, v);
}

static void write_array(struct reply *r, size_t n)
{
    resp_array(of(r)->out, n);
}

static void write_map(struct reply *r, size_t pairs)
{
    if (of(r)->proto == 3)
        put_header(of(r)->out, '%', (int64_t)pairs);
    else
        resp_array(of(r)->out, 2 * pairs);
}

static size_t array_begin(struct reply *r)
{
    return of(r)->out->len;
}

/* The header goes before the values, which move behind it. */
static void array_end(struct reply *r, size_t from, size_t n)
{
    struct buf *out = of(r)->out;
    char header[HEADER];
    size_t len = (size_t)(write_line(header, '*', (int64_t)n) - header);

    if (!buf_reserve(out, len))
        return;
    memmove(out->ptr + from + len, out->ptr + from, out->len - from);
    memcpy(out->ptr + from, header, len);
    out->len += len;
}

static void undo(struct reply *r)
{
    of(r)->out->len = of(r)->start;
}

static size_t mark(const struct reply *r)
{
    return container_of(r, const struct resp_reply, base)->out->len;
}

static void write_again(struct reply *r, size_t from, size_t to)
{
    struct buf *out = of(r)->out;

    if (buf_reserve(out, to - from))
        buf_append(out, out->ptr + from, to - from);
}

static const struct reply_ops resp_reply_ops = {
    .status = write_status,
    .error = write_error,
    .integer = write_integer,
    .bytes = write_bytes,
    .name = write_field_name,
    .null = write_null,
    .boolean = write_boolean,
    .array = write_array,
    .map = write_map,
    .array_begin = array_begin,
    .array_end = array_end,
    .undo = undo,
    .mark = mark,
    .again = write_again,
};

struct resp_reply resp_reply_of(struct buf *out, int proto)
{
    return (struct resp_reply){ { &resp_reply_ops }, out, proto, out->len };
}
