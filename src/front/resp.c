/* SPDX-License-Identifier: MIT */
/* Requests in RESP. Every one of them comes through here, so an array is read in one pass, without
 * allocation once args has room. */
#include "front/resp.h"

#include <stdlib.h>

#include "base/array.h"

void resp_request_fini(struct resp_request *r)
{
    free(r->args);
    buf_fini(&r->scratch);
    *r = (struct resp_request){ 0 };
}

static enum resp_status bad(struct resp_request *r, const char *why)
{
    r->n = 0;
    r->why = why;
    return RESP_BAD;
}

/* Grown as arguments arrive rather than by the announced count, which costs a liar nothing. */
static bool args_grow(struct resp_request *r)
{
    struct str *args = array_room(r->args, r->cap, &r->cap, sizeof *args);
    if (args)
        r->args = args;
    return args != NULL;
}

/* More digits than any allowed length has, and too few to overflow. */
#define LENGTH_DIGITS 10

/* Reads digits and CRLF at *p and moves past them. */
static inline enum resp_status read_length(const char **p, const char *end, uint64_t *ret)
{
    const char *s = *p;
    const char *limit = end - s > LENGTH_DIGITS ? s + LENGTH_DIGITS : end;
    uint64_t v = 0;
    for (; s < limit && (unsigned char)(*s - '0') < 10; s++)
        v = v * 10 + (unsigned char)(*s - '0');
    if (s == end)
        return RESP_MORE;
    if (*s != '\r' || s == *p)
        return RESP_BAD;
    if (s + 1 == end)
        return RESP_MORE;
    if (s[1] != '\n')
        return RESP_BAD;
    *p = s + 2;
    *ret = v;
    return RESP_OK;
}

/* "*-1" is a request of nothing, like "*0"; any other sign is an error. */
static enum resp_status read_null_array(struct resp_request *r, struct str in, size_t *ret_used)
{
    static const char null_array[] = "*-1\r\n";
    size_t n = in.len < 5 ? in.len : 5;
    if (memcmp(in.ptr, null_array, n) != 0)
        return bad(r, "invalid count of arguments: expected * and a number, as in *2");
    if (n < 5)
        return RESP_MORE;
    *ret_used = 5;
    return RESP_OK;
}

/* The request is not whole: `left` arguments begin at p, for whose first `need` bytes of input are
 * missing (0: unknown). */
static enum resp_status stop_at(struct resp_place *place, struct str in, const char *p, size_t left,
                                size_t need)
{
    *place = (struct resp_place){ need, (size_t)(p - in.ptr), left };
    return RESP_MORE;
}

/* Reads the argument at *p and moves behind it. `left` arguments begin there. */
static inline enum resp_status read_argument(struct resp_place *place, const char **why,
                                             struct str in, const char **p, size_t left,
                                             size_t max_bulk, struct str *ret)
{
    const char *s = *p, *end = in.ptr + in.len;
    enum resp_status status;
    uint64_t len;

    if (s == end)
        return stop_at(place, in, *p, left, 0);
    *why = "expected $ and the length of an argument, as in $5";
    if (*s++ != '$')
        return RESP_BAD;
    *why = "invalid length of an argument: expected $ and a number, as in $5";
    status = read_length(&s, end, &len);
    if (status != RESP_OK)
        return status == RESP_BAD ? RESP_BAD : stop_at(place, in, *p, left, 0);
    *why = "an argument is larger than the limit";
    if (len > max_bulk)
        return RESP_BAD;
    if ((uint64_t)(end - s) < len + 2)
        return stop_at(place, in, *p, left, (size_t)(s - in.ptr) + len + 2);
    *why = "an argument is not as long as announced: expected CRLF after it";
    if (s[len] != '\r' || s[len + 1] != '\n')
        return RESP_BAD;
    *ret = (struct str){ s, len };
    *p = s + len + 2;
    return RESP_OK;
}

static enum resp_status read_array(struct resp_request *r, struct str in, size_t max_bulk,
                                   size_t *ret_used)
{
    const char *p = in.ptr + 1, *end = in.ptr + in.len, *why;
    uint64_t count;

    if (p < end && *p == '-')
        return read_null_array(r, in, ret_used);
    enum resp_status status = read_length(&p, end, &count);
    if (status == RESP_MORE)
        return RESP_MORE;
    if (status == RESP_BAD)
        return bad(r, "invalid count of arguments: expected * and a number, as in *2");
    if (count > RESP_ARGS_MAX)
        return bad(r, "too many arguments: at most 16384");
    for (size_t i = 0; i < count; i++) {
        if (i == r->cap && !args_grow(r))
            return bad(r, "out of memory");
        status = read_argument(&r->place, &why, in, &p, count - i, max_bulk, &r->args[i]);
        if (status != RESP_OK)
            return status == RESP_BAD ? bad(r, why) : RESP_MORE;
    }
    r->n = count;
    *ret_used = (size_t)(p - in.ptr);
    return RESP_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The character of an escape within double quotes, with p behind the backslash. Returns the next
 * place. */
static const char *unescape(const char *p, const char *end, char *ret)
{
    static const char names[] = "nrtba", values[] = "\n\r\t\b\a";
    if (*p == 'x' && end - p > 2 && str_hex(p[1]) >= 0 && str_hex(p[2]) >= 0) {
        *ret = (char)(str_hex(p[1]) << 4 | str_hex(p[2]));
        return p + 3;
    }
    const char *name = *p ? strchr(names, *p) : NULL;
    *ret = name ? values[name - names] : *p;
    return p + 1;
}

/* Appends the text between the quote at p and its partner to the scratch. Returns the place behind
 * the partner; NULL if there is none, or if the word continues there. */
static const char *unquote(struct buf *scratch, const char *p, const char *end)
{
    char quote = *p++;
    while (p < end && *p != quote) {
        char c = *p++;
        if (c == '\\' && p < end && quote == '"')
            p = unescape(p, end, &c);
        else if (c == '\\' && p < end && *p == '\'')
            c = *p++;
        scratch->ptr[scratch->len++] = c;
    }
    if (p == end || (p + 1 < end && !is_blank(p[1])))
        return NULL;
    return p + 1;
}

/* Reads the word at p < end. It borrows from the line, or from the scratch if it has quotes. */
static const char *read_word(struct buf *scratch, const char *p, const char *end, struct str *ret)
{
    const char *start = p;
    while (p < end && !is_blank(*p) && *p != '"' && *p != '\'')
        p++;
    *ret = (struct str){ start, (size_t)(p - start) };
    if (p == end || is_blank(*p))
        return p;
    size_t at = scratch->len;
    buf_append(scratch, start, (size_t)(p - start));
    p = unquote(scratch, p, end);
    *ret = (struct str){ scratch->ptr + at, scratch->len - at };
    return p;
}

static enum resp_status read_inline(struct resp_request *r, struct str in, size_t *ret_used)
{
    size_t limit = in.len < RESP_INLINE_MAX ? in.len : RESP_INLINE_MAX;
    const char *end = memchr(in.ptr, '\n', limit);
    const char *p = in.ptr;
    size_t n = 0;

    if (!end && in.len < RESP_INLINE_MAX)
        return stop_at(&r->place, in, in.ptr + in.len, 0, 0);
    if (!end)
        return bad(r, "an inline request is longer than 64 KiB");
    *ret_used = (size_t)(end - in.ptr) + 1;
    /* Words only get shorter by unquoting, so with this room the scratch never moves. */
    buf_reset(&r->scratch, RESP_INLINE_MAX);
    if (!buf_reserve(&r->scratch, *ret_used))
        return bad(r, "out of memory");
    for (;;) {
        while (p < end && is_blank(*p))
            p++;
        if (p == end)
            break;
        if (n == RESP_ARGS_MAX)
            return bad(r, "too many arguments: at most 16384");
        if (n == r->cap && !args_grow(r))
            return bad(r, "out of memory");
        p = read_word(&r->scratch, p, end, &r->args[n++]);
        if (!p)
            return bad(r, "unbalanced quotes in an inline request");
    }
    r->n = n;
    return RESP_OK;
}

enum resp_status resp_read_request(struct resp_request *r, struct str in, size_t max_bulk,
                                   size_t *ret_used)
{
    r->n = 0;
    r->place = (struct resp_place){ 0 };
    r->why = NULL;
    if (in.len == 0)
        return RESP_MORE;
    return in.ptr[0] == '*' ? read_array(r, in, max_bulk, ret_used) : read_inline(r, in, ret_used);
}

bool resp_look_on(struct resp_place *place, struct str in, size_t max_bulk)
{
    const char *p = in.ptr + place->at, *why;
    size_t left = place->left;
    enum resp_status status;
    struct str arg;

    if (in.len < place->need || in.len == 0)
        return false;
    if (in.ptr[0] == '*' && left == 0) /* Its count has a few digits. */
        return true;
    if (in.ptr[0] != '*') {
        place->at = in.len;
        return in.len >= RESP_INLINE_MAX || memchr(p, '\n', in.len - (size_t)(p - in.ptr));
    }
    do {
        status = read_argument(place, &why, in, &p, left, max_bulk, &arg);
    } while (status == RESP_OK && --left > 0);
    return status != RESP_MORE;
}
