/* SPDX-License-Identifier: MIT */
#include "front/http_call.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "front/http_fields.h"

#define KEEP_WORDS 64
#define KEEP_BYTES ((size_t)4096)
#define SUFFIX     "_base64"
#define HEADER     "Idempotency-Key"

/* ---- Errors ---- */

int fields_refuse_text(struct fields *f, struct str name, const char *why)
{
    char item[32] = "";

    if (f->item)
        snprintf(item, sizeof(item), "item %zu: ", f->item);
    snprintf(f->call->why, sizeof(f->call->why), "%s%.*s: %s", item,
             (int)(name.len < 64 ? name.len : 64), name.ptr ? name.ptr : "", why);
    return BELFRY_INVALID;
}

int fields_refuse(struct fields *f, const struct arg *a, const char *why)
{
    return fields_refuse_text(f, str_of(a->name), why);
}

/* ---- Words ---- */

void words_add(struct http_words *w, struct http_word word)
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

void fields_give(struct fields *f, const struct arg *a, struct http_word value)
{
    if (a->positional) {
        f->positional[fields_index(f, a)] = value;
    } else {
        words_add(&f->options, word_borrowed(str_of(a->name)));
        words_add(&f->options, value);
    }
}

static int claim(struct fields *f, const struct arg *a)
{
    if (f->given[fields_index(f, a)] && !a->many)
        return fields_refuse(f, a, "is given twice");
    f->given[fields_index(f, a)] = true;
    return 0;
}

const struct arg *fields_find(const struct fields *f, struct str name, bool *ret_base64)
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
int fields_refuse_unknown(struct fields *f, struct str name, const char *what)
{
    struct buf all = { 0 };
    char why[200];

    for (const struct arg *a = f->verb->args; a->type != ARG_END; a++)
        if (!f->route || http_takes(f->route, a))
            buf_printf(&all, "%s%s", all.len ? ", " : "", a->name);
    snprintf(why, sizeof(why), "unknown %s; there %s %.*s", what, all.len ? "are" : "is",
             all.len ? (int)all.len : 4, all.len ? all.ptr : "none");
    buf_fini(&all);
    return fields_refuse_text(f, name, why);
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
#define ONE_TENANT "expected the name of one tenant; figures of all are at /v1/stats"

static int gather_path(struct fields *f, const struct http_match *m)
{
    for (size_t i = 0; i < HTTP_PATH_ARGS && m->args[i].ptr; i++) {
        struct str name = http_path_arg(m->route, i);
        const struct arg *a = f->verb->args;
        size_t from = f->call->text.len;

        while (!str_eq(name, str_of(a->name)))
            a++;
        if (!unescape(m->args[i], false, &f->call->text))
            return fields_refuse(f, a, BAD_ESCAPE);
        if (str_eq(name, STR("tenant")) && f->call->text.len == from + 1 &&
            f->call->text.ptr[from] == '*')
            return fields_refuse(f, a, ONE_TENANT);
        f->given[fields_index(f, a)] = true;
        fields_give(f, a, word_written(f, from));
    }
    return 0;
}

bool arg_is_yes_no(const struct arg *a)
{
    return a->type == ARG_WORD && strcmp(a->words, "no|yes") == 0;
}

int fields_decode(struct fields *f, const struct arg *a, size_t *from)
{
    struct buf *text = &f->call->text;
    size_t len = text->len - *from;

    if (!buf_reserve(text, len)) /* so that what is read stays where it is */
        return BELFRY_NOMEM;
    if (!base64_read(text_since(f, *from), text)) {
        char name[80];

        snprintf(name, sizeof(name), "%s" SUFFIX, a->name);
        return fields_refuse_text(f, str_of(name), "expected base64 with its padding");
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
        a = fields_find(f, text_since(f, from), &base64);
    if (!a || a->type == ARG_META || a->type == ARG_ITEMS ||
        (http_has_body(f->route) && a->type != ARG_TENANT))
        return fields_refuse_unknown(f, raw_name, "parameter of the query");
    err = claim(f, a);
    if (err)
        return err;
    from = text->len;
    if (!unescape(raw, true, text))
        return fields_refuse(f, a, BAD_ESCAPE);
    err = base64 ? fields_decode(f, a, &from) : 0;
    if (err)
        return err;
    if (arg_is_yes_no(a) && str_eq(text_since(f, from), STR("true")))
        fields_give(f, a, word_borrowed(STR("yes")));
    else if (arg_is_yes_no(a) && str_eq(text_since(f, from), STR("false")))
        fields_give(f, a, word_borrowed(STR("no")));
    else
        fields_give(f, a, word_written(f, from));
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
        return fields_refuse_text(f, STR(HEADER), "only POST /v1/jobs takes one");
    if (f->given[fields_index(f, a)] || f->given[fields_index(f, if_exists)])
        return fields_refuse(f, a,
                             "is given by Idempotency-Key, which stands for key and ifexists keep");
    f->given[fields_index(f, a)] = f->given[fields_index(f, if_exists)] = true;
    fields_give(f, a, word_borrowed(key));
    fields_give(f, if_exists, word_borrowed(STR("keep")));
    return 0;
}

/* ---- Whole verbs ---- */

void fields_fini(struct fields *f)
{
    free(f->options.at);
}

void fields_emit(const struct fields *f, struct http_words *out)
{
    for (const struct arg *a = f->verb->args; a->positional; a++)
        if (f->given[fields_index(f, a)] && a->type != ARG_ITEMS)
            words_add(out, f->positional[fields_index(f, a)]);
    for (size_t i = 0; i < f->options.n; i++)
        words_add(out, f->options.at[i]);
    out->failed = out->failed || f->options.failed;
}

int fields_require(struct fields *f)
{
    for (const struct arg *a = f->verb->args; a->positional; a++)
        if (!a->optional && !f->given[fields_index(f, a)])
            return fields_refuse(f, a, "is missing");
    return 0;
}

/* ---- All of it ---- */

static int gather(struct fields *f, const struct http_input *in)
{
    struct json j;
    int err = gather_path(f, in->match);

    if (!err)
        err = gather_query(f, in->query);
    if (!err && in->body.len) {
        json_begin(&j, in->body);
        err = fields_read_body(f, &j);
        if (!err && !json_done(&j))
            err = fields_refuse_json(f, &j);
    }
    if (!err)
        err = gather_header(f, in->idempotency_key);
    return err ? err : fields_require(f);
}

static int finish(struct http_call *c)
{
    if (c->text.failed || c->list.failed)
        return BELFRY_NOMEM;
    if (c->words_cap < c->list.n) {
        free(c->words);
        c->words = malloc(c->list.cap * sizeof(*c->words));
        c->words_cap = c->words ? c->list.cap : 0;
    }
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
        words_add(&c->list, word_borrowed(str_of(f.verb->name)));
        fields_emit(&f, &c->list);
        err = finish(c);
    }
    if (c->text.failed || c->list.failed || f.options.failed)
        err = BELFRY_NOMEM;
    fields_fini(&f);
    return err;
}

void http_call_reset(struct http_call *c)
{
    if (c->list.cap > KEEP_WORDS) {
        http_call_fini(c);
        return;
    }
    buf_reset(&c->text, KEEP_BYTES);
    c->list.n = 0;
    c->list.failed = false;
    c->why[0] = '\0';
}

void http_call_fini(struct http_call *c)
{
    buf_fini(&c->text);
    free(c->list.at);
    free(c->words);
    *c = (struct http_call){ 0 };
}
