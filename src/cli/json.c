/* SPDX-License-Identifier: MIT */
#include "cli/json.h"

#include "base/base64.h"
#include "base/json_quote.h"
#include "base/utf8.h"
#include "cli/client.h"
#include "cli/render.h"

static void put_bytes(struct buf *out, struct str s)
{
    if (utf8_valid(s)) {
        json_quote(out, s);
        return;
    }
    buf_text(out, "{\"base64\":\"");
    base64_put(out, s);
    buf_text(out, "\"}");
}

/* JSON has no infinity and no NaN; they stay text. */
static void put_double(struct buf *out, struct str s)
{
    bool finite = s.len > 0 && !memchr(s.ptr, 'n', s.len);

    if (finite)
        buf_str(out, s.ptr[0] == '+' ? str_from(s, 1) : s);
    else
        json_quote(out, s);
}

static void put_key(struct buf *out, const struct resp_value *key)
{
    if (key->type == RESP_INT)
        buf_printf(out, "\"%lld\"", (long long)key->number);
    else
        json_quote(out, key->text);
}

static void put_children(struct buf *out, const struct resp_values *v, size_t at)
{
    bool map = v->at[at].type == RESP_MAP;

    buf_text(out, map ? "{" : "[");
    for (size_t child = at + 1; child < v->at[at].next; child = v->at[child].next) {
        buf_text(out, child > at + 1 ? "," : "");
        if (map) {
            put_key(out, &v->at[child]);
            buf_text(out, ":");
            child = v->at[child].next;
        }
        json_put(out, v, child);
    }
    buf_text(out, map ? "}" : "]");
}

void json_put(struct buf *out, const struct resp_values *v, size_t at)
{
    const struct resp_value *value = &v->at[at];

    switch (value->type) {
    case RESP_INT: buf_int(out, value->number); break;
    case RESP_NULL: buf_text(out, "null"); break;
    case RESP_BOOL: buf_text(out, value->number ? "true" : "false"); break;
    case RESP_DOUBLE: put_double(out, value->text); break;
    case RESP_ARRAY:
    case RESP_MAP: put_children(out, v, at); break;
    case RESP_ERROR: json_quote_in(out, "{\"error\":", value->text, "}"); break;
    default: put_bytes(out, value->text); break;
    }
}

static void put_some(struct buf *out, const struct resp_values *v, size_t map, const char *fields)
{
    struct render r = { .fields = fields };
    bool first = true;

    buf_text(out, "{");
    for (size_t key = map + 1; key < v->at[map].next; key = client_next_key(v, key)) {
        if (!render_shows(&r, v->at[key].text))
            continue;
        buf_text(out, first ? "" : ",");
        put_key(out, &v->at[key]);
        buf_text(out, ":");
        json_put(out, v, v->at[key].next);
        first = false;
    }
    buf_text(out, "}");
}

void json_put_fields(struct buf *out, const struct resp_values *v, size_t at, const char *fields)
{
    bool first = true;

    if (fields && v->at[at].type == RESP_MAP) {
        put_some(out, v, at, fields);
    } else if (fields && v->at[at].type == RESP_ARRAY) {
        buf_text(out, "[");
        for (size_t child = at + 1; child < v->at[at].next; child = v->at[child].next) {
            buf_text(out, first ? "" : ",");
            json_put_fields(out, v, child, fields);
            first = false;
        }
        buf_text(out, "]");
    } else {
        json_put(out, v, at);
    }
}
