/* SPDX-License-Identifier: MIT */
#include "cli/scan.h"

static void advance(struct str *in, size_t n)
{
    *in = (struct str){ in->ptr + n, in->len - n };
}

int64_t scan_head(struct str *in)
{
    size_t i = 1;
    int64_t v = 0;
    bool negative = in->len > 1 && in->ptr[1] == '-';

    for (i += negative; i < in->len && in->ptr[i] != '\r'; i++)
        v = v * 10 + (in->ptr[i] - '0');
    advance(in, i + 2 <= in->len ? i + 2 : in->len);
    return negative ? -v : v;
}

/* One value, without the values inside it: 1 with how many follow, 0 not whole, -1. */
static int scan_one(struct str *in, int64_t *ret_inside)
{
    const char *end = in->len ? memchr(in->ptr, '\n', in->len) : NULL;
    char type = in->len ? in->ptr[0] : 0;
    int64_t n;

    *ret_inside = 0;
    if (in->len && (type == '-' || !strchr("+:$*%_#,", type)))
        return -1;
    if (!end)
        return 0;
    if (!strchr("$*%", type)) {
        advance(in, (size_t)(end - in->ptr) + 1);
        return 1;
    }
    n = scan_head(in);
    if (type != '$')
        *ret_inside = n < 0 ? 0 : type == '%' ? 2 * n : n;
    else if (n >= 0 && in->len < (size_t)n + 2)
        return 0;
    else if (n >= 0)
        advance(in, (size_t)n + 2);
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

    advance(in, n < 0 ? 0 : s.len + 2);
    return s;
}

void scan_skip(struct str *in)
{
    int64_t left = 1, inside;

    while (left > 0 && scan_one(in, &inside) > 0)
        left += inside - 1;
}
