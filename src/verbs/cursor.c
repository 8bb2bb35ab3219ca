/* SPDX-License-Identifier: MIT */
#include "verbs/cursor.h"

#include <assert.h>

#include "base/buf.h"

_Static_assert(CURSOR_TEXT >= 9 + 8 * BUF_DIGITS + 2 * sizeof(((struct list_cursor *)0)->key),
               "the longest cursor has room");

/* The numbers of a cursor in the order of its text: SHORT of them, or all. */
enum { SHORT = 4, ALL = 8 };

static const uint64_t most[ALL] = { UINT8_MAX,   UINT64_MAX, INT64_MAX,  UINT64_MAX,
                                    LIST_SORTED, UINT32_MAX, UINT32_MAX, UINT64_MAX };

size_t cursor_format(const struct list_cursor *c, char ret[CURSOR_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t numbers[ALL] = { c->stripes_log2, c->stripe, (uint64_t)c->due_ms,
                              c->seq,          c->phase,  c->walk,
                              c->since,        c->epoch };
    bool is_short = !c->phase && !c->walk && !c->since && !c->epoch && !c->key_len;
    char *p = ret;

    assert(c->key_len <= sizeof(c->key));
    for (size_t i = 0; i < (is_short ? SHORT : ALL); i++) {
        if (i > 0)
            *p++ = '-';
        p = buf_digits(p, numbers[i]);
    }
    if (c->key_len)
        *p++ = '-';
    for (size_t i = 0; i < c->key_len; i++) {
        *p++ = digits[(unsigned char)c->key[i] >> 4];
        *p++ = digits[c->key[i] & 15];
    }
    return (size_t)(p - ret);
}

static bool key_parse(struct str text, struct list_cursor *ret)
{
    if (text.len % 2 || text.len / 2 > sizeof(ret->key))
        return false;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = str_hex(text.ptr[i]), low = str_hex(text.ptr[i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret->key[i / 2] = (char)(high << 4 | low);
    }
    ret->key_len = (uint16_t)(text.len / 2);
    return true;
}

bool cursor_parse(struct str text, struct list_cursor *ret)
{
    struct list_cursor c = { .more = true };
    uint64_t n[ALL] = { 0 };
    struct str rest = text;
    char again[CURSOR_TEXT];

    for (size_t i = 0; i < SHORT || (i < ALL && (i > SHORT || rest.len)); i++)
        if (!str_number(str_cut(&rest, '-'), &n[i]) || n[i] > most[i])
            return false;
    if (!key_parse(rest, &c))
        return false;
    c.stripes_log2 = (uint8_t)n[0];
    c.stripe = n[1];
    c.due_ms = (int64_t)n[2];
    c.seq = n[3];
    c.phase = (uint8_t)n[4];
    c.walk = (uint32_t)n[5];
    c.since = (uint32_t)n[6];
    c.epoch = n[7];
    /* Leading zeros, a dash at the end, and other texts that are not those of cursor_format. */
    if (!str_eq((struct str){ again, cursor_format(&c, again) }, text))
        return false;
    *ret = c;
    return true;
}
