/* SPDX-License-Identifier: MIT */
#include "verbs/cursor.h"

#include <assert.h>

#include "base/buf.h"

_Static_assert(CURSOR_TEXT >= 9 + 8 * BUF_DIGITS + 2 * sizeof(((struct list_cursor *)0)->key),
               "the longest cursor has room");

static char *put_number(char *p, uint64_t v)
{
    *p++ = '-';
    return buf_digits(p, v);
}

size_t cursor_format(const struct list_cursor *c, char ret[CURSOR_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    char *p = buf_digits(ret, c->stripes_log2);

    p = put_number(p, c->stripe);
    p = put_number(p, (uint64_t)c->due_ms);
    p = put_number(p, c->seq);
    if (!c->phase && !c->walk && !c->since && !c->epoch && !c->key_len)
        return (size_t)(p - ret);
    p = put_number(p, c->phase);
    p = put_number(p, c->walk);
    p = put_number(p, c->since);
    p = put_number(p, c->epoch);
    if (c->key_len)
        *p++ = '-';
    assert(c->key_len <= sizeof(c->key));
    for (size_t i = 0; i < c->key_len; i++) {
        *p++ = digits[(unsigned char)c->key[i] >> 4];
        *p++ = digits[c->key[i] & 15];
    }
    return (size_t)(p - ret);
}

/* The next part of the text, up to a dash or the end. */
static struct str take_part(struct str *rest)
{
    const char *dash = rest->len ? memchr(rest->ptr, '-', rest->len) : NULL;
    struct str part = { rest->ptr, dash ? (size_t)(dash - rest->ptr) : rest->len };
    size_t used = part.len + (dash != NULL);

    *rest = (struct str){ rest->ptr + used, rest->len - used };
    return part;
}

static bool take_number(struct str *rest, uint64_t max, uint64_t *ret)
{
    struct str part = take_part(rest);
    uint64_t v = 0;

    for (size_t i = 0; i < part.len; i++) {
        unsigned digit = (unsigned char)part.ptr[i] - '0';

        if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *ret = v;
    return part.len > 0 && v <= max;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_key(struct str *rest, struct list_cursor *ret)
{
    struct str part = take_part(rest);

    if (part.len % 2 || part.len / 2 > sizeof(ret->key))
        return false;
    for (size_t i = 0; i < part.len; i += 2) {
        int high = hex_digit(part.ptr[i]), low = hex_digit(part.ptr[i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret->key[i / 2] = (char)(high << 4 | low);
    }
    ret->key_len = (uint16_t)(part.len / 2);
    return true;
}

bool cursor_parse(struct str text, struct list_cursor *ret)
{
    struct list_cursor c = { .more = true };
    uint64_t log2, due, phase = 0, walk = 0, since = 0;
    struct str rest = text;
    char again[CURSOR_TEXT];

    if (!take_number(&rest, UINT8_MAX, &log2) || !take_number(&rest, UINT64_MAX, &c.stripe) ||
        !take_number(&rest, INT64_MAX, &due) || !take_number(&rest, UINT64_MAX, &c.seq))
        return false;
    if (rest.len &&
        (!take_number(&rest, LIST_LOADED, &phase) || !take_number(&rest, UINT32_MAX, &walk) ||
         !take_number(&rest, UINT32_MAX, &since) || !take_number(&rest, UINT64_MAX, &c.epoch) ||
         !take_key(&rest, &c)))
        return false;
    c.stripes_log2 = (uint8_t)log2;
    c.due_ms = (int64_t)due;
    c.phase = (uint8_t)phase;
    c.walk = (uint32_t)walk;
    c.since = (uint32_t)since;
    /* Zeros in front, dashes at the end and the like. */
    if (!str_eq((struct str){ again, cursor_format(&c, again) }, text))
        return false;
    *ret = c;
    return true;
}
