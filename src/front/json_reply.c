/* SPDX-License-Identifier: MIT */
#include "front/json_reply.h"

#include <assert.h>

#include "base/base64.h"
#include "base/list.h"
#include "base/utf8.h"
#include "front/http_status.h"
#include "front/json.h"

#define SHORT 64 /* a text of fewer bytes is a string, whatever escapes it needs */

static struct json_reply *of(struct reply *r)
{
    return container_of(r, struct json_reply, base);
}

/* Whether the next bytes are the name of a field. */
static bool at_name(const struct json_reply *j)
{
    return j->depth && j->level[j->depth - 1].map && j->level[j->depth - 1].left % 2 == 0;
}

/* Writes what goes before a value that is no name. */
static void begin_value(struct json_reply *j)
{
    j->outcome = JSON_OUTCOME_BODY;
    if (j->depth == 0)
        json_quote_in(j->out, "{", str_of(j->name ? j->name : "value"), ":");
}

/* Closes complete arrays and maps, from the inside out. */
static void close_levels(struct json_reply *j)
{
    while (j->depth && j->level[j->depth - 1].left == 0) {
        buf_text(j->out, j->level[--j->depth].map ? "}" : "]");
        if (j->depth)
            j->level[j->depth - 1].left--;
        else if (!j->level[0].map)
            buf_text(j->out, "}");
        if (j->depth && j->level[j->depth - 1].left)
            buf_text(j->out, ",");
    }
}

/* Writes what goes behind a value. */
static void end_value(struct json_reply *j)
{
    j->key_end = 0;
    if (j->depth == 0) {
        buf_text(j->out, "}");
        return;
    }
    if (--j->level[j->depth - 1].left)
        buf_text(j->out, ",");
    else
        close_levels(j);
}

static void write_name(struct json_reply *j, struct str s)
{
    json_quote_within(j->out, s, SIZE_MAX);
    buf_text(j->out, ":");
    j->key_end = j->out->len;
    j->level[j->depth - 1].left--;
}

/* The last name gets an ending, and its quote and colon move behind that. */
static void name_more(struct json_reply *j, const char *ending)
{
    assert(j->key_end == j->out->len || j->out->failed);
    if (j->out->failed)
        return;
    j->out->len -= 2;
    buf_text(j->out, ending);
    buf_text(j->out, "\":");
}

/* Whether the name in front of the next value is this one. */
static bool is_named(const struct json_reply *j, const char *name)
{
    size_t len = strlen(name);
    const char *at = j->out->ptr + j->key_end - len - 3; /* "name": */

    return j->key_end > len + 3 && !j->out->failed && at[0] == '"' &&
           memcmp(at + 1, name, len) == 0;
}

static void write_base64(struct json_reply *j, struct str s)
{
    if (j->key_end)
        name_more(j, "_base64");
    else
        buf_text(j->out, "{\"base64\":");
    buf_text(j->out, "\"");
    base64_put(j->out, s);
    buf_text(j->out, j->key_end ? "\"" : "\"}");
}

/* Writes a string. False: it is no UTF-8, or escapes would make it more than twice as long. */
static bool write_string(struct json_reply *j, struct str s)
{
    return utf8_valid(s) && json_quote_within(j->out, s, s.len < SHORT ? SIZE_MAX : 2 * s.len);
}

/* Writes a payload or result as a JSON value, in a field whose name ends in `_json`. False: the
 * text is no JSON, or the client did not ask for values. */
static bool write_json(struct json_reply *j, struct str s)
{
    struct json text;

    if (!j->json || s.len == 0 || !(is_named(j, "payload") || is_named(j, "result")))
        return false;
    name_more(j, "_json");
    json_begin(&text, s);
    if (json_take(&text, j->out) && json_done(&text))
        return true;
    if (!j->out->failed) {
        j->out->len = j->key_end - 2;
        buf_text(j->out, "\":");
    }
    return false;
}

static void write_bytes(struct reply *r, struct str s)
{
    struct json_reply *j = of(r);

    if (at_name(j)) {
        write_name(j, s);
        return;
    }
    begin_value(j);
    if (!write_json(j, s) && !write_string(j, s))
        write_base64(j, s);
    end_value(j);
}

static void write_status(struct reply *r, const char *word)
{
    if (of(r)->depth == 0 && strcmp(word, "OK") == 0)
        of(r)->outcome = JSON_OUTCOME_OK;
    else if (of(r)->depth == 0 && strcmp(word, "notfound") == 0)
        of(r)->outcome = JSON_OUTCOME_NULL;
    else
        write_bytes(r, str_of(word));
}

static void write_error(struct reply *r, const char *code, struct str text)
{
    struct json_reply *j = of(r);

    if (j->depth == 0) {
        j->outcome = JSON_OUTCOME_ERROR;
        j->code = code;
        buf_str(j->out, text);
        return;
    }
    begin_value(j);
    j->errors++;
    buf_text(j->out, "{\"error\":");
    http_problem(j->out, code, http_status_of(code), text, "job");
    buf_text(j->out, "}");
    end_value(j);
}

static void write_integer(struct reply *r, int64_t v)
{
    begin_value(of(r));
    buf_int(of(r)->out, v);
    end_value(of(r));
}

static void write_literal(struct json_reply *j, const char *word)
{
    begin_value(j);
    buf_text(j->out, word);
    end_value(j);
}

static void write_null(struct reply *r)
{
    if (of(r)->depth == 0)
        of(r)->outcome = JSON_OUTCOME_NULL;
    else
        write_literal(of(r), "null");
}

static void write_boolean(struct reply *r, bool v)
{
    if (is_named(of(r), "created")) {
        of(r)->created += v;
        of(r)->kept += !v;
    }
    write_literal(of(r), v ? "true" : "false");
}

static void open_level(struct json_reply *j, size_t left, bool map)
{
    assert(j->depth < JSON_REPLY_DEPTH);
    j->outcome = JSON_OUTCOME_BODY;
    if (j->depth == 0 && !map)
        begin_value(j);
    buf_text(j->out, map ? "{" : "[");
    j->key_end = 0;
    j->level[j->depth].left = left;
    j->level[j->depth].map = map;
    j->depth++;
    close_levels(j);
}

static void write_array(struct reply *r, size_t n)
{
    open_level(of(r), n, false);
}

static void write_map(struct reply *r, size_t pairs)
{
    open_level(of(r), 2 * pairs, true);
}

static size_t array_begin(struct reply *r)
{
    open_level(of(r), SIZE_MAX, false);
    return 0;
}

/* The comma behind the last value goes. */
static void array_end(struct reply *r, size_t from, size_t n)
{
    struct json_reply *j = of(r);

    (void)from;
    if (n > 0 && !j->out->failed)
        j->out->len--;
    j->level[j->depth - 1].left = 0;
    close_levels(j);
}

static size_t mark(const struct reply *r)
{
    return container_of(r, const struct json_reply, base)->out->len;
}

static void undo(struct reply *r)
{
    struct json_reply *j = of(r);

    bool json = j->json;

    j->out->len = j->start;
    json_reply_init(j, j->out, j->name);
    j->json = json;
}

static const struct reply_ops json_reply_ops = {
    .status = write_status,
    .error = write_error,
    .integer = write_integer,
    .bytes = write_bytes,
    .name = write_bytes,
    .null = write_null,
    .boolean = write_boolean,
    .array = write_array,
    .map = write_map,
    .array_begin = array_begin,
    .array_end = array_end,
    .undo = undo,
    .mark = mark,
};

void json_reply_init(struct json_reply *r, struct buf *out, const char *name)
{
    *r = (struct json_reply){
        .base = { &json_reply_ops }, .out = out, .start = out->len, .name = name
    };
}
