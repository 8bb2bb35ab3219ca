/* SPDX-License-Identifier: MIT */
#include "front/openapi.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "engine/types.h"
#include "front/event_stream.h"
#include "front/http_route.h"
#include "front/json.h"

#define QUOTE(x)     #x
#define STRINGIFY(x) QUOTE(x)

#define NAME_CHARS   "[A-Za-z0-9._:/-]{1,128}"
#define STRING       "'type':'string'"
#define FILLED       STRING ",'minLength':1"
#define MAPPING      "'type':'object','additionalProperties':"
#define ANY          "'title':'any value'"
#define NUMERIC      "'type':['string','integer']"
#define REF(shape)   "'$ref':'#/components/schemas/" shape "'"
#define LIST_OF(one) "'type':'array','items':{" one "}"

/* Appends JSON in which ' stands for ". A comma goes before it where one is needed. The arguments
 * are names, which need no escapes; for other texts there is put_text. */
__attribute__((format(printf, 2, 3))) static void put(struct buf *o, const char *format, ...)
{
    char last = o->len ? o->ptr[o->len - 1] : '{';
    char json[512];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(json, sizeof(json), format, args);
    va_end(args);
    assert(n < (int)sizeof(json));
    (void)n;
    for (char *p = json; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (!strchr("{[:", last) && !strchr("}]", json[0]))
        buf_text(o, ",");
    buf_text(o, json);
}

static void put_text(struct buf *o, const char *name, const char *text)
{
    put(o, "'%s':", name);
    json_quote(o, str_of(text));
}

/* ---- Arguments ---- */

static void put_words(struct buf *o, const char *list)
{
    struct str rest = str_of(list);

    put(o, "'enum':[");
    if (strcmp(list, "no|yes") == 0)
        put(o, "true,false");
    while (rest.len) {
        struct str word = str_cut(&rest, '|');

        put(o, "'%.*s'", STR_ARG(word));
    }
    put(o, "]");
}

/* The type of one value, within an open object. */
static void put_value(struct buf *o, const struct arg *a)
{
    static const char *const values[] = {
        [ARG_NAME] = STRING ",'pattern':'^" NAME_CHARS "$'",
        [ARG_TENANT] = STRING ",'pattern':'^(" NAME_CHARS "|[*])$'",
        [ARG_NAMES] = FILLED,
        [ARG_META] = MAPPING "{" STRING "},'propertyNames':{'pattern':'^" NAME_CHARS
                             "$'},'maxProperties':" STRINGIFY(METAS_MAX),
        [ARG_ITEMS] = "'type':'array','minItems':1,'maxItems':1000,'items':{" REF("Item") "}",
        [ARG_RATE] = NUMERIC ",'pattern':'^[0-9]+(/.+)?$','minimum':0,'maximum':0",
        [ARG_PAYLOAD] = ANY,
        [ARG_BYTES] = STRING,
        [ARG_KEY] = FILLED ",'maxLength':" STRINGIFY(KEY_MAX_BYTES),
        [ARG_ID] = STRING ",'pattern':'^[0-9A-Za-z]{26}$'",
        [ARG_TOKEN] = NUMERIC ",'pattern':'^[0-9]{1,20}$','minimum':0",
        [ARG_DURATION] = NUMERIC,
        [ARG_MOMENT] = NUMERIC,
        [ARG_INT] = "'type':'integer'",
        [ARG_BACKOFF] = FILLED ",'maxLength':" STRINGIFY(BACKOFF_MAX_BYTES),
        [ARG_CURSOR] = STRING,
    };

    if (a->type == ARG_WORD)
        put_words(o, a->words);
    else
        put(o, "%s", http_arg_is_json(a) ? ANY : values[a->type]);
    if (a->type == ARG_DURATION || a->type == ARG_MOMENT || a->type == ARG_INT)
        put(o, "'minimum':%lld", (long long)a->min);
    if (a->max)
        put(o, "'%s':%lld", a->type == ARG_BYTES ? "maxLength" : "maximum", (long long)a->max);
}

/* An argument as a property: one value, or several where that is allowed. */
static void put_argument(struct buf *o, const struct arg *a)
{
    struct arg one = *a;

    put(o, "'%s':{", a->name);
    if (a->type == ARG_NAMES || (a->many && a->type != ARG_META)) {
        one.type = a->type == ARG_NAMES ? ARG_NAME : a->type;
        put(o, "'anyOf':[{");
        put_value(o, a);
        put(o, "},{'type':'array','items':{");
        put_value(o, &one);
        put(o, "}}]");
    } else {
        put_value(o, a);
    }
    put_text(o, "description", a->help);
    put(o, "}");
    if (http_arg_is_bytes(a))
        put(o,
            "'%s_base64':{%s" STRING
            ",'contentEncoding':'base64'%s,'description':'the same as bytes'}",
            a->name, a->type == ARG_META ? MAPPING "{" : "", a->type == ARG_META ? "}" : "");
}

/* The arguments that a body must have; bytes come in one of two forms. */
static void put_required_arguments(struct buf *o, const struct verb *v, const struct http_route *r,
                                   bool bytes)
{
    for (const struct arg *a = v->args; a->type != ARG_END; a++) {
        if (!a->positional || a->optional || (r && !http_takes(r, a)) ||
            http_arg_is_bytes(a) != bytes)
            continue;
        if (bytes)
            put(o, "'oneOf':[{'required':['%s']},{'required':['%s_base64']}]", a->name, a->name);
        else
            put(o, "'%s'", a->name);
    }
}

/* An object of the arguments that a route takes; r NULL: of all. */
static void put_body(struct buf *o, const struct verb *v, const struct http_route *r)
{
    put(o, "{'type':'object','additionalProperties':false,'properties':{");
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        if (!r || http_takes(r, a))
            put_argument(o, a);
    put(o, "},'required':[");
    put_required_arguments(o, v, r, false);
    put(o, "]");
    put_required_arguments(o, v, r, true);
    put(o, "}");
}

static void put_parameter(struct buf *o, const struct arg *a, const char *in)
{
    put(o, "{'name':'%s','in':'%s','required':%s", a->name, in, in[0] == 'p' ? "true" : "false");
    put_text(o, "description", a->help);
    put(o, "'schema':{");
    put_value(o, a);
    put(o, "}}");
}

static void put_parameters(struct buf *o, const struct verb *v, const struct http_route *r)
{
    static const struct arg key = { "Idempotency-Key", ARG_KEY,
                                    .help = "stands for key, with ifexists keep" };
    static const struct arg last_id = {
        "Last-Event-ID", ARG_BYTES, .help = "stands for after: browsers send it when they reconnect"
    };

    put(o, "'parameters':[");
    for (const struct arg *a = v->args; a->type != ARG_END; a++) {
        if (http_in_path(r, a))
            put_parameter(o, a, "path");
        else if (http_takes(r, a) && (!http_has_body(r) || a->type == ARG_TENANT))
            put_parameter(o, a, "query");
    }
    if (strcmp(v->name, "SCHEDULE") == 0)
        put_parameter(o, &key, "header");
    if (r->page == HTTP_EVENTS)
        put_parameter(o, &last_id, "header");
    put(o, "]");
}

/* ---- Answers ---- */

static const struct shape_field health_fields[] = {
    SHOW_OWN("status", SHAPE_TEXT, NULL),
    { 0 },
};

/* See http_problem. */
static const struct shape_field problem_fields[] = {
    SHOW_OWN("type", SHAPE_TEXT, NULL),   SHOW_OWN("title", SHAPE_TEXT, NULL),
    SHOW_OWN("status", SHAPE_INT, NULL),  SHOW_OWN("code", SHAPE_TEXT, NULL),
    SHOW_OWN("detail", SHAPE_TEXT, NULL), { 0 },
};

static const struct shape more[] = {
    { "Event", event_fields },
    { "Health", health_fields },
    { "Problem", problem_fields },
};

const struct shape *openapi_shape(size_t i)
{
    for (const struct shape *s = shapes; s->name; s++)
        if (i-- == 0)
            return s;
    return i < sizeof(more) / sizeof(more[0]) ? &more[i] : NULL;
}

static void put_property(struct buf *o, const struct shape_field *f)
{
    static const char *const types[] = {
        [SHAPE_INT] = "integer",    [SHAPE_MOMENT] = "integer", [SHAPE_DURATION] = "integer",
        [SHAPE_MICROS] = "integer", [SHAPE_SIZE] = "integer",   [SHAPE_BOOL] = "boolean",
        [SHAPE_TEXT] = "string",    [SHAPE_BYTES] = "string",
    };

    put(o, "'%.*s':{", STR_ARG(f->name));
    if (f->type == SHAPE_LIST)
        put(o, LIST_OF(STRING));
    else if (f->type == SHAPE_DICT)
        put(o, MAPPING "{" STRING "}");
    else if (f->type == SHAPE_MAPS)
        put(o, LIST_OF(REF("%s")), f->shape);
    else
        put(o, f->maybe ? "'type':['%s','null']" : "'type':'%s'", types[f->type]);
    put(o, "}");
    if (f->type == SHAPE_BYTES)
        put(o,
            "'%.*s_base64':{" STRING ",'contentEncoding':'base64',"
            "'description':'in its place if it is no UTF-8'}",
            STR_ARG(f->name));
}

static void put_required_field(struct buf *o, const struct shape_field *f)
{
    if (f->type != SHAPE_BYTES)
        put(o, "'%.*s'", STR_ARG(f->name));
}

static void each_field(struct buf *o, const struct shape_field *fields,
                       void (*fn)(struct buf *o, const struct shape_field *f))
{
    for (const struct shape_field *f = fields; f->type != SHAPE_END; f++) {
        if (f->type == SHAPE_PART)
            each_field(o, f->part, fn);
        else if (f->name.len)
            fn(o, f);
    }
}

static void put_shape(struct buf *o, const struct shape *s)
{
    put(o, "'%s':{'type':'object','properties':{", s->name);
    each_field(o, s->fields, put_property);
    put(o, "},'required':[");
    each_field(o, s->fields, put_required_field);
    put(o, "]}");
}

/* The field of an answer that is no map. */
static void put_result(struct buf *o, const struct http_route *r)
{
    if (r->item)
        put(o,
            "{'type':'array','items':{'oneOf':[{'type':'object','properties':{'%s':{" STRING "}},"
            "'required':['%s']},{'type':'object','properties':{'error':{" REF(
                "Problem") "}},"
                           "'required':['error']}]}}",
            r->item, r->item);
    else if (r->shape)
        put(o, "{" LIST_OF(REF("%s")) "}", r->shape);
    else
        put(o, "{" NUMERIC "}");
}

/* r NULL: an error. */
static void put_answer(struct buf *o, const struct http_route *r)
{
    if (r && r->result) {
        put(o, "{'type':'object','required':['%s'],'properties':{'%s':", r->result, r->result);
        put_result(o, r);
        put(o, "}}");
    } else if (r && !r->shape) {
        put(o, "{'type':'object'}");
    } else {
        put(o, "{" REF("%s") "}", r ? r->shape : "Problem");
    }
}

static void put_response(struct buf *o, const char *status, const char *text, const char *type,
                         const struct http_route *r)
{
    put(o, "'%s':{", status);
    put_text(o, "description", text);
    if (type) {
        put(o, "'content':{'%s':{'schema':", type);
        put_answer(o, r);
        put(o, "}}");
    }
    put(o, "}");
}

static void put_responses(struct buf *o, const struct http_route *r, const struct verb *v)
{
    const char *type = r->page == HTTP_EVENTS ? "text/event-stream" : "application/json";
    char status[16];

    snprintf(status, sizeof(status), "%d", r->status);
    put(o, "'responses':{");
    if (r->page == HTTP_DOCS || r->page == HTTP_METRICS)
        put_response(o, status, "a page", NULL, NULL);
    else
        put_response(o, status, r->verb ? v->returns : "as it says", r->status == 204 ? NULL : type,
                     r);
    if (r->item)
        put_response(o, "200", "some were refused: an error stands in the place of each", type, r);
    put_response(o, "default", "an error, and nothing changed", "application/problem+json", NULL);
    put(o, "}");
}

/* ---- Operations ---- */

/* "V1JobsIdComplete" */
static void path_name(const char *path, char ret[64])
{
    bool up = true;

    for (const char *p = path; *p; p++) {
        if (isalnum((unsigned char)*p))
            *ret++ = (char)(up ? toupper((unsigned char)*p) : *p);
        up = !isalnum((unsigned char)*p);
    }
    *ret = '\0';
}

static void put_roles(struct buf *o, const struct verb *v)
{
    put(o, "'x-roles':[");
    for (enum role r = ROLE_NONE + 1; r < ROLE_END; r++)
        if (verb_allows(v, r))
            put(o, "'%s'", role_name(r));
    put(o, "]");
}

static void put_operation(struct buf *o, const struct http_route *r)
{
    const struct verb *v = http_route_verb(r);
    char method[8] = "", tag[32] = "server", name[64];

    for (size_t i = 0; http_method_name(r->method)[i]; i++)
        method[i] = (char)tolower((unsigned char)http_method_name(r->method)[i]);
    if (v)
        sscanf(r->path, "/v1/%31[a-z]", tag);
    path_name(r->path, name);
    put(o, "'%s':{'operationId':'%s%s','tags':['%s']", method, method, name, tag);
    put_text(o, "summary", r->summary ? r->summary : v->summary);
    if (r->open)
        put(o, "'security':[]");
    if (r->verb)
        put(o, "'x-verb':'%s'", v->name);
    if (v) {
        put_roles(o, v);
        put_parameters(o, v, r);
    }
    if (v && http_has_body(r)) {
        put(o, "'requestBody':{'content':{'application/json':{'schema':");
        put_body(o, v, r);
        put(o, "}}}");
    }
    put_responses(o, r, v);
    put(o, "}");
}

/* The first row of a path stands for all rows of this path. */
static bool is_first(const struct http_route *r)
{
    for (const struct http_route *p = http_routes; p != r; p++)
        if (strcmp(p->path, r->path) == 0)
            return false;
    return true;
}

static void put_path(struct buf *o, const struct http_route *first)
{
    put(o, "'%s':{", first->path);
    for (const struct http_route *r = first; r->path; r++)
        if (strcmp(r->path, first->path) == 0)
            put_operation(o, r);
    put(o, "}");
}

void openapi_write(struct buf *out)
{
    put(out, "{'openapi':'3.1.0','info':{'title':'Belfry','version':'" BELFRY_VERSION "',"
             "'description':'Runs jobs at their time. The verbs of RESP over HTTP: the same names, "
             "checks and results.'},'paths':{");
    for (const struct http_route *r = http_routes; r->path; r++)
        if (is_first(r))
            put_path(out, r);
    put(out, "},'security':[{},{'token':[]}],'components':{'securitySchemes':{'token':{"
             "'type':'http','scheme':'bearer','description':'name.secret, as TOKENCREATE answered "
             "it; needed as soon as there is a token'}},'schemas':{'Item':");
    put_body(out, verb_find(verb_table, STR("SCHEDULE")), NULL);
    for (size_t i = 0; openapi_shape(i); i++)
        put_shape(out, openapi_shape(i));
    put(out, "}}}");
}

/* ---- The page ---- */

#define NONCE "NONCE"

/* The bytes of docs.html, from CMake. */
static const unsigned char docs_html[] = {
#include <docs_html.inc>
};

void openapi_page(struct buf *out, const char *nonce)
{
    struct str rest = { (const char *)docs_html, sizeof(docs_html) };
    const char *found;

    while ((found = memmem(rest.ptr, rest.len, NONCE, strlen(NONCE)))) {
        size_t before = (size_t)(found - rest.ptr), used = before + strlen(NONCE);

        buf_append(out, rest.ptr, before);
        buf_text(out, nonce);
        rest = (struct str){ rest.ptr + used, rest.len - used };
    }
    buf_str(out, rest);
}
