/* SPDX-License-Identifier: MIT */
/* A verb's arguments from a body in JSON. */
#include <stdio.h>

#include "front/http_fields.h"

#define ITEM_WORDS 9999 /* the most that BATCH can count */

int fields_refuse_json(struct fields *f, const struct json *j)
{
    snprintf(f->call->why, sizeof(f->call->why), "the body is no JSON: %s", j->why);
    return BELFRY_PROTOCOL;
}

/* The values that a field may have, for the error. */
static const char *expected(const struct arg *a)
{
    switch (a->type) {
    case ARG_INT: return "expected a whole number";
    case ARG_TOKEN: return "expected a token: a string of digits, or a whole number";
    case ARG_DURATION: return "expected a duration: a string such as \"10m\", or milliseconds";
    case ARG_MOMENT:
        return "expected a moment: a string as in RFC 3339, or milliseconds since 1970";
    case ARG_RATE: return "expected a string such as \"100/1m\", or 0";
    case ARG_NAMES: return "expected a string, or an array of strings";
    case ARG_META: return "expected an object whose values are strings";
    case ARG_ITEMS: return "expected an array of objects";
    case ARG_WORD: return arg_is_yes_no(a) ? "expected true or false" : "expected a string";
    default: return a->many ? "expected a string, or an array of strings" : "expected a string";
    }
}

static bool takes_number(const struct arg *a)
{
    return a->type == ARG_INT || a->type == ARG_TOKEN || a->type == ARG_DURATION ||
           a->type == ARG_MOMENT || a->type == ARG_RATE;
}

static int refuse_value(struct fields *f, struct json *j, const struct arg *a)
{
    return j->bad ? fields_refuse_json(f, j) : fields_refuse(f, a, expected(a));
}

/* Takes the opening of an array or object. */
static int open_value(struct fields *f, struct json *j, const struct arg *a, enum json_kind kind)
{
    if (json_peek(j) != kind)
        return refuse_value(f, j, a);
    return json_open(j) ? 0 : fields_refuse_json(f, j);
}

/* Appends what a string says to the call's text. */
static int read_text(struct fields *f, struct json *j, const struct arg *a)
{
    if (json_peek(j) != KIND_STRING)
        return refuse_value(f, j, a);
    return json_string_read(j, &f->call->text) ? 0 : fields_refuse_json(f, j);
}

/* Reads a string, of bytes in base64 if its name says that. */
static int read_bytes(struct fields *f, struct json *j, const struct arg *a, bool base64,
                      struct str *ret)
{
    size_t from = f->call->text.len;
    int err = read_text(f, j, a);

    if (!err && base64)
        err = fields_decode(f, a, &from);
    *ret = text_since(f, from);
    return err;
}

/* One value that is neither array nor object. */
static int gather_single(struct fields *f, struct json *j, const struct arg *a, bool base64)
{
    enum json_kind kind = json_peek(j);
    struct str value = kind == KIND_TRUE ? STR("yes") : STR("no");
    bool whole = true;
    int err = 0;

    if (kind == KIND_STRING && a->type != ARG_INT)
        err = read_bytes(f, j, a, base64, &value);
    else if (kind == KIND_NUMBER && takes_number(a) && !base64)
        err = json_number(j, &value, &whole) ? 0 : fields_refuse_json(f, j);
    else if ((kind == KIND_TRUE || kind == KIND_FALSE) && arg_is_yes_no(a))
        err = json_literal(j) ? 0 : fields_refuse_json(f, j);
    else
        return refuse_value(f, j, a);
    if (!whole)
        return fields_refuse(f, a, expected(a));
    if (!err)
        fields_give(f, a, value);
    return err;
}

/* Says that an array has too many elements. Arrays are not read beyond their limits, however long
 * they are. */
static int refuse_more(struct fields *f, const struct arg *a, size_t most, const char *what)
{
    char why[64];

    snprintf(why, sizeof(why), "expected at most %zu %s", most, what);
    return fields_refuse(f, a, why);
}

/* An array of values of an option that may be given several times. */
static int gather_many(struct fields *f, struct json *j, const struct arg *a)
{
    size_t n = 0;
    int err = open_value(f, j, a, KIND_ARRAY);

    while (!err && json_next(j, ']', &n) > 0)
        err = a->most && n > a->most ? refuse_more(f, a, a->most, "of them")
                                     : gather_single(f, j, a, false);
    return !err && j->bad ? fields_refuse_json(f, j) : err;
}

/* An array of names, which becomes one word with commas between. */
static int gather_names(struct fields *f, struct json *j, const struct arg *a)
{
    struct buf *text = &f->call->text;
    size_t from = text->len, n = 0;
    int err = open_value(f, j, a, KIND_ARRAY);

    while (!err && json_next(j, ']', &n) > 0) {
        size_t at;

        if (n > LEASE_QUEUES_MAX)
            return refuse_more(f, a, LEASE_QUEUES_MAX, "names");
        if (n > 1)
            buf_text(text, ",");
        at = text->len;
        err = read_text(f, j, a);
        if (!err && memchr(text_since(f, at).ptr, ',', text->len - at))
            err = fields_refuse(f, a, "expected no comma in a name");
    }
    if (!err && j->bad)
        return fields_refuse_json(f, j);
    if (!err)
        fields_give(f, a, text_since(f, from));
    return err;
}

/* Whether a name is among the metadata that was added since `first`. */
static bool has_meta(const struct http_call *c, size_t first, struct str name)
{
    for (size_t i = first; i + 2 < c->n; i += 3)
        if (str_eq(name, c->words[i + 1]))
            return true;
    return false;
}

/* An object: its names and values. */
static int gather_meta(struct fields *f, struct json *j, const struct arg *a, bool base64)
{
    struct http_call *c = f->call;
    size_t n = 0, first = c->n;
    int err = open_value(f, j, a, KIND_OBJECT);

    while (!err && json_next(j, '}', &n) > 0) {
        size_t from = c->text.len;
        struct str name, value;

        if (n > METAS_MAX) /* before they are compared with each other */
            return refuse_more(f, a, METAS_MAX, "names");
        if (!json_name(j, &c->text))
            return fields_refuse_json(f, j);
        name = text_since(f, from);
        if (has_meta(c, first, name))
            return fields_refuse(f, a, "a name is given twice");
        err = read_bytes(f, j, a, base64, &value);
        fields_give(f, a, name);
        words_add(c, value);
    }
    return !err && j->bad ? fields_refuse_json(f, j) : err;
}

static int refuse_large(struct fields *f, const struct arg *a, size_t most)
{
    char why[64];

    snprintf(why, sizeof(why), "larger than the limit of %zu bytes", most);
    fields_refuse(f, a, why);
    return BELFRY_TOOLARGE;
}

static int gather_json(struct fields *f, struct json *j, const struct arg *a)
{
    struct buf *text = &f->call->text;
    size_t from = text->len;

    if (json_peek(j) == KIND_STRING ? !json_string_read(j, text) : !json_take(j, text))
        return j->large ? refuse_large(f, a, j->most) : fields_refuse_json(f, j);
    fields_give(f, a, text_since(f, from));
    return 0;
}

/* Adds an item of a batch: the number of its words, then the words. `f` counts the AFTERs of all
 * items. So a batch, however long, is not read beyond their limit. */
static int gather_item(struct fields *f, struct json *j, size_t number)
{
    struct http_call *c = f->call;
    struct fields item = {
        .call = c, .in = f->in, .verb = verb_find(verb_table, STR("SCHEDULE")), .item = number
    };
    size_t from, words;
    int err;

    fields_begin(&item, STR(""));
    err = fields_read_body(&item, j);
    if (!err)
        err = fields_end(&item);
    if (err || c->failed)
        return err;
    f->afters += item.afters;
    if (f->afters > AFTERS_MAX)
        return fields_refuse_text(&item, STR("after"), AFTERS_TEXT);
    words = c->n - item.first - 1;
    if (words > ITEM_WORDS)
        return fields_refuse_text(&item, STR("values"), "there are too many");
    from = c->text.len;
    buf_int(&c->text, (int64_t)words);
    c->words[item.first] = text_since(f, from);
    return 0;
}

static int gather_items(struct fields *f, struct json *j, const struct arg *a)
{
    size_t n = 0;
    int err = open_value(f, j, a, KIND_ARRAY);

    while (!err && json_next(j, ']', &n) > 0)
        err = n > BATCH_MAX                 ? refuse_more(f, a, BATCH_MAX, "of them")
              : json_peek(j) == KIND_OBJECT ? gather_item(f, j, n)
                                            : refuse_value(f, j, a);
    if (!err && j->bad)
        return fields_refuse_json(f, j);
    return !err && n == 0 ? fields_refuse(f, a, "expected at least one") : err;
}

static int gather_value(struct fields *f, struct json *j, const struct arg *a, bool base64)
{
    enum json_kind kind = json_peek(j);

    if (a->type == ARG_ITEMS)
        return gather_items(f, j, a);
    if (a->type == ARG_META)
        return gather_meta(f, j, a, base64);
    if (http_arg_is_json(a) && !base64)
        return gather_json(f, j, a);
    if (kind == KIND_ARRAY && a->type == ARG_NAMES)
        return gather_names(f, j, a);
    if (kind == KIND_ARRAY && a->many)
        return gather_many(f, j, a);
    return gather_single(f, j, a, base64);
}

static int gather_form(struct fields *f, struct json *j)
{
    size_t from = f->call->text.len;
    int err = read_text(f, j, &http_form);

    return err ? err : fields_form(f, text_since(f, from));
}

static int gather_field(struct fields *f, struct json *j)
{
    size_t from = f->call->text.len;
    const struct arg *a;
    struct str name;
    bool base64;

    if (!json_name(j, &f->call->text))
        return fields_refuse_json(f, j);
    name = text_since(f, from);
    if (fields_is_form(f, name))
        return gather_form(f, j);
    a = fields_find(f, name, &base64);
    if (!a)
        return fields_refuse_unknown(f, name, "field");
    f->call->text.len = from; /* the name is not needed any more */
    if (fields_claim(f, a))   /* several values of an option are an array in one field */
        return fields_refuse(f, a, "is given twice");
    return gather_value(f, j, a, base64);
}

int fields_read_body(struct fields *f, struct json *j)
{
    size_t n = 0;
    int err = 0;

    if (json_peek(j) != KIND_OBJECT || !json_open(j)) {
        json_fail(j, "expected an object");
        return fields_refuse_json(f, j);
    }
    while (!err && json_next(j, '}', &n) > 0)
        err = gather_field(f, j);
    return !err && j->bad ? fields_refuse_json(f, j) : err;
}
