/* SPDX-License-Identifier: MIT */
#include "base/json_quote.h"

#include "base/utf8.h"

#define PIECE      512 /* bytes for which room is made at a time */
#define ESCAPE_MAX 6   /* \u001f */

/* The letter behind the backslash of a byte that needs an escape; 0: it needs none. */
static const char letters[256] = {
    [0 ... 7] = 'u', ['\b'] = 'b', ['\t'] = 't',          ['\n'] = 'n',  [0x0b] = 'u', ['\f'] = 'f',
    ['\r'] = 'r',    ['"'] = '"',  [0x0e ... 0x1f] = 'u', ['\\'] = '\\', [0x7f] = 'u',
};

/* Writes a byte that needs an escape; returns the end. */
static char *put_escape(char *p, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";

    *p++ = '\\';
    *p++ = letters[c];
    if (letters[c] != 'u')
        return p;
    *p++ = '0';
    *p++ = '0';
    *p++ = digits[c >> 4];
    *p++ = digits[c & 15];
    return p;
}

/* Appends UTF-8 with its escapes, until out is longer than `most`. */
static void put_valid(struct buf *out, struct str s, size_t most)
{
    while (s.len > 0 && out->len <= most) {
        size_t n = s.len < PIECE ? s.len : PIECE;
        char *p;

        if (!buf_reserve(out, n * ESCAPE_MAX))
            return;
        p = out->ptr + out->len;
        for (size_t i = 0; i < n; i++) {
            unsigned char c = (unsigned char)s.ptr[i];

            if (letters[c])
                p = put_escape(p, c);
            else
                *p++ = (char)c;
        }
        out->len = (size_t)(p - out->ptr);
        s = str_from(s, n);
    }
}

void json_quote(struct buf *out, struct str s)
{
    buf_append(out, "\"", 1);
    while (s.len > 0) {
        size_t n = utf8_span(s);

        put_valid(out, (struct str){ s.ptr, n }, SIZE_MAX);
        s = str_from(s, n);
        if (s.len > 0) {
            buf_text(out, "\\ufffd");
            s = str_from(s, 1);
        }
    }
    buf_append(out, "\"", 1);
}

bool json_quote_within(struct buf *out, struct str s, size_t most)
{
    size_t before = out->len;

    buf_append(out, "\"", 1);
    most = most < SIZE_MAX - out->len ? out->len + most : SIZE_MAX;
    put_valid(out, s, most);
    if (out->len > most) {
        out->len = before;
        return false;
    }
    buf_append(out, "\"", 1);
    return true;
}

void json_quote_in(struct buf *out, const char *before, struct str s, const char *after)
{
    buf_text(out, before);
    json_quote(out, s);
    buf_text(out, after);
}
