/* SPDX-License-Identifier: MIT */
#include "cli/text.h"

#include <stdio.h>
#include <wchar.h>

#include "base/utf8.h"

/* One character or one bad byte of s as it is to be shown, into piece (room for 8). */
static size_t show_one(struct str s, char *piece, size_t *ret_len, size_t *ret_columns)
{
    static const char names[] = "\a\b\t\n\v\f\r", letters[] = "abtnvfr";
    unsigned char byte = (unsigned char)s.ptr[0];
    uint32_t c = 0;
    size_t used = utf8_decode(s, &c);
    const char *name = byte && used == 1 ? strchr(names, s.ptr[0]) : NULL;

    if (name) {
        piece[0] = '\\';
        piece[1] = letters[name - names];
        *ret_len = *ret_columns = 2;
        return 1;
    }
    if (used == 0 || c < 0x20 || c == 0x7f) {
        *ret_len = *ret_columns = (size_t)snprintf(piece, 8, "\\x%02x", byte);
        return 1;
    }
    if ((c >= 0x80 && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)) {
        /* Controls and marks that turn the writing direction. */
        *ret_len = *ret_columns = (size_t)snprintf(piece, 8, "\\u%04x", (unsigned)c & 0xffff);
        return used;
    }
    int columns = used == 1 ? 1 : wcwidth((wchar_t)c);
    memcpy(piece, s.ptr, used);
    *ret_len = used;
    *ret_columns = columns < 0 ? 1 : (size_t)columns;
    return used;
}

size_t text_put(struct buf *out, struct str bytes, size_t most)
{
    size_t columns = 0;
    size_t mark = out->len, mark_columns = 0; /* where "…" still fits */

    while (bytes.len > 0) {
        char piece[8];
        size_t len, wide;
        size_t used = show_one(bytes, piece, &len, &wide);
        if (most > 0 && columns + wide > most) {
            out->len = mark;
            buf_text(out, "…");
            return mark_columns + 1;
        }
        buf_append(out, piece, len);
        columns += wide;
        if (columns + 1 <= most) {
            mark = out->len;
            mark_columns = columns;
        }
        bytes = str_from(bytes, used);
    }
    return columns;
}

size_t text_columns(struct str text)
{
    size_t columns = 0;

    while (text.len > 0) {
        char piece[8];
        size_t len, wide;
        size_t used = show_one(text, piece, &len, &wide);
        columns += wide;
        text = str_from(text, used);
    }
    return columns;
}

void text_spaces(struct buf *out, size_t n)
{
    if (n > 0 && buf_reserve(out, n)) {
        memset(out->ptr + out->len, ' ', n);
        out->len += n;
    }
}
