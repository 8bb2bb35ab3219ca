/* SPDX-License-Identifier: MIT */
#include "front/openapi.h"

#include <ctype.h>
#include <stdio.h>

#include "engine/types.h"
#include "front/http_route.h"
#include "front/http_shape.h"
#include "front/json.h"

#define NAME_CHARS "[A-Za-z0-9._:/-]{1,128}"

/* ---- Writing: what stands before decides whether a comma does ---- */

static void sep(struct buf *o)
{
    char last = o->len ? o->ptr[o->len - 1] : '{';

    if (last != '{' && last != '[' && last != ':')
        buf_text(o, ",");
}

static void open(struct buf *o, char c)
{
    sep(o);
    buf_append(o, &c, 1);
}

static void close(struct buf *o, char c)
{
    buf_append(o, &c, 1);
}

static void key(struct buf *o, const char *name)
{
    sep(o);
    json_quote(o, str_of(name));
    buf_text(o, ":");
}

static void string(struct buf *o, const char *text)
{
    sep(o);
    json_quote(o, str_of(text));
}

static void field(struct buf *o, const char *name, const char *text)
{
    key(o, name);
    string(o, text);
}

static void number(struct buf *o, const char *name, int64_t v)
{
    key(o, name);
    buf_int(o, v);
}

static void flag(struct buf *o, const char *name, bool v)
{
    key(o, name);
    buf_text(o, v ? "true" : "false");
}

static void object(struct buf *o, const char *name)
{
    key(o, name);
    open(o, '{');
}

static void ref(struct buf *o, struct str shape)
{
    buf_text(o, "\"$ref\":\"#/components/schemas/");
    buf_str(o, shape);
    buf_text(o, "\"");
}

/* ---- Arguments ---- */

static void words(struct buf *o, const char *list)
{
    bool yes_no = strcmp(list, "no|yes") == 0;

    key(o, "enum");
    open(o, '[');
    if (yes_no)
        buf_text(o, "true,false");
    while (*list) {
        size_t len = strcspn(list, "|");

        sep(o);
        json_quote(o, (struct str){ list, len });
        list += len + (list[len] == '|');
    }
    close(o, ']');
}

static void string_or_number(struct buf *o, const struct arg *a)
{
    buf_text(o, "\"type\":[\"string\",\"integer\"]");
    number(o, "minimum", a->min);
    if (a->max)
        number(o, "maximum", a->max);
}

/* What one value is, within an object that is open. */
static void value_schema(struct buf *o, const struct arg *a)
{
    sep(o);
    switch (a->type) {
    case ARG_NAME: buf_text(o, "\"type\":\"string\",\"pattern\":\"^" NAME_CHARS "$\""); break;
    case ARG_TENANT:
        buf_text(o, "\"type\":\"string\",\"pattern\":\"^(" NAME_CHARS "|[*])$\"");
        break;
    case ARG_NAMES: buf_text(o, "\"type\":\"string\",\"minLength\":1"); break;
    case ARG_META:
        buf_text(o, "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"},"
                    "\"propertyNames\":{\"pattern\":\"^" NAME_CHARS "$\"}");
        number(o, "maxProperties", METAS_MAX);
        break;
    case ARG_ITEMS:
        buf_text(o, "\"type\":\"array\",\"minItems\":1,\"maxItems\":1000,\"items\":{");
        ref(o, STR("Item"));
        buf_text(o, "}");
        break;
    case ARG_RATE:
        buf_text(o, "\"type\":[\"string\",\"integer\"],\"pattern\":\"^[0-9]+(/.+)?$\","
                    "\"minimum\":0,\"maximum\":0");
        break;
    case ARG_PAYLOAD: buf_text(o, "\"title\":\"any value\""); break;
    case ARG_BYTES:
        buf_text(o, http_arg_is_json(a) ? "\"title\":\"any value\"" : "\"type\":\"string\"");
        if (a->max)
            number(o, "maxLength", a->max);
        break;
    case ARG_KEY:
        buf_text(o, "\"type\":\"string\",\"minLength\":1");
        number(o, "maxLength", KEY_MAX_BYTES);
        break;
    case ARG_ID: buf_text(o, "\"type\":\"string\",\"pattern\":\"^[0-9A-Za-z]{26}$\""); break;
    case ARG_TOKEN:
        buf_text(o, "\"type\":[\"string\",\"integer\"],\"pattern\":\"^[0-9]{1,20}$\","
                    "\"minimum\":0");
        break;
    case ARG_DURATION:
    case ARG_MOMENT: string_or_number(o, a); break;
    case ARG_INT:
        buf_text(o, "\"type\":\"integer\"");
        number(o, "minimum", a->min);
        number(o, "maximum", a->max);
        break;
    case ARG_WORD: words(o, a->words); break;
    case ARG_BACKOFF:
        buf_text(o, "\"type\":\"string\",\"minLength\":1");
        number(o, "maxLength", BACKOFF_MAX_BYTES);
        break;
    case ARG_CURSOR: buf_text(o, "\"type\":\"string\""); break;
    case ARG_END: break;
    }
}

/* The same, with what may be several. */
static void arg_schema(struct buf *o, const struct arg *a)
{
    bool several = a->many && a->type != ARG_META;

    open(o, '{');
    if (several || a->type == ARG_NAMES) {
        struct arg one = *a;

        one.type = a->type == ARG_NAMES ? ARG_NAME : a->type;
        buf_text(o, "\"anyOf\":[{");
        value_schema(o, a);
        buf_text(o, "},{\"type\":\"array\",\"items\":{");
        value_schema(o, &one);
        buf_text(o, "}}]");
    } else {
        value_schema(o, a);
    }
    field(o, "description", a->help);
    close(o, '}');
}

static void base64_property(struct buf *o, const struct arg *a)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_base64", a->name);
    object(o, name);
    if (a->type == ARG_META)
        buf_text(o, "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\","
                    "\"contentEncoding\":\"base64\"}");
    else
        buf_text(o, "\"type\":\"string\",\"contentEncoding\":\"base64\"");
    field(o, "description", "the same as bytes");
    close(o, '}');
}

/* Whether a body must have it. */
static bool is_required(const struct arg *a)
{
    return a->positional && !a->optional;
}

static void required(struct buf *o, const struct verb *v, const struct http_route *r)
{
    const struct arg *a;

    key(o, "required");
    open(o, '[');
    for (a = v->args; a->type != ARG_END; a++)
        if (is_required(a) && !http_arg_is_bytes(a) && (!r || http_takes(r, a)))
            string(o, a->name);
    close(o, ']');
    for (a = v->args; a->type != ARG_END; a++)
        if (is_required(a) && http_arg_is_bytes(a) && (!r || http_takes(r, a))) {
            key(o, "oneOf");
            buf_printf(o, "[{\"required\":[\"%s\"]},{\"required\":[\"%s_base64\"]}]", a->name,
                       a->name);
        }
}

/* An object of a verb's arguments; r NULL: of all. */
static void body_schema(struct buf *o, const struct verb *v, const struct http_route *r)
{
    open(o, '{');
    field(o, "type", "object");
    flag(o, "additionalProperties", false);
    object(o, "properties");
    for (const struct arg *a = v->args; a->type != ARG_END; a++) {
        if (r && !http_takes(r, a))
            continue;
        key(o, a->name);
        arg_schema(o, a);
        if (http_arg_is_bytes(a))
            base64_property(o, a);
    }
    close(o, '}');
    required(o, v, r);
    close(o, '}');
}

static void parameter(struct buf *o, const struct arg *a, const char *in)
{
    open(o, '{');
    field(o, "name", a->name);
    field(o, "in", in);
    flag(o, "required", in[0] == 'p');
    field(o, "description", a->help);
    object(o, "schema");
    value_schema(o, a);
    close(o, '}');
    close(o, '}');
}

static void parameters(struct buf *o, const struct verb *v, const struct http_route *r)
{
    key(o, "parameters");
    open(o, '[');
    for (const struct arg *a = v->args; a->type != ARG_END; a++) {
        if (http_in_path(r, a))
            parameter(o, a, "path");
        else if (http_takes(r, a) && (!http_has_body(r) || a->type == ARG_TENANT))
            parameter(o, a, "query");
    }
    if (strcmp(v->name, "SCHEDULE") == 0)
        parameter(o,
                  &(struct arg){ .name = "Idempotency-Key",
                                 .type = ARG_KEY,
                                 .help = "stands for key, with ifexists keep" },
                  "header");
    if (r->page == HTTP_EVENTS)
        parameter(o,
                  &(struct arg){ .name = "Last-Event-ID",
                                 .type = ARG_BYTES,
                                 .help = "stands for after: browsers send it when they reconnect" },
                  "header");
    close(o, ']');
}

/* ---- Answers ---- */

static void type_schema(struct buf *o, const struct shape_field *f)
{
    const char *name = "string";

    open(o, '{');
    switch (f->type) {
    case SHAPE_LIST: buf_text(o, "\"type\":\"array\",\"items\":{\"type\":\"string\"}"); break;
    case SHAPE_DICT:
        buf_text(o, "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}");
        break;
    case SHAPE_MAPS:
        buf_text(o, "\"type\":\"array\",\"items\":{");
        ref(o, str_of(f->shape));
        buf_text(o, "}");
        break;
    case SHAPE_INT:
    case SHAPE_MOMENT:
    case SHAPE_BOOL:
        name = f->type == SHAPE_BOOL ? "boolean" : "integer";
        /* fall through */
    default: buf_printf(o, f->maybe ? "\"type\":[\"%s\",\"null\"]" : "\"type\":\"%s\"", name);
    }
    close(o, '}');
}

static void put_property(struct buf *o, const struct shape_field *f)
{
    sep(o);
    json_quote(o, f->name);
    buf_text(o, ":");
    type_schema(o, f);
    if (f->type == SHAPE_BYTES)
        buf_printf(o,
                   ",\"%.*s_base64\":{\"type\":\"string\",\"contentEncoding\":\"base64\","
                   "\"description\":\"in its place if it is no UTF-8\"}",
                   STR_ARG(f->name));
}

static void put_required(struct buf *o, const struct shape_field *f)
{
    if (f->type == SHAPE_BYTES)
        return;
    sep(o);
    json_quote(o, f->name);
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

static void shape_schema(struct buf *o, const struct shape *s)
{
    key(o, s->name);
    open(o, '{');
    field(o, "type", "object");
    object(o, "properties");
    each_field(o, s->fields, put_property);
    close(o, '}');
    key(o, "required");
    open(o, '[');
    each_field(o, s->fields, put_required);
    close(o, ']');
    close(o, '}');
}

/* What stands in the answer's field for what is no map. */
static void result_schema(struct buf *o, const struct http_route *r)
{
    if (r->item) {
        buf_printf(
            o,
            "{\"type\":\"array\",\"items\":{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"%s\":"
            "{\"type\":\"string\"}},\"required\":[\"%s\"]},{\"type\":\"object\",\"properties\":"
            "{\"error\":{",
            r->item, r->item);
        ref(o, STR("Problem"));
        buf_text(o, "}},\"required\":[\"error\"]}]}}");
    } else if (r->shape) {
        buf_text(o, "{\"type\":\"array\",\"items\":{");
        ref(o, str_of(r->shape));
        buf_text(o, "}}");
    } else {
        buf_text(o, "{\"type\":[\"string\",\"integer\"]}");
    }
}

static void answer_schema(struct buf *o, const struct http_route *r)
{
    open(o, '{');
    if (r->result) {
        buf_printf(o,
                   "\"type\":\"object\",\"required\":[\"%s\"],\"properties\":{\"%s\":", r->result,
                   r->result);
        result_schema(o, r);
        buf_text(o, "}");
    } else if (r->shape) {
        ref(o, str_of(r->shape));
    } else {
        buf_text(o, "\"type\":\"object\"");
    }
    close(o, '}');
}

static void response(struct buf *o, const char *status, const char *text, const char *type,
                     const struct http_route *r)
{
    object(o, status);
    field(o, "description", text);
    if (type) {
        object(o, "content");
        object(o, type);
        key(o, "schema");
        if (r) {
            answer_schema(o, r);
        } else {
            open(o, '{');
            ref(o, STR("Problem"));
            close(o, '}');
        }
        close(o, '}');
        close(o, '}');
    }
    close(o, '}');
}

static void responses(struct buf *o, const struct http_route *r, const struct verb *v)
{
    char status[16];

    snprintf(status, sizeof(status), "%d", r->status);
    object(o, "responses");
    if (r->page == HTTP_DOCS || r->page == HTTP_METRICS)
        response(o, status, "a page", NULL, NULL);
    else
        response(o, status, r->verb ? v->returns : "as it says",
                 r->status == 204         ? NULL
                 : r->page == HTTP_EVENTS ? "text/event-stream"
                                          : "application/json",
                 r);
    if (r->item)
        response(o, "200", "some were refused: an error stands in the place of each",
                 "application/json", r);
    response(o, "default", "an error, and nothing changed", "application/problem+json", NULL);
    close(o, '}');
}

/* ---- Operations ---- */

/* "postV1JobsIdComplete" */
static void operation_id(struct buf *o, const struct http_route *r)
{
    bool up = true;

    key(o, "operationId");
    buf_text(o, "\"");
    for (const char *p = http_method_name(r->method); *p; p++)
        buf_append(o, &(char){ (char)tolower((unsigned char)*p) }, 1);
    for (const char *p = r->path; *p; p++) {
        if (isalnum((unsigned char)*p))
            buf_append(o, &(char){ (char)(up ? toupper((unsigned char)*p) : *p) }, 1);
        up = !isalnum((unsigned char)*p);
    }
    buf_text(o, "\"");
}

/* Who may ask it. */
static void roles(struct buf *o, const struct verb *v)
{
    key(o, "x-roles");
    open(o, '[');
    for (enum role r = ROLE_NONE + 1; r < ROLE_END; r++)
        if (verb_allows(v, r))
            string(o, role_name(r));
    close(o, ']');
}

static void operation(struct buf *o, const struct http_route *r)
{
    const struct verb *v = http_route_verb(r);
    char method[8] = "", tag[32] = "server";

    for (size_t i = 0; http_method_name(r->method)[i]; i++)
        method[i] = (char)tolower((unsigned char)http_method_name(r->method)[i]);
    if (v)
        sscanf(r->path, "/v1/%31[a-z]", tag);
    object(o, method);
    operation_id(o, r);
    key(o, "tags");
    open(o, '[');
    string(o, tag);
    close(o, ']');
    field(o, "summary", r->summary ? r->summary : v->summary);
    if (http_is_open(r))
        buf_text(o, ",\"security\":[]");
    if (r->verb)
        field(o, "x-verb", v->name);
    if (v) {
        roles(o, v);
        parameters(o, v, r);
    }
    if (v && http_has_body(r)) {
        object(o, "requestBody");
        object(o, "content");
        object(o, "application/json");
        key(o, "schema");
        body_schema(o, v, r);
        buf_text(o, "}}}");
    }
    responses(o, r, v);
    close(o, '}');
}

/* The first row of each path has those of the others, too. */
static bool is_first(const struct http_route *r)
{
    for (const struct http_route *p = http_routes; p != r; p++)
        if (strcmp(p->path, r->path) == 0)
            return false;
    return true;
}

static void path(struct buf *o, const struct http_route *first)
{
    object(o, first->path);
    for (const struct http_route *r = first; r->path; r++)
        if (strcmp(r->path, first->path) == 0)
            operation(o, r);
    close(o, '}');
}

void openapi_write(struct buf *out)
{
    open(out, '{');
    field(out, "openapi", "3.1.0");
    object(out, "info");
    field(out, "title", "Belfry");
    field(out, "version", BELFRY_VERSION);
    field(out, "description",
          "Runs jobs at their time. The verbs of RESP over HTTP: the same names, checks and "
          "results.");
    buf_text(out, "}");
    object(out, "paths");
    for (const struct http_route *r = http_routes; r->path; r++)
        if (is_first(r))
            path(out, r);
    close(out, '}');
    buf_text(out, ",\"security\":[{},{\"token\":[]}]");
    object(out, "components");
    buf_text(out,
             "\"securitySchemes\":{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\","
             "\"description\":\"name.secret, as TOKENCREATE answered it; needed as soon as there "
             "is a token\"}}");
    object(out, "schemas");
    key(out, "Item");
    body_schema(out, verb_find(verb_table, STR("SCHEDULE")), NULL);
    for (size_t i = 0; http_shape(i); i++)
        shape_schema(out, http_shape(i));
    buf_text(out, "}}}");
}
