/* SPDX-License-Identifier: MIT */
/* A verb's arguments from a body in JSON. */
#include <stdio.h>

#include "front/http_fields.h"

#define QUOTE(x)     #x
#define STRINGIFY(x) QUOTE(x)
#define ITEM_WORDS   9999 /* that BATCH can count */

int fields_refuse_json(struct fields *f, const struct json *j)
{
    snprintf(f->call->why, sizeof(f->call->why), "the body is no JSON: %s", j->why);
    return BELFRY_PROTOCOL;
}

/* What a field's value may be, for the error. */
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

/* One value that is neither array nor object. */
static int gather_single(struct fields *f, struct json *j, const struct arg *a, bool base64)
{
    enum json_kind kind = json_peek(j);
    size_t from = f->call->text.len;
    struct str number;
    bool whole;
    int err = 0;

    if (kind == KIND_STRING && a->type != ARG_INT) {
        if (!json_string_read(j, &f->call->text))
            return fields_refuse_json(f, j);
        if (base64)
            err = fields_decode(f, a, &from);
        if (!err)
            fields_give(f, a, word_written(f, from));
        return err;
    }
    if (kind == KIND_NUMBER && takes_number(a) && !base64) {
        if (!json_number(j, &number, &whole))
            return fields_refuse_json(f, j);
        if (!whole)
            return fields_refuse(f, a, expected(a));
        fields_give(f, a, word_borrowed(number));
        return 0;
    }
    if ((kind == KIND_TRUE || kind == KIND_FALSE) && arg_is_yes_no(a)) {
        if (!json_literal(j))
            return fields_refuse_json(f, j);
        fields_give(f, a, word_borrowed(kind == KIND_TRUE ? STR("yes") : STR("no")));
        return 0;
    }
    return kind == KIND_BAD ? fields_refuse_json(f, j) : fields_refuse(f, a, expected(a));
}

/* An array of values of an option that may be given several times. */
static int gather_many(struct fields *f, struct json *j, const struct arg *a)
{
    size_t n = 0;
    int err = 0;

    if (!json_open(j))
        return fields_refuse_json(f, j);
    while (!err && json_next(j, ']', &n) > 0)
        err = gather_single(f, j, a, false);
    return err ? err : j->bad ? fields_refuse_json(f, j) : 0;
}

/* An array of names, which becomes one word with commas between. */
static int gather_names(struct fields *f, struct json *j, const struct arg *a)
{
    struct buf *text = &f->call->text;
    size_t from = text->len, n = 0;

    if (!json_open(j))
        return fields_refuse_json(f, j);
    while (json_next(j, ']', &n) > 0) {
        size_t at;

        if (n > 1)
            buf_text(text, ",");
        at = text->len;
        if (json_peek(j) != KIND_STRING)
            return j->bad ? fields_refuse_json(f, j) : fields_refuse(f, a, expected(a));
        if (!json_string_read(j, text))
            return fields_refuse_json(f, j);
        if (text->len > at && memchr(text->ptr + at, ',', text->len - at))
            return fields_refuse(f, a, "expected no comma in a name");
    }
    if (j->bad)
        return fields_refuse_json(f, j);
    fields_give(f, a, word_written(f, from));
    return 0;
}

static bool same_text(const struct fields *f, struct http_word a, struct http_word b)
{
    const char *text = f->call->text.ptr;

    return a.len == b.len && (a.len == 0 || memcmp(text + a.at, text + b.at, a.len) == 0);
}

/* An object: its names and values. */
static int gather_meta(struct fields *f, struct json *j, const struct arg *a, bool base64)
{
    struct buf *text = &f->call->text;
    size_t n = 0, first = f->options.n;

    if (json_peek(j) != KIND_OBJECT)
        return j->bad ? fields_refuse_json(f, j) : fields_refuse(f, a, expected(a));
    if (!json_open(j))
        return fields_refuse_json(f, j);
    while (json_next(j, '}', &n) > 0) {
        struct http_word name;
        size_t from = text->len;
        int err = 0;

        if (n > METAS_MAX) /* before they are compared with each other */
            return fields_refuse(f, a, "expected at most " STRINGIFY(METAS_MAX) " names");
        if (!json_name(j, text))
            return fields_refuse_json(f, j);
        name = word_written(f, from);
        for (size_t i = first; !text->failed && i + 2 < f->options.n; i += 3)
            if (same_text(f, name, f->options.at[i + 1]))
                return fields_refuse(f, a, "a name is given twice");
        from = text->len;
        if (json_peek(j) != KIND_STRING)
            return j->bad ? fields_refuse_json(f, j) : fields_refuse(f, a, expected(a));
        if (!json_string_read(j, text))
            return fields_refuse_json(f, j);
        err = base64 ? fields_decode(f, a, &from) : 0;
        if (err)
            return err;
        fields_give(f, a, name);
        words_add(&f->options, word_written(f, from));
    }
    return j->bad ? fields_refuse_json(f, j) : 0;
}

static int gather_json(struct fields *f, struct json *j, const struct arg *a)
{
    size_t from = f->call->text.len;

    if (json_peek(j) == KIND_STRING ? !json_string_read(j, &f->call->text)
                                    : !json_take(j, &f->call->text))
        return fields_refuse_json(f, j);
    fields_give(f, a, word_written(f, from));
    return 0;
}

/* An item of a batch, appended to `out`: the number of its words and these. */
static int gather_item(struct fields *f, struct json *j, size_t number)
{
    struct fields item = { .call = f->call,
                           .verb = verb_find(verb_table, STR("SCHEDULE")),
                           .item = number };
    size_t at = f->options.n, from;
    int err;

    words_add(&f->options, (struct http_word){ 0 });
    err = fields_read_body(&item, j);
    if (!err)
        err = fields_require(&item);
    if (!err && !f->options.failed) {
        fields_emit(&item, &f->options);
        if (f->options.n - at - 1 > ITEM_WORDS)
            err = fields_refuse_text(&item, STR("values"), "there are too many");
        from = f->call->text.len;
        buf_int(&f->call->text, (int64_t)(f->options.n - at - 1));
        f->options.at[at] = word_written(f, from);
    }
    fields_fini(&item);
    return err;
}

static int gather_items(struct fields *f, struct json *j, const struct arg *a)
{
    size_t n = 0;
    int err = 0;

    if (json_peek(j) != KIND_ARRAY)
        return j->bad ? fields_refuse_json(f, j) : fields_refuse(f, a, expected(a));
    if (!json_open(j))
        return fields_refuse_json(f, j);
    while (!err && json_next(j, ']', &n) > 0) {
        if (json_peek(j) != KIND_OBJECT)
            return j->bad ? fields_refuse_json(f, j) : fields_refuse(f, a, expected(a));
        err = gather_item(f, j, n);
    }
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

static int gather_field(struct fields *f, struct json *j)
{
    size_t from = f->call->text.len;
    const struct arg *a;
    struct str name;
    bool base64;

    if (!json_name(j, &f->call->text))
        return fields_refuse_json(f, j);
    name = text_since(f, from);
    if (f->call->text.failed)
        return BELFRY_NOMEM;
    a = fields_find(f, name, &base64);
    if (!a)
        return fields_refuse_unknown(f, name, "field");
    f->call->text.len = from;         /* the name is done with */
    if (f->given[fields_index(f, a)]) /* also what may be given several times: that is an array */
        return fields_refuse(f, a, "is given twice");
    f->given[fields_index(f, a)] = true;
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
