/* SPDX-License-Identifier: MIT */
#include "front/openapi.h"

#include <ctype.h>
#include <stdio.h>

#include "base/time.h"
#include "engine/types.h"
#include "front/event_stream.h"
#include "front/http_route.h"
#include "front/http_status.h"
#include "front/json.h"
#include "front/login.h"
#include "front/openapi_doc.h"

#define QUOTE(x)     #x
#define STRINGIFY(x) QUOTE(x)

#define NAME_CHARS   "[A-Za-z0-9._:/-]{1,128}"
#define STRING       "'type':'string'"
#define FILLED       STRING ",'minLength':1"
#define MAPPING      "'type':'object','additionalProperties':"
#define ANY          "'description':'any JSON value'"
#define NUMERIC      "'type':['string','integer']"
#define REF(shape)   "'$ref':'#/components/schemas/" shape "'"
#define LIST_OF(one) "'type':'array','items':{" one "}"

/* ---- Arguments ---- */

/* The type of one value, within an open object. */
static void put_value(struct buf *o, const struct arg *a)
{
    static const char *const values[] = {
        [ARG_NAME] = STRING ",'pattern':'^" NAME_CHARS "$'",
        [ARG_TENANT] = STRING ",'pattern':'^(" NAME_CHARS "|[*])$'",
        [ARG_NAMES] = FILLED,
        [ARG_META] = MAPPING "{" STRING "},'propertyNames':{'pattern':'^" NAME_CHARS
                             "$'},'maxProperties':" STRINGIFY(METAS_MAX),
        [ARG_ITEMS] =
            "'type':'array','minItems':1,'maxItems':1000,'items':{" REF("ScheduleJobRequest") "}",
        [ARG_RATE] = NUMERIC ",'pattern':'^[0-9]+(/.+)?$','minimum':0,'maximum':0",
        [ARG_PAYLOAD] = "",
        [ARG_BYTES] = STRING,
        [ARG_KEY] = FILLED ",'maxLength':" STRINGIFY(KEY_MAX_BYTES),
        [ARG_ID] = STRING ",'pattern':'^[0-9A-Za-z]{26}$'",
        [ARG_TOKEN] = NUMERIC ",'pattern':'^[0-9]{1,20}$','minimum':0",
        [ARG_DURATION] = REF("Duration"),
        [ARG_MOMENT] = REF("Moment"),
        [ARG_INT] = "'type':'integer'",
        [ARG_BACKOFF] = FILLED ",'maxLength':" STRINGIFY(BACKOFF_MAX_BYTES),
        [ARG_CURSOR] = STRING,
    };

    if (a->type == ARG_WORD && strcmp(a->words, "no|yes") == 0)
        doc_put(o, "'type':'boolean'");
    else if (a->type == ARG_WORD)
        doc_put(o, STRING), doc_words(o, a->words);
    else if (!http_arg_is_json(a))
        doc_put(o, "%s", values[a->type]);
    if (a->type == ARG_INT)
        doc_put(o, "'minimum':%lld", (long long)a->min);
    if (a->max && (a->type == ARG_INT || a->type == ARG_BYTES) && !http_arg_is_json(a))
        doc_put(o, "'%s':%lld", a->type == ARG_BYTES ? "maxLength" : "maximum", (long long)a->max);
}

/* The limits of a duration, behind its help; empty: any duration is taken. */
static void limits_of(const struct arg *a, char ret[2 * TIME_TEXT + 16])
{
    char low[TIME_TEXT], high[TIME_TEXT];

    ret[0] = '\0';
    if (a->type != ARG_DURATION || (a->min <= 1 && a->max >= TIME_DURATION_MAX))
        return;
    low[time_format_duration(a->min, low)] = '\0';
    high[time_format_duration(a->max, high)] = '\0';
    if (a->max >= TIME_DURATION_MAX)
        sprintf(ret, "; at least %s", low);
    else
        sprintf(ret, "; %s to %s", low, high);
}

/* An argument as a property: one value, or several where that is allowed. */
static void put_argument(struct buf *o, const struct arg *a, const struct verb *v)
{
    char limits[2 * TIME_TEXT + 16];
    struct arg one = *a;

    limits_of(a, limits);
    doc_put(o, "'%s':{", a->name);
    if (a->type == ARG_NAMES || (a->many && a->type != ARG_META)) {
        one.type = a->type == ARG_NAMES ? ARG_NAME : a->type;
        doc_put(o, "'anyOf':[{");
        put_value(o, a);
        doc_put(o, "},{'type':'array','items':{");
        put_value(o, &one);
        doc_put(o, "}}]");
    } else {
        put_value(o, a);
    }
    doc_help(o, "description", a->help, limits, v);
    doc_put(o, "}");
    if (http_arg_is_bytes(a))
        doc_put(o,
                "'%s_base64':{%s" STRING
                ",'contentEncoding':'base64'%s,'description':'the same as bytes'}",
                a->name, a->type == ARG_META ? MAPPING "{" : "", a->type == ARG_META ? "}" : "");
}

static bool is_required(const struct arg *a, const struct http_route *r)
{
    return a->positional && !a->optional && http_takes(r, a);
}

/* Bytes come in one of two forms. */
static void put_either(struct buf *o, const struct arg *a)
{
    doc_put(o,
            "'oneOf':[{'type':'object','properties':{'%s':{" ANY "}},'required':['%s']},"
            "{'type':'object','properties':{'%s_base64':{" STRING "}},'required':['%s_base64']}]",
            a->name, a->name, a->name, a->name);
}

/* An object of the arguments that a route takes; r NULL: of an item. */
static void put_body(struct buf *o, const struct verb *v, const struct http_route *r)
{
    doc_put(o, "{'type':'object','additionalProperties':false,'properties':{");
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        if (http_takes(r, a))
            put_argument(o, a, v);
    if (r->forms)
        put_argument(o, &http_form, v);
    doc_put(o, "},'required':[");
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        if (is_required(a, r) && !http_arg_is_bytes(a))
            doc_put(o, "'%s'", a->name);
    doc_put(o, "]");
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        if (is_required(a, r) && http_arg_is_bytes(a))
            put_either(o, a);
    doc_put(o, "}");
}

/* Whether a body must be there: an argument in it is not optional. */
static bool needs_body(const struct verb *v, const struct http_route *r)
{
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        if (is_required(a, r))
            return true;
    return false;
}

static void put_parameter(struct buf *o, const struct arg *a, const char *in, const struct verb *v)
{
    char limits[2 * TIME_TEXT + 16];

    limits_of(a, limits);
    doc_put(o, "{'name':'%s','in':'%s','required':%s", a->name, in,
            in[0] == 'p' ? "true" : "false");
    doc_help(o, "description", a->help, limits, v);
    doc_put(o, "'schema':{");
    put_value(o, a);
    doc_put(o, "}}");
}

static void put_parameters(struct buf *o, const struct verb *v, const struct http_route *r)
{
    static const struct arg key = { "Idempotency-Key", ARG_KEY,
                                    .help = "stands for key with ifexists keep; the key stays "
                                            "taken for a day after the job's end" };
    static const struct arg trace = { "traceparent", ARG_BYTES,
                                      .help = "W3C trace that the job goes on in; kept in meta" };
    static const struct arg prefer = { "Prefer", ARG_BYTES,
                                       .help = "`wait=10` stands for WAIT of as many seconds" };
    static const struct arg last_id = {
        "Last-Event-ID", ARG_BYTES, .help = "stands for after: browsers send it when they reconnect"
    };

    doc_put(o, "'parameters':[");
    for (const struct arg *a = v->args; a->type != ARG_END; a++) {
        if (http_in_path(r, a))
            put_parameter(o, a, "path", v);
        else if (http_takes(r, a) && (!http_has_body(r) || a->type == ARG_TENANT))
            put_parameter(o, a, "query", v);
    }
    if (r->forms && !http_has_body(r))
        put_parameter(o, &http_form, "query", v);
    if (strcmp(v->name, "SCHEDULE") == 0)
        put_parameter(o, &key, "header", v);
    if (strcmp(v->name, "SCHEDULE") == 0 || strcmp(v->name, "BATCH") == 0)
        put_parameter(o, &trace, "header", v);
    if (r->waits)
        put_parameter(o, &prefer, "header", v);
    if (r->page == HTTP_EVENTS)
        put_parameter(o, &last_id, "header", v);
    doc_put(o, "]");
}

/* ---- Answers ---- */

static const struct shape_field health_fields[] = {
    SHOW_OWN("status", SHAPE_TEXT, NULL),
    { 0 },
};

#define CODE(name, number, status, detail, text, hint) #name "|"
#define CODES                                          BELFRY_ERRORS(CODE)

/* See http_problem. */
static const struct shape_field problem_fields[] = {
    SHOW_OWN("type", SHAPE_TEXT, NULL),
    SHOW_OWN("title", SHAPE_TEXT, NULL),
    SHOW_OWN("status", SHAPE_INT, NULL),
    SHOW_OWN("code", SHAPE_TEXT, NULL, .values = CODES),
    SHOW_OWN("detail", SHAPE_TEXT, NULL),
    SHOW_OWN("id", SHAPE_TEXT, NULL, OR_NULL),
    { 0 },
};

/* Whether a field is missing where a verb would show null: the id of a problem. */
static bool is_missing(const struct shape_field *f)
{
    return f->maybe && f >= problem_fields &&
           f < problem_fields + sizeof(problem_fields) / sizeof(problem_fields[0]);
}

static const struct shape more[] = {
    { "Event", event_fields },
    { "Health", health_fields },
    { "Session", login_fields },
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

    doc_put(o, "'%.*s':{", STR_ARG(f->name));
    if (f->type == SHAPE_LIST) {
        doc_put(o, "'type':'array','items':{" STRING);
        if (f->values)
            doc_words(o, f->values);
        doc_put(o, "}");
    } else if (f->type == SHAPE_DICT) {
        doc_put(o, MAPPING "{" STRING "}");
    } else if (f->type == SHAPE_MAPS) {
        doc_put(o, LIST_OF(REF("%s")), f->shape);
    } else if (f->values && f->maybe) {
        doc_put(o, "'oneOf':[{" STRING);
        doc_words(o, f->values);
        doc_put(o, "},{'type':'null'}]");
    } else {
        doc_put(o, f->maybe && !is_missing(f) ? "'type':['%s','null']" : "'type':'%s'",
                types[f->type]);
        if (f->values)
            doc_words(o, f->values);
    }
    if (f->type == SHAPE_MOMENT)
        doc_put(o, "'description':'milliseconds since 1970'");
    doc_put(o, "}");
    if (f->type == SHAPE_BYTES)
        doc_put(o,
                "'%.*s_base64':{" STRING ",'contentEncoding':'base64',"
                "'description':'in its place if it is no UTF-8'}",
                STR_ARG(f->name));
    if (str_eq(f->name, STR("payload")) || str_eq(f->name, STR("result")))
        doc_put(o,
                "'%.*s_json':{'description':'in its place if it is JSON and the request asked for "
                "payload=json'}",
                STR_ARG(f->name));
}

static void put_required_field(struct buf *o, const struct shape_field *f)
{
    if (f->type != SHAPE_BYTES && !is_missing(f))
        doc_put(o, "'%.*s'", STR_ARG(f->name));
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
    doc_put(o, "'%s':{'type':'object','properties':{", s->name);
    each_field(o, s->fields, put_property);
    doc_put(o, "},'required':[");
    each_field(o, s->fields, put_required_field);
    doc_put(o, "]}");
}

/* The field of an answer that is no map. */
static void put_result(struct buf *o, const struct http_route *r)
{
    if (r->item) {
        doc_put(o,
                "{'type':'array','items':{'oneOf':[{" REF(
                    "%s") "},{'type':'object','properties':{"
                          "'error':{" REF("Problem") "}},"
                                                     "'required':['error']}]}}",
                r->item);
    } else if (r->shape) {
        doc_put(o, "{" LIST_OF(REF("%s")) "}", r->shape);
    } else if (r->values) {
        doc_put(o, "{" STRING);
        doc_words(o, r->values);
        doc_put(o, "}");
    } else {
        doc_put(o, strcmp(r->result, "id") == 0 ? "{" STRING "}" : "{'type':'integer'}");
    }
}

/* Whether the answer of this status is a job that was awaited, or may be one. */
static bool may_be_awaited(const struct http_route *r, int status)
{
    return r->waits && status != r->status;
}

static void put_answer(struct buf *o, const struct http_route *r, int status)
{
    if (may_be_awaited(r, status) && status == 200) {
        doc_put(o, "{'oneOf':[{" REF("%s") "},{" REF("Job") "}]}", r->shape);
    } else if (may_be_awaited(r, status)) {
        doc_put(o, "{" REF("Job") "}");
    } else if (r->result) {
        doc_put(o, "{'type':'object','required':['%s'],'properties':{'%s':", r->result, r->result);
        put_result(o, r);
        doc_put(o, "}}");
    } else if (!r->shape) {
        doc_put(o, "{'type':'object'}");
    } else {
        doc_put(o, "{" REF("%s") "}", r->shape);
    }
}

static void put_response(struct buf *o, int status, const char *text, const char *type,
                         const struct http_route *r, const struct verb *v)
{
    doc_put(o, "'%d':{", status);
    doc_help(o, "description", text, "", v);
    if (type) {
        doc_put(o, "'content':{'%s':{'schema':", type);
        if (type[0] == 't' && r->page != HTTP_EVENTS)
            doc_put(o, "{" STRING "}");
        else
            put_answer(o, r, status);
        doc_put(o, "}}");
    }
    doc_put(o, "}");
}

/* ---- Errors ---- */

static const int statuses[] = { 400, 401, 403, 404, 409, 413, 422, 429, 503 };

#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

/* Whether an operation can be answered so. */
static bool can_fail(const struct http_route *r, const struct verb *v, int status)
{
    bool is_schedule = strcmp(v->name, "SCHEDULE") == 0;

    switch (status) {
    case 404: return strchr(r->path, '{') || is_schedule;
    case 409: return r->method != HTTP_GET && !(v->flags & VERB_TAKES);
    case 413: return http_has_body(r);
    case 422: return is_schedule;
    default: return true;
    }
}

static void put_errors(struct buf *o, const struct http_route *r, const struct verb *v)
{
    for (size_t i = 0; i < STATUSES && v; i++)
        if (can_fail(r, v, statuses[i]))
            doc_put(o, "'%d':{'$ref':'#/components/responses/Error%d'}", statuses[i], statuses[i]);
    doc_put(o, "'default':{'$ref':'#/components/responses/Error'}");
}

/* The codes of a status, with their texts. */
static void put_codes(struct buf *o, int status)
{
    struct buf text = { 0 };

#define SAY(name, number, status_, detail, text_, hint) \
    if ((status_) == status)                            \
        buf_printf(&text, "%s" #name ": %s", text.len ? "; " : "", text_);
    BELFRY_ERRORS(SAY)
#undef SAY
    doc_put(o, "'description':");
    json_quote(o, buf_view(&text));
    o->failed = o->failed || text.failed;
    buf_fini(&text);
}

static void put_problem(struct buf *o)
{
    doc_put(o, "'content':{'" HTTP_PROBLEM_TYPE "':{'schema':{" REF("Problem") "}}}}");
}

static void put_error_responses(struct buf *o)
{
    doc_put(o, "'responses':{'Error':{'description':'an error; nothing changed'");
    put_problem(o);
    for (size_t i = 0; i < STATUSES; i++) {
        doc_put(o, "'Error%d':{", statuses[i]);
        put_codes(o, statuses[i]);
        put_problem(o);
    }
    doc_put(o, "}");
}

static void put_responses(struct buf *o, const struct http_route *r, const struct verb *v)
{
    const char *type = r->page == HTTP_EVENTS                         ? "text/event-stream"
                       : r->page == HTTP_METRICS                      ? "text/plain"
                       : r->page == HTTP_DOCS || r->page == HTTP_HOME ? "text/html"
                                                                      : "application/json";

    doc_put(o, "'responses':{");
    put_response(o, r->status, r->verb ? v->returns : "as the summary says",
                 r->status == 204 ? NULL : type, r, v);
    if (r->item)
        put_response(o, 200,
                     "some were refused, with an error in the place of each; or none was "
                     "made, because their keys are taken",
                     type, r, v);
    else if (r->shape && strcmp(r->shape, "Scheduled") == 0)
        put_response(o, 200,
                     "the key is taken: the job that has it, which was kept or replaced; with "
                     "WAIT the job, which has ended",
                     type, r, v);
    if (r->waits)
        put_response(o, 202, "with WAIT: the job has not ended yet; Location is its place", type, r,
                     v);
    put_errors(o, r, v);
    doc_put(o, "}");
}

/* ---- Operations ---- */

static void put_roles(struct buf *o, const struct http_route *r)
{
    doc_put(o, "'x-roles':[");
    for (enum role role = ROLE_NONE + 1; role < ROLE_END; role++)
        if (http_allows(r, role))
            doc_put(o, "'%s'", role_name(role));
    doc_put(o, "]");
}

/* "ScheduleJobRequest" */
static void request_name(const struct http_route *r, char ret[64])
{
    snprintf(ret, 64, "%c%sRequest", toupper((unsigned char)r->id[0]), r->id + 1);
}

static void put_request_body(struct buf *o, const struct http_route *r, const struct verb *v)
{
    char name[64];

    request_name(r, name);
    doc_put(
        o,
        "'requestBody':{'required':%s,'content':{'application/json':{'schema':{" REF("%s") "}}}}",
        needs_body(v, r) ? "true" : "false", name);
}

static const char *tag_of(const struct http_route *r)
{
    static const struct {
        const char *path, *tag;
    } tags[] = {
        { "/v1/jobs/{id}/complete", "workers" },
        { "/v1/jobs/{id}/fail", "workers" },
        { "/v1/jobs/{id}/extend", "workers" },
        { "/v1/jobs/{id}/release", "workers" },
        { "/v1/leases", "workers" },
        { "/v1/workers", "workers" },
        { "/v1/queues/{queue}/keys", "jobs" },
        { "/v1/jobs", "jobs" },
        { "/v1/queues", "queues" },
        { "/v1/recurrences", "recurrences" },
        { "/v1/preview", "recurrences" },
        { "/v1/tenants", "tenants" },
        { "/v1/bulks", "bulks" },
        { "/v1/tokens", "tokens" },
        { "", "server" },
    };
    size_t i = 0;

    while (!str_starts(str_of(r->path), str_of(tags[i].path)))
        i++;
    return tags[i].tag;
}

static void put_operation(struct buf *o, const struct http_route *r)
{
    const struct verb *v = http_route_verb(r);
    char method[8] = "";

    for (size_t i = 0; http_method_name(r->method)[i]; i++)
        method[i] = (char)tolower((unsigned char)http_method_name(r->method)[i]);
    doc_put(o, "'%s':{'operationId':'%s','tags':['%s']", method, r->id, tag_of(r));
    doc_help(o, "summary", r->summary ? r->summary : v->summary, "", v);
    if (r->verb)
        doc_help(o, "description", v->summary, "", v);
    if (r->open)
        doc_put(o, "'security':[]");
    if (r->verb)
        doc_put(o, "'x-verb':'%s'", v->name);
    if (v) {
        put_roles(o, r);
        put_parameters(o, v, r);
    }
    if (v && http_has_body(r))
        put_request_body(o, r, v);
    put_responses(o, r, v);
    doc_put(o, "}");
}

/* The first row of a path stands for all rows of this path, which are all described, or none. */
static bool is_first(const struct http_route *r)
{
    for (const struct http_route *p = http_routes; p != r; p++)
        if (strcmp(p->path, r->path) == 0)
            return false;
    return true;
}

static void put_path(struct buf *o, const struct http_route *first)
{
    doc_put(o, "'%s':{", first->path);
    for (const struct http_route *r = first; r->path; r++)
        if (strcmp(r->path, first->path) == 0)
            put_operation(o, r);
    doc_put(o, "}");
}

static void put_schemas(struct buf *o)
{
    char name[64];

    doc_put(o, "'schemas':{'Duration':{" NUMERIC
               ",'minimum':0,'description':'a duration: text such as "
               "10m, 1h30m or 2d, or milliseconds'},'Moment':{" NUMERIC
               ",'description':'a moment: text "
               "as in RFC 3339, or milliseconds since 1970'}");
    for (const struct http_route *r = http_routes; r->path; r++) {
        if (!http_route_verb(r) || !http_has_body(r))
            continue;
        request_name(r, name);
        doc_put(o, "'%s':", name);
        put_body(o, http_route_verb(r), r);
    }
    for (size_t i = 0; openapi_shape(i); i++)
        put_shape(o, openapi_shape(i));
    doc_put(o, "}");
}

void openapi_write(struct buf *out)
{
    doc_put(out,
            "{'openapi':'3.1.0','info':{'title':'Belfry','version':'" BELFRY_VERSION "',"
            "'license':{'name':'MIT','identifier':'MIT'},"
            "'description':'Runs jobs at their time. Checks, results and errors are those of the "
            "verbs of RESP.'},'servers':[{'url':'/','description':'this server'}],'tags':[");
    doc_put(out, "{'name':'jobs','description':'Schedule, show, move and cancel jobs.'},"
                 "{'name':'workers','description':'Take jobs, and say how they went.'},"
                 "{'name':'queues','description':'Show and set queues.'},"
                 "{'name':'recurrences','description':'Jobs at the times of a rule.'}");
    doc_put(
        out,
        "{'name':'tenants','description':'Customers that share the server.'},"
        "{'name':'bulks','description':'Change many jobs at once.'},"
        "{'name':'tokens','description':'Who may do what.'},"
        "{'name':'server','description':'Health, figures, events and these pages.'}],'paths':{");
    for (const struct http_route *r = http_routes; r->path; r++)
        if (r->id && is_first(r))
            put_path(out, r);
    doc_put(out,
            "},'security':[{},{'token':[]}],'components':{'securitySchemes':{'token':{"
            "'type':'http','scheme':'bearer','description':'name.secret, as createToken answered "
            "it; needed as soon as there is a token'}}");
    put_error_responses(out);
    put_schemas(out);
    doc_put(out, "}}\n");
}
