/* SPDX-License-Identifier: MIT */
#include "cli/scan.h"

/* Reads the number of a line; answers where the next begins: past the end if it is not whole. */
static size_t number(struct str in, int64_t *ret)
{
    bool negative = in.len > 1 && in.ptr[1] == '-';
    size_t i = 1 + negative;
    int64_t v = 0;

    for (; i < in.len && in.ptr[i] != '\r'; i++)
        v = v * 10 + (in.ptr[i] - '0');
    *ret = negative ? -v : v;
    return i + 2;
}

int64_t scan_head(struct str *in)
{
    int64_t v;
    size_t n = number(*in, &v);

    *in = str_from(*in, n <= in->len ? n : in->len);
    return v;
}

/* Takes one value without the values inside it. 1 with their number, 0 if it is not whole, -1. */
static int scan_one(struct str *in, int64_t *ret_inside)
{
    size_t len = 1;
    int64_t n;

    *ret_inside = 0;
    if (in->len == 0)
        return 0;
    switch (in->ptr[0]) {
    case '$':
        len = number(*in, &n);
        len += n < 0 ? 0 : (size_t)n + 2;
        break;
    case '*':
    case '%':
        len = number(*in, &n);
        *ret_inside = n < 0 ? 0 : in->ptr[0] == '%' ? 2 * n : n;
        break;
    case '+':
    case ':':
    case '_':
    case '#':
    case ',':
        while (len < in->len && in->ptr[len - 1] != '\n') /* most are a few bytes */
            len++;
        len += in->ptr[len - 1] != '\n';
        break;
    default: return -1;
    }
    if (len > in->len)
        return 0;
    *in = str_from(*in, len);
    return 1;
}

ssize_t scan_reply(struct str in)
{
    struct str rest = in;
    int64_t left = 1, inside;

    while (left > 0) {
        int n = scan_one(&rest, &inside);
        if (n <= 0)
            return n;
        left += inside - 1;
    }
    return (ssize_t)(in.len - rest.len);
}

struct str scan_bulk(struct str *in)
{
    int64_t n = scan_head(in);
    struct str s = { in->ptr, n < 0 ? 0 : (size_t)n };

    *in = str_from(*in, n < 0 ? 0 : s.len + 2);
    return s;
}

void scan_skip(struct str *in)
{
    int64_t left = 1, inside;

    while (left > 0 && scan_one(in, &inside) > 0)
        left += inside - 1;
}
