/* SPDX-License-Identifier: MIT */
#include "front/http_call.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/base64.h"
#include "front/http_fields.h"
#include "front/otlp.h"

#define KEEP_WORDS  64
#define KEEP_BYTES  ((size_t)4096)
#define SUFFIX      "_base64"
#define HEADER      "Idempotency-Key"
#define HEADER_TEXT 64 /* bytes of text that this header and Prefer take */

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

void words_add(struct http_call *c, struct str word)
{
    struct str *words = array_room(c->words, c->n, &c->cap, sizeof(*words));

    if (!words) {
        c->failed = true;
        return;
    }
    c->words = words;
    words[c->n++] = word;
}

static size_t index_of(const struct fields *f, const struct arg *a)
{
    return (size_t)(a - f->verb->args);
}

bool fields_claim(struct fields *f, const struct arg *a)
{
    bool before = f->given[index_of(f, a)];

    f->given[index_of(f, a)] = true;
    return before;
}

void fields_give(struct fields *f, const struct arg *a, struct str value)
{
    f->afters += a->many && a->type == ARG_ID;
    if (!a->positional) {
        words_add(f->call, str_of(a->name));
        words_add(f->call, value);
    } else if (!f->call->failed) {
        f->call->words[f->first + 1 + index_of(f, a)] = value;
    }
}

/* The words of ARG_ITEMS have no place: they stand behind all others. */
static bool has_place(const struct arg *a)
{
    return a->positional && a->type != ARG_ITEMS;
}

void fields_begin(struct fields *f, struct str head)
{
    f->first = f->call->n;
    words_add(f->call, head);
    for (const struct arg *a = f->verb->args; has_place(a); a++)
        words_add(f->call, STR(""));
}

/* Adds a part of a trace to the metadata, unless the request has it there, or has no room. */
static void give_trace(struct fields *f, const char *name, struct str value)
{
    const struct http_call *c = f->call;
    size_t at = f->first + 1, metas = 0;

    for (const struct arg *a = f->verb->args; a->positional; a++)
        at++;
    while (at + 1 < c->n) { /* pairs, and META with its name and value */
        bool is_meta = str_eq(c->words[at], STR("meta"));

        if (is_meta && str_eq(c->words[at + 1], str_of(name)))
            return;
        metas += is_meta;
        at += is_meta ? 3 : 2;
    }
    if (metas >= METAS_MAX || value.len > META_MAX_BYTES)
        return;
    words_add(f->call, STR("meta"));
    words_add(f->call, str_of(name));
    words_add(f->call, value);
}

/* A job goes on in the trace of its request. A header that is no trace counts for nothing, as the
 * standard wants it. */
static void give_traces(struct fields *f)
{
    struct trace_context trace;

    if (strcmp(f->verb->name, "SCHEDULE") != 0 || f->call->failed ||
        !trace_parse(f->in->traceparent, &trace))
        return;
    give_trace(f, "traceparent", f->in->traceparent);
    if (f->in->tracestate.len)
        give_trace(f, "tracestate", f->in->tracestate);
}

int fields_end(struct fields *f)
{
    struct http_call *c = f->call;
    size_t at = f->first + 1;

    give_traces(f);
    for (const struct arg *a = f->verb->args; a->type != ARG_END; a++) {
        if (a->http) {
            words_add(c, str_of(a->name));
            words_add(c, str_of(a->http));
        }
    }
    for (const struct arg *a = f->verb->args; a->positional; a++) {
        bool given = f->given[index_of(f, a)];

        if (!given && !a->optional)
            return fields_refuse(f, a, "is missing");
        if (given || c->failed) {
            at++;
        } else {
            c->n--;
            memmove(c->words + at, c->words + at + 1, (c->n - at) * sizeof(*c->words));
        }
    }
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
        return http_takes(f->route, a) ? a : NULL;
    }
    return NULL;
}

/* Lists the fields that there are. */
int fields_refuse_unknown(struct fields *f, struct str name, const char *what)
{
    struct buf all = { 0 };
    char why[200];

    for (const struct arg *a = f->verb->args; a->type != ARG_END; a++)
        if (http_takes(f->route, a))
            buf_printf(&all, "%s%s", all.len ? ", " : "", a->name);
    if (f->route && f->route->forms)
        buf_printf(&all, "%s%s", all.len ? ", " : "", http_form.name);
    snprintf(why, sizeof(why), "unknown %s; there %s %.*s", what, all.len ? "are" : "is",
             all.len ? (int)all.len : 4, all.len ? all.ptr : "none");
    buf_fini(&all);
    return fields_refuse_text(f, name, why);
}

bool fields_is_form(const struct fields *f, struct str name)
{
    return f->route && f->route->forms && str_eq(name, str_of(http_form.name));
}

int fields_form(struct fields *f, struct str value)
{
    if (f->formed)
        return fields_refuse(f, &http_form, "is given twice");
    f->formed = true;
    f->call->json = str_eq(value, STR("json"));
    return f->call->json || str_eq(value, STR("text"))
               ? 0
               : fields_refuse(f, &http_form, "expected json or text");
}

/* ---- Escapes of paths and queries ---- */

static bool unescape(struct str s, bool plus, struct buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (c == '%') {
            int high = i + 2 < s.len ? str_hex(s.ptr[i + 1]) : -1;
            int low = i + 2 < s.len ? str_hex(s.ptr[i + 2]) : -1;

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

static const struct arg *arg_named(const struct verb *v, struct str name)
{
    const struct arg *a = v->args;

    while (a->type != ARG_END && !str_eq(name, str_of(a->name)))
        a++;
    return a->type == ARG_END ? NULL : a;
}

#define BAD_ESCAPE "expected two hexadecimal digits behind each %"
#define ONE_TENANT "expected the name of one tenant; figures of all are at /v1/stats"

static int gather_path(struct fields *f, const struct http_match *m)
{
    for (size_t i = 0; i < HTTP_PATH_ARGS && m->args[i].ptr; i++) {
        struct str name = http_path_arg(m->route, i);
        const struct arg *a = arg_named(f->verb, name);
        size_t from = f->call->text.len;

        if (!unescape(m->args[i], false, &f->call->text))
            return fields_refuse(f, a, BAD_ESCAPE);
        if (str_eq(name, STR("tenant")) && str_eq(text_since(f, from), STR(TENANT_ALL)))
            return fields_refuse(f, a, ONE_TENANT);
        fields_claim(f, a);
        fields_give(f, a, text_since(f, from));
    }
    return 0;
}

bool arg_is_yes_no(const struct arg *a)
{
    return a->type == ARG_WORD && strcmp(a->words, "no|yes") == 0;
}

int fields_decode(struct fields *f, const struct arg *a, size_t *from)
{
    struct str encoded = text_since(f, *from);
    char name[80];

    *from += encoded.len;
    if (base64_read(encoded, &f->call->text))
        return 0;
    snprintf(name, sizeof(name), "%s" SUFFIX, a->name);
    return fields_refuse_text(f, str_of(name), "expected base64 with its padding");
}

/* `true` and `false` stand for `yes` and `no`. */
static struct str parameter_value(const struct arg *a, struct str given)
{
    if (arg_is_yes_no(a) && str_eq(given, STR("true")))
        return STR("yes");
    return arg_is_yes_no(a) && str_eq(given, STR("false")) ? STR("no") : given;
}

/* One name=value. */
static int gather_parameter(struct fields *f, struct str raw)
{
    struct str raw_name = str_cut(&raw, '=');
    struct buf *text = &f->call->text;
    size_t from = text->len;
    const struct arg *a = NULL;
    bool base64 = false;
    int err;

    if (!http_has_body(f->route) && fields_is_form(f, raw_name))
        return fields_form(f, raw);
    if (unescape(raw_name, true, text))
        a = fields_find(f, text_since(f, from), &base64);
    if (!a || a->type == ARG_META || a->type == ARG_ITEMS ||
        (http_has_body(f->route) && a->type != ARG_TENANT))
        return fields_refuse_unknown(f, raw_name, "parameter of the query");
    if (fields_claim(f, a) && !a->many)
        return fields_refuse(f, a, "is given twice");
    from = text->len;
    if (!unescape(raw, true, text))
        return fields_refuse(f, a, BAD_ESCAPE);
    err = base64 ? fields_decode(f, a, &from) : 0;
    if (!err)
        fields_give(f, a, parameter_value(a, text_since(f, from)));
    return err;
}

static int gather_query(struct fields *f, struct str query)
{
    int err = 0;

    while (!err && query.len) {
        struct str pair = str_cut(&query, '&');

        if (pair.len)
            err = gather_parameter(f, pair);
    }
    return err;
}

/* The header stands for KEY, IFEXISTS keep and, unless the request says so itself, KEY_HOLD. */
static int gather_header(struct fields *f, struct str key)
{
    const struct arg *a = arg_named(f->verb, STR("key"));
    const struct arg *if_exists = arg_named(f->verb, STR("ifexists"));
    const struct arg *hold = arg_named(f->verb, STR("key_hold"));
    size_t from = f->call->text.len;
    bool taken;

    if (!key.ptr || !(f->verb->flags & VERB_ADDS))
        return 0;
    if (!a || !if_exists)
        return fields_refuse_text(f, STR(HEADER), "only POST /v1/jobs takes one");
    taken = fields_claim(f, a);
    if (fields_claim(f, if_exists) || taken)
        return fields_refuse(f, a,
                             "is given by Idempotency-Key, which stands for key and ifexists keep");
    fields_give(f, a, key);
    fields_give(f, if_exists, STR("keep"));
    if (hold && f->in->idempotency_hold_ms > 0 && !fields_claim(f, hold)) {
        buf_int(&f->call->text, f->in->idempotency_hold_ms);
        fields_give(f, hold, text_since(f, from));
    }
    return 0;
}

/* The header `Prefer: wait=10` stands for WAIT 10s, unless the request says WAIT itself. A server
 * may ignore a preference, so other preferences, and other routes, make no error. */
static void gather_prefer(struct fields *f, struct str prefer)
{
    const struct arg *wait = arg_named(f->verb, STR("wait"));
    size_t from = f->call->text.len;
    uint64_t seconds;

    if (!f->route->waits || prefer.len == 0)
        return;
    while (prefer.len) {
        struct str value = str_cut(&prefer, ',');
        struct str name = str_cut(&value, '=');

        value = str_trim(str_cut(&value, ';'), " \t\"");
        if (!str_ieq(str_trim(name, " \t"), "wait"))
            continue;
        if (!str_number(value, &seconds) || fields_claim(f, wait))
            return;
        seconds = seconds < AWAIT_MAX_MS / 1000 ? seconds : AWAIT_MAX_MS / 1000;
        buf_int(&f->call->text, (int64_t)seconds * 1000);
        fields_give(f, wait, text_since(f, from));
        return;
    }
}

/* ---- Whole requests ---- */

/* A value takes as many bytes of text as in the request, and once more if it is base64. */
static bool reserve_text(const struct http_input *in, struct buf *text)
{
    size_t bytes = in->query.len + in->body.len;

    for (size_t i = 0; i < HTTP_PATH_ARGS; i++)
        bytes += in->match->args[i].len;
    return buf_reserve(text, 2 * bytes + HEADER_TEXT);
}

static int gather_all(struct fields *f, const struct http_input *in)
{
    struct json j;
    int err = gather_path(f, in->match);

    if (!err)
        err = gather_query(f, in->query);
    if (!err && in->body.len) {
        json_begin(&j, in->body);
        j.most = in->max_payload;
        err = fields_read_body(f, &j);
        if (!err && !json_done(&j))
            err = fields_refuse_json(f, &j);
    }
    if (!err)
        err = gather_header(f, in->idempotency_key);
    if (!err)
        gather_prefer(f, in->prefer);
    return err ? err : fields_end(f);
}

int http_translate(const struct http_input *in, struct http_call *c)
{
    struct fields f = {
        .call = c, .in = in, .route = in->match->route, .verb = http_route_verb(in->match->route)
    };
    const char *text;
    int err;

    if (!reserve_text(in, &c->text))
        return BELFRY_NOMEM;
    text = c->text.ptr;
    fields_begin(&f, str_of(f.verb->name));
    err = gather_all(&f, in);
    assert(c->text.ptr == text);
    (void)text;
    return c->failed ? BELFRY_NOMEM : err;
}

void http_call_reset(struct http_call *c)
{
    if (c->cap > KEEP_WORDS) {
        http_call_fini(c);
        return;
    }
    buf_reset(&c->text, KEEP_BYTES);
    c->n = 0;
    c->failed = c->json = false;
    c->why[0] = '\0';
}

void http_call_fini(struct http_call *c)
{
    buf_fini(&c->text);
    free(c->words);
    *c = (struct http_call){ 0 };
}
