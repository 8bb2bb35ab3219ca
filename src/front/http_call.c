/* SPDX-License-Identifier: MIT */
#include "front/http_call.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "front/http_status.h"
#include "front/json.h"

#define SUFFIX     "_base64"
#define HEADER     "Idempotency-Key"
#define ITEM_WORDS 9999 /* that BATCH can count */

/* One verb's arguments as they are gathered: in any order, from path, query, header and body. */
struct fields {
    struct http_call *call;
    const struct http_route *route; /* NULL: an item of a batch, which takes all */
    const struct verb *verb;
    size_t item; /* of a batch, from 1 on */
    bool given[VERB_ARGS_MAX];
    struct http_word positional[VERB_ARGS_MAX];
    struct http_words options;
};

static int gather_body(struct fields *f, struct json *j);

/* ---- Errors ---- */

static int refuse_text(struct fields *f, const char *name, size_t len, const char *why)
{
    char item[32] = "";

    if (f->item)
        snprintf(item, sizeof(item), "item %zu: ", f->item);
    snprintf(f->call->why, sizeof(f->call->why), "%s%.*s: %s", item, (int)(len < 64 ? len : 64),
             name, why);
    return BELFRY_INVALID;
}

static int refuse(struct fields *f, const struct arg *a, const char *why)
{
    return refuse_text(f, a->name, strlen(a->name), why);
}

static int refuse_json(struct fields *f, const struct json *j)
{
    snprintf(f->call->why, sizeof(f->call->why), "the body is no JSON: %s", j->why);
    return BELFRY_PROTOCOL;
}

/* ---- Words ---- */

static void add(struct http_words *w, struct http_word word)
{
    if (w->n == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 32;
        struct http_word *grown = realloc(w->at, cap * sizeof(*grown));

        if (!grown) {
            w->failed = true;
            return;
        }
        w->at = grown;
        w->cap = cap;
    }
    w->at[w->n++] = word;
}

static struct http_word borrowed(struct str s)
{
    return (struct http_word){ s.ptr ? s.ptr : "", 0, s.len };
}

/* What was appended to the call's text since `from`. */
static struct http_word written(const struct fields *f, size_t from)
{
    return (struct http_word){ NULL, from, f->call->text.len - from };
}

static size_t index_of(const struct fields *f, const struct arg *a)
{
    return (size_t)(a - f->verb->args);
}

/* A value of an argument. */
static void give(struct fields *f, const struct arg *a, struct http_word value)
{
    if (a->positional) {
        f->positional[index_of(f, a)] = value;
    } else {
        add(&f->options, borrowed(str_of(a->name)));
        add(&f->options, value);
    }
}

static int claim(struct fields *f, const struct arg *a)
{
    if (f->given[index_of(f, a)] && !a->many)
        return refuse(f, a, "is given twice");
    f->given[index_of(f, a)] = true;
    return 0;
}

/* The argument of a field's name; *ret_base64: by its name with the ending. */
static const struct arg *find_arg(const struct fields *f, struct str name, bool *ret_base64)
{
    struct str stem = { name.ptr, name.len > strlen(SUFFIX) ? name.len - strlen(SUFFIX) : 0 };
    bool ends = stem.len && memcmp(name.ptr + stem.len, SUFFIX, strlen(SUFFIX)) == 0;

    for (const struct arg *a = f->verb->args; a->type != ARG_END; a++) {
        bool plain = str_eq(name, str_of(a->name));

        if (!plain && !(ends && http_arg_is_bytes(a) && str_eq(stem, str_of(a->name))))
            continue;
        *ret_base64 = !plain;
        return f->route && !http_takes(f->route, a) ? NULL : a;
    }
    return NULL;
}

/* Says which there are. */
static int refuse_unknown(struct fields *f, struct str name, const char *what)
{
    struct buf all = { 0 };
    char why[200];

    for (const struct arg *a = f->verb->args; a->type != ARG_END; a++)
        if (!f->route || http_takes(f->route, a))
            buf_printf(&all, "%s%s", all.len ? ", " : "", a->name);
    snprintf(why, sizeof(why), "unknown %s; there %s %.*s", what, all.len ? "are" : "is",
             all.len ? (int)all.len : 4, all.len ? all.ptr : "none");
    buf_fini(&all);
    return refuse_text(f, name.ptr ? name.ptr : "", name.len, why);
}

/* ---- Escapes of paths and queries ---- */

static int hex(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

static bool unescape(struct str s, bool plus, struct buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (c == '%') {
            int high = i + 2 < s.len ? hex(s.ptr[i + 1]) : -1;
            int low = i + 2 < s.len ? hex(s.ptr[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        buf_append(out, &c, 1);
    }
    return true;
}

#define BAD_ESCAPE "expected two hexadecimal digits behind each %"

static int gather_path(struct fields *f, const struct http_match *m)
{
    for (size_t i = 0; i < HTTP_PATH_ARGS && m->args[i].ptr; i++) {
        struct str name = http_path_arg(m->route, i);
        const struct arg *a = f->verb->args;
        size_t from = f->call->text.len;

        while (!str_eq(name, str_of(a->name)))
            a++;
        if (!unescape(m->args[i], false, &f->call->text))
            return refuse(f, a, BAD_ESCAPE);
        f->given[index_of(f, a)] = true;
        give(f, a, written(f, from));
    }
    return 0;
}

static bool is_yes_no(const struct arg *a)
{
    return a->type == ARG_WORD && strcmp(a->words, "no|yes") == 0;
}

/* Text that was appended since `from` and is base64: what it stands for follows. */
static int decode(struct fields *f, const struct arg *a, size_t *from)
{
    struct buf *text = &f->call->text;
    size_t len = text->len - *from;

    if (!buf_reserve(text, len)) /* so that what is read stays where it is */
        return BELFRY_NOMEM;
    if (!base64_read((struct str){ text->ptr + *from, len }, text)) {
        char name[80];

        snprintf(name, sizeof(name), "%s" SUFFIX, a->name);
        return refuse_text(f, name, strlen(name), "expected base64 with its padding");
    }
    *from += len;
    return 0;
}

/* One name=value. */
static int gather_parameter(struct fields *f, struct str pair)
{
    const char *equals = memchr(pair.ptr, '=', pair.len);
    struct str raw_name = { pair.ptr, equals ? (size_t)(equals - pair.ptr) : pair.len };
    struct str raw = equals ? (struct str){ equals + 1, pair.len - raw_name.len - 1 } : STR("");
    struct buf *text = &f->call->text;
    size_t from = text->len;
    const struct arg *a = NULL;
    bool base64 = false;
    int err;

    if (unescape(raw_name, true, text) && !text->failed)
        a = find_arg(f, (struct str){ text->ptr + from, text->len - from }, &base64);
    if (!a || a->type == ARG_META || a->type == ARG_ITEMS ||
        (http_has_body(f->route) && a->type != ARG_TENANT))
        return refuse_unknown(f, raw_name, "parameter of the query");
    err = claim(f, a);
    if (err)
        return err;
    from = text->len;
    if (!unescape(raw, true, text))
        return refuse(f, a, BAD_ESCAPE);
    err = base64 ? decode(f, a, &from) : 0;
    if (err)
        return err;
    if (is_yes_no(a) && str_eq((struct str){ text->ptr + from, text->len - from }, STR("true")))
        give(f, a, borrowed(STR("yes")));
    else if (is_yes_no(a) &&
             str_eq((struct str){ text->ptr + from, text->len - from }, STR("false")))
        give(f, a, borrowed(STR("no")));
    else
        give(f, a, written(f, from));
    return 0;
}

static int gather_query(struct fields *f, struct str query)
{
    int err = 0;

    while (!err && query.len) {
        const char *end = memchr(query.ptr, '&', query.len);
        size_t len = end ? (size_t)(end - query.ptr) : query.len;

        if (len)
            err = gather_parameter(f, (struct str){ query.ptr, len });
        query = (struct str){ query.ptr + len + (end != NULL), query.len - len - (end != NULL) };
    }
    return err;
}

static const struct arg *arg_named(const struct verb *v, const char *name)
{
    const struct arg *a = v->args;

    while (a->type != ARG_END && strcmp(a->name, name) != 0)
        a++;
    return a->type == ARG_END ? NULL : a;
}

/* The header stands for KEY and IFEXISTS keep. */
static int gather_header(struct fields *f, struct str key)
{
    const struct arg *a = arg_named(f->verb, "key"), *if_exists = arg_named(f->verb, "ifexists");

    if (!key.ptr || !(f->verb->flags & VERB_ADDS))
        return 0;
    if (!a || !if_exists)
        return refuse_text(f, HEADER, strlen(HEADER), "only POST /v1/jobs takes one");
    if (f->given[index_of(f, a)] || f->given[index_of(f, if_exists)])
        return refuse(f, a, "is given by Idempotency-Key, which stands for key and ifexists keep");
    f->given[index_of(f, a)] = f->given[index_of(f, if_exists)] = true;
    give(f, a, borrowed(key));
    give(f, if_exists, borrowed(STR("keep")));
    return 0;
}

/* ---- The body ---- */

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
    case ARG_WORD: return is_yes_no(a) ? "expected true or false" : "expected a string";
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

    if (kind == JSON_STRING && a->type != ARG_INT) {
        if (!json_string_read(j, &f->call->text))
            return refuse_json(f, j);
        if (base64)
            err = decode(f, a, &from);
        if (!err)
            give(f, a, written(f, from));
        return err;
    }
    if (kind == JSON_NUMBER && takes_number(a) && !base64) {
        if (!json_number(j, &number, &whole))
            return refuse_json(f, j);
        if (!whole)
            return refuse(f, a, expected(a));
        give(f, a, borrowed(number));
        return 0;
    }
    if ((kind == JSON_TRUE || kind == JSON_FALSE) && is_yes_no(a)) {
        if (!json_literal(j))
            return refuse_json(f, j);
        give(f, a, borrowed(kind == JSON_TRUE ? STR("yes") : STR("no")));
        return 0;
    }
    return kind == JSON_BAD ? refuse_json(f, j) : refuse(f, a, expected(a));
}

/* An array of values of an option that may be given several times. */
static int gather_many(struct fields *f, struct json *j, const struct arg *a)
{
    size_t n = 0;
    int more, err = 0;

    if (!json_open(j))
        return refuse_json(f, j);
    while (!err && (more = json_next(j, ']', &n)) > 0)
        err = gather_single(f, j, a, false);
    return err ? err : j->bad ? refuse_json(f, j) : 0;
}

/* An array of names, which becomes one word with commas between. */
static int gather_names(struct fields *f, struct json *j, const struct arg *a)
{
    struct buf *text = &f->call->text;
    size_t from = text->len, n = 0;

    if (!json_open(j))
        return refuse_json(f, j);
    while (json_next(j, ']', &n) > 0) {
        size_t at;

        if (n > 1)
            buf_text(text, ",");
        at = text->len;
        if (json_peek(j) != JSON_STRING)
            return j->bad ? refuse_json(f, j) : refuse(f, a, expected(a));
        if (!json_string_read(j, text))
            return refuse_json(f, j);
        if (text->len > at && memchr(text->ptr + at, ',', text->len - at))
            return refuse(f, a, "expected no comma in a name");
    }
    if (j->bad)
        return refuse_json(f, j);
    give(f, a, written(f, from));
    return 0;
}

static bool same_text(const struct fields *f, struct http_word a, struct http_word b)
{
    return str_eq((struct str){ f->call->text.ptr + a.at, a.len },
                  (struct str){ f->call->text.ptr + b.at, b.len });
}

/* An object: its names and values. */
static int gather_meta(struct fields *f, struct json *j, const struct arg *a, bool base64)
{
    struct buf *text = &f->call->text;
    size_t n = 0, first = f->options.n;

    if (json_peek(j) != JSON_OBJECT)
        return j->bad ? refuse_json(f, j) : refuse(f, a, expected(a));
    if (!json_open(j))
        return refuse_json(f, j);
    while (json_next(j, '}', &n) > 0) {
        struct http_word name;
        size_t from = text->len;
        int err = 0;

        if (!json_name(j, text))
            return refuse_json(f, j);
        name = written(f, from);
        for (size_t i = first; !text->failed && i + 2 < f->options.n; i += 3)
            if (same_text(f, name, f->options.at[i + 1]))
                return refuse(f, a, "a name is given twice");
        from = text->len;
        if (json_peek(j) != JSON_STRING)
            return j->bad ? refuse_json(f, j) : refuse(f, a, expected(a));
        if (!json_string_read(j, text))
            return refuse_json(f, j);
        err = base64 ? decode(f, a, &from) : 0;
        if (err)
            return err;
        give(f, a, name);
        add(&f->options, written(f, from));
    }
    return j->bad ? refuse_json(f, j) : 0;
}

static int gather_json(struct fields *f, struct json *j, const struct arg *a)
{
    size_t from = f->call->text.len;

    if (json_peek(j) == JSON_STRING ? !json_string_read(j, &f->call->text)
                                    : !json_copy(j, &f->call->text))
        return refuse_json(f, j);
    give(f, a, written(f, from));
    return 0;
}

static int require(struct fields *f);

static void fields_fini(struct fields *f)
{
    free(f->options.at);
}

/* Positional arguments in their order, then options: as the verb takes them. */
static void emit(const struct fields *f, struct http_words *out)
{
    for (const struct arg *a = f->verb->args; a->positional; a++)
        if (f->given[index_of(f, a)] && a->type != ARG_ITEMS)
            add(out, f->positional[index_of(f, a)]);
    for (size_t i = 0; i < f->options.n; i++)
        add(out, f->options.at[i]);
    out->failed = out->failed || f->options.failed;
}

/* An item of a batch, appended to `out`: the number of its words and these. */
static int gather_item(struct fields *f, struct json *j, size_t number)
{
    struct fields item = { .call = f->call,
                           .verb = verb_find(verb_table, STR("SCHEDULE")),
                           .item = number };
    size_t at = f->options.n, from = f->call->text.len;
    int err;

    add(&f->options, (struct http_word){ 0 });
    err = gather_body(&item, j);
    if (!err)
        err = require(&item);
    if (!err && !f->options.failed) {
        emit(&item, &f->options);
        if (f->options.n - at - 1 > ITEM_WORDS)
            err = refuse_text(&item, "values", 6, "there are too many");
        from = f->call->text.len;
        buf_int(&f->call->text, (int64_t)(f->options.n - at - 1));
        f->options.at[at] = written(f, from);
    }
    fields_fini(&item);
    return err;
}

static int gather_items(struct fields *f, struct json *j, const struct arg *a)
{
    size_t n = 0;
    int err = 0;

    if (json_peek(j) != JSON_ARRAY)
        return j->bad ? refuse_json(f, j) : refuse(f, a, expected(a));
    if (!json_open(j))
        return refuse_json(f, j);
    while (!err && json_next(j, ']', &n) > 0) {
        if (json_peek(j) != JSON_OBJECT)
            return j->bad ? refuse_json(f, j) : refuse(f, a, expected(a));
        err = gather_item(f, j, n);
    }
    if (!err && j->bad)
        return refuse_json(f, j);
    return !err && n == 0 ? refuse(f, a, "expected at least one") : err;
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
    if (kind == JSON_ARRAY && a->type == ARG_NAMES)
        return gather_names(f, j, a);
    if (kind == JSON_ARRAY && a->many)
        return gather_many(f, j, a);
    return gather_single(f, j, a, base64);
}

static int gather_field(struct fields *f, struct json *j)
{
    size_t from = f->call->text.len;
    const struct arg *a;
    struct str name;
    bool base64;
    int err;

    if (!json_name(j, &f->call->text))
        return refuse_json(f, j);
    name = (struct str){ f->call->text.ptr + from, f->call->text.len - from };
    if (f->call->text.failed)
        return BELFRY_NOMEM;
    a = find_arg(f, name, &base64);
    if (!a)
        return refuse_unknown(f, name, "field");
    f->call->text.len = from;     /* the name is done with */
    if (f->given[index_of(f, a)]) /* also what may be given several times: that is an array */
        return refuse(f, a, "is given twice");
    err = claim(f, a);
    return err ? err : gather_value(f, j, a, base64);
}

static int gather_body(struct fields *f, struct json *j)
{
    size_t n = 0;
    int err = 0;

    if (json_peek(j) != JSON_OBJECT || !json_open(j)) {
        json_fail(j, "expected an object");
        return refuse_json(f, j);
    }
    while (!err && json_next(j, '}', &n) > 0)
        err = gather_field(f, j);
    return !err && j->bad ? refuse_json(f, j) : err;
}

/* ---- All of it ---- */

static int require(struct fields *f)
{
    for (const struct arg *a = f->verb->args; a->positional; a++)
        if (!a->optional && !f->given[index_of(f, a)])
            return refuse(f, a, "is missing");
    return 0;
}

static int gather(struct fields *f, const struct http_input *in)
{
    struct json j;
    int err = gather_path(f, in->match);

    if (!err)
        err = gather_query(f, in->query);
    if (!err && in->body.len) {
        json_begin(&j, in->body);
        err = gather_body(f, &j);
        if (!err && !json_done(&j))
            err = refuse_json(f, &j);
    }
    if (!err)
        err = gather_header(f, in->idempotency_key);
    return err ? err : require(f);
}

static int finish(struct http_call *c)
{
    if (c->text.failed || c->list.failed)
        return BELFRY_NOMEM;
    c->words = malloc(c->list.n * sizeof(*c->words));
    if (!c->words)
        return BELFRY_NOMEM;
    for (size_t i = 0; i < c->list.n; i++) {
        struct http_word w = c->list.at[i];
        const char *ptr = w.ptr ? w.ptr : w.len ? c->text.ptr + w.at : "";

        c->words[i] = (struct str){ ptr, w.len };
    }
    return 0;
}

int http_translate(const struct http_input *in, struct http_call *c)
{
    struct fields f = { .call = c,
                        .route = in->match->route,
                        .verb = http_route_verb(in->match->route) };
    int err = gather(&f, in);

    if (!err) {
        add(&c->list, borrowed(str_of(f.verb->name)));
        emit(&f, &c->list);
        err = finish(c);
    }
    if (c->text.failed || c->list.failed || f.options.failed)
        err = BELFRY_NOMEM;
    fields_fini(&f);
    return err;
}

void http_call_fini(struct http_call *c)
{
    buf_fini(&c->text);
    free(c->list.at);
    free(c->words);
    *c = (struct http_call){ 0 };
}
