/* SPDX-License-Identifier: MIT */
/* Values, for clients: all of RESP2, and of RESP3 all but streamed types and attributes, which the
 * server never sends. */
#include "front/resp.h"

#include <stdlib.h>

#include "base/array.h"

#define VALUE_DEPTH 32
#define VALUE_NODES (1u << 22)
#define VALUE_BULK  (INT64_C(1) << 30)
#define VALUE_LINE  (64u << 10)

struct value_reader {
    struct resp_values *v;
    const char *p;
    const char *end;
};

void resp_values_fini(struct resp_values *v)
{
    free(v->at);
    *v = (struct resp_values){ 0 };
}

static enum resp_status bad(struct value_reader *r, const char *why)
{
    r->v->why = why;
    return RESP_BAD;
}

/* Takes a line and its CRLF. */
static enum resp_status read_line(struct value_reader *r, struct str *ret)
{
    size_t left = (size_t)(r->end - r->p);
    size_t limit = left < VALUE_LINE ? left : VALUE_LINE;
    const char *cr = memchr(r->p, '\r', limit);
    const char *lf = memchr(r->p, '\n', cr ? (size_t)(cr - r->p) : limit);
    if (lf)
        return bad(r, "a line feed without a carriage return");
    if (!cr)
        return left < VALUE_LINE ? RESP_MORE : bad(r, "a line is longer than 64 KiB");
    if (cr + 1 == r->end)
        return RESP_MORE;
    if (cr[1] != '\n')
        return bad(r, "a carriage return without a line feed");
    *ret = (struct str){ r->p, (size_t)(cr - r->p) };
    r->p = cr + 2;
    return RESP_OK;
}

/* Counts downwards, because there is one more negative number than positive ones. */
static bool parse_int(struct str s, int64_t *ret)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    size_t i = negative || (s.len > 0 && s.ptr[0] == '+') ? 1 : 0;
    int64_t v = 0;
    if (i == s.len)
        return false;
    for (; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, s.ptr[i] - '0', &v))
            return false;
    }
    if (!negative && v == INT64_MIN)
        return false;
    *ret = negative ? v : -v;
    return true;
}

/* A node at the end of the array, or NULL. Valid until the next one. */
static struct resp_value *add_node(struct resp_values *v)
{
    struct resp_value *at =
        v->n < VALUE_NODES ? array_room(v->at, v->n, &v->cap, sizeof *at) : NULL;
    if (!at)
        return NULL;
    v->at = at;
    struct resp_value *node = &v->at[v->n++];
    *node = (struct resp_value){ .next = (uint32_t)v->n };
    return node;
}

static bool is_double(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!s.ptr[i] || !strchr("0123456789+-.eEinfa", s.ptr[i]))
            return false;
    return s.len > 0;
}

static bool is_big_number(struct str s)
{
    size_t i = s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+');
    size_t start = i;
    while (i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9')
        i++;
    return i == s.len && i > start;
}

/* Values that are whole with their first line. */
static enum resp_status read_scalar(struct value_reader *r, char type, struct str line,
                                    struct resp_value *node)
{
    node->text = line;
    switch (type) {
    case '+': node->type = RESP_SIMPLE; return RESP_OK;
    case '-': node->type = RESP_ERROR; return RESP_OK;
    case ':':
        node->type = RESP_INT;
        return parse_int(line, &node->number) ? RESP_OK : bad(r, "not an integer of 64 bits");
    case '_': node->type = RESP_NULL; return line.len == 0 ? RESP_OK : bad(r, "a null is _ alone");
    case '#':
        node->type = RESP_BOOL;
        node->number = str_eq(line, STR("t"));
        return node->number || str_eq(line, STR("f")) ? RESP_OK : bad(r, "a boolean is #t or #f");
    case ',': node->type = RESP_DOUBLE; return is_double(line) ? RESP_OK : bad(r, "not a number");
    case '(':
        node->type = RESP_BULK; /* too large for a number here, so its digits are text */
        return is_big_number(line) ? RESP_OK : bad(r, "not a big number");
    default: return bad(r, "unknown type of value");
    }
}

/* Text of announced length: $ plain, ! error, = with a format ("txt:") in front. */
static enum resp_status read_blob(struct value_reader *r, char type, int64_t len,
                                  struct resp_value *node)
{
    if (len == -1 && type == '$') {
        node->type = RESP_NULL;
        return RESP_OK;
    }
    if (len < 0 || len > VALUE_BULK)
        return bad(r, "invalid length of a string");
    if (r->end - r->p < len + 2)
        return RESP_MORE;
    if (r->p[len] != '\r' || r->p[len + 1] != '\n')
        return bad(r, "a string is not as long as announced: expected CRLF after it");
    struct str text = { r->p, (size_t)len };
    r->p += len + 2;
    if (type == '=') {
        if (len < 4 || text.ptr[3] != ':')
            return bad(r, "a verbatim string starts with its format, as in txt:");
        text = (struct str){ text.ptr + 4, text.len - 4 };
    }
    node->type = type == '!' ? RESP_ERROR : RESP_BULK;
    node->text = text;
    return RESP_OK;
}

static enum resp_status read_node(struct value_reader *r, unsigned depth);

static enum resp_status read_children(struct value_reader *r, char type, int64_t n, size_t at,
                                      unsigned depth)
{
    struct resp_value *node = &r->v->at[at];
    if (n == -1 && type == '*') {
        node->type = RESP_NULL;
        return RESP_OK;
    }
    if (n < 0 || n > VALUE_NODES / 2)
        return bad(r, "invalid count of items");
    if (depth == VALUE_DEPTH)
        return bad(r, "values are nested too deeply: at most 32");
    node->type = type == '%' ? RESP_MAP : RESP_ARRAY;
    node->children = (uint32_t)(type == '%' ? 2 * n : n);
    for (uint32_t i = 0, items = node->children; i < items; i++) {
        enum resp_status status = read_node(r, depth + 1);
        if (status != RESP_OK)
            return status;
    }
    r->v->at[at].next = (uint32_t)r->v->n;
    return RESP_OK;
}

static enum resp_status read_node(struct value_reader *r, unsigned depth)
{
    struct str line;
    int64_t n;
    if (r->p == r->end)
        return RESP_MORE;
    char type = *r->p++;
    if (!type || !strchr("+-:_#,($!=*%~>", type))
        return bad(r, "unknown type of value");
    enum resp_status status = read_line(r, &line);
    if (status != RESP_OK)
        return status;
    size_t at = r->v->n;
    struct resp_value *node = add_node(r->v);
    if (!node)
        return bad(r, "the value is too large");
    if (!strchr("$!=*%~>", type))
        return read_scalar(r, type, line, node);
    if (!parse_int(line, &n))
        return bad(r, "invalid length");
    return strchr("$!=", type) ? read_blob(r, type, n, node) : read_children(r, type, n, at, depth);
}

enum resp_status resp_read_value(struct resp_values *v, struct str in, size_t *ret_used)
{
    v->n = 0;
    v->why = NULL;
    if (in.len == 0)
        return RESP_MORE;
    struct value_reader r = { v, in.ptr, in.ptr + in.len };
    enum resp_status status = read_node(&r, 1);
    if (status == RESP_OK)
        *ret_used = (size_t)(r.p - in.ptr);
    else
        v->n = 0;
    return status;
}
