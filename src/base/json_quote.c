/* SPDX-License-Identifier: MIT */
#include "base/json_quote.h"

#include "base/utf8.h"

/* The length of the character at the front of s if it needs no escape; else 0. */
static size_t plain_length(struct str s)
{
    unsigned char c = (unsigned char)s.ptr[0];
    uint32_t unused;

    if (c >= 0x80)
        return utf8_decode(s, &unused);
    return c >= 0x20 && c != '"' && c != '\\' && c != 0x7f;
}

static void put_escape(struct buf *out, unsigned char c)
{
    static const char names[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const char *name = c ? strchr(names, c) : NULL;

    if (c >= 0x80)
        buf_text(out, "\\ufffd");
    else if (name)
        buf_append(out, (char[]){ '\\', letters[name - names] }, 2);
    else
        buf_printf(out, "\\u%04x", c);
}

void json_quote(struct buf *out, struct str s)
{
    size_t i = 0;

    buf_append(out, "\"", 1);
    while (i < s.len) {
        size_t from = i, length;

        while (i < s.len && (length = plain_length(str_from(s, i))) > 0)
            i += length;
        buf_append(out, s.ptr + from, i - from);
        if (i < s.len)
            put_escape(out, (unsigned char)s.ptr[i++]);
    }
    buf_append(out, "\"", 1);
}

void json_quote_in(struct buf *out, const char *before, struct str s, const char *after)
{
    buf_text(out, before);
    json_quote(out, s);
    buf_text(out, after);
}
