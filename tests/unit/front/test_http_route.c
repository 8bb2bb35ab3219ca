/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "front/http_call.h"
#include "front/http_status.h"
#include "front/openapi.h"

/* Verbs that HTTP does not have, and why. */
static const struct {
    const char *verb, *why;
} left_out[] = {
    { "METRICS", "/metrics is a page of its own: text, not JSON" },
};

static bool is_left_out(const char *verb)
{
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (left_out[i].verb && strcmp(left_out[i].verb, verb) == 0)
            return true;
    return false;
}

static bool has_route(const char *verb)
{
    for (const struct http_route *r = http_routes; r->path; r++)
        if (r->verb && strcmp(r->verb, verb) == 0)
            return true;
    return false;
}

static void every_verb_has_a_route(void **state)
{
    (void)state;
    for (const struct verb *v = verb_table; v->name; v++)
        if (has_route(v->name) == is_left_out(v->name))
            fail_msg("%s: give it a row in src/front/http_route.c, or say here why it has none",
                     v->name);
}

static bool takes_somewhere(const struct verb *v, const struct arg *a)
{
    for (const struct http_route *r = http_routes; r->path; r++)
        if (http_route_verb(r) == v && (http_in_path(r, a) || http_takes(r, a)))
            return true;
    return false;
}

static void every_argument_can_be_given(void **state)
{
    (void)state;
    for (const struct verb *v = verb_table; v->name; v++)
        for (const struct arg *a = v->args; a->type != ARG_END; a++)
            if (!is_left_out(v->name) && !a->http && !takes_somewhere(v, a))
                fail_msg("%s: %s cannot be given over HTTP", v->name, a->name);
}

static const struct arg *arg_of(const struct verb *v, struct str name)
{
    for (const struct arg *a = v->args; a->type != ARG_END; a++)
        if (str_eq(name, str_of(a->name)))
            return a;
    return NULL;
}

static bool has_shape(const char *name)
{
    for (size_t i = 0; openapi_shape(i); i++)
        if (strcmp(openapi_shape(i)->name, name) == 0)
            return true;
    return false;
}

static void every_row_is_right(void **state)
{
    (void)state;
    for (const struct http_route *r = http_routes; r->path; r++) {
        const struct verb *v = http_route_verb(r);
        struct str name;

        assert_true((r->verb != NULL) == (r->page == HTTP_VERB));
        assert_true(!r->verb || v);
        assert_true(r->status == 200 || r->status == 201 || r->status == 204);
        assert_true(!r->shape || has_shape(r->shape));
        assert_true(!r->item || has_shape(r->item));
        if (!r->id) { /* files of the dashboard are not described */
            assert_int_equal(r->page, HTTP_UI);
            continue;
        }
        assert_true(r->id[0]);
        for (size_t i = 0; (name = http_path_arg(r, i)).len; i++) {
            assert_true(i < HTTP_PATH_ARGS);
            if (!arg_of(v, name))
                fail_msg("%s: %s has no argument %.*s", r->path, r->verb, STR_ARG(name));
        }
        for (const struct http_route *q = r + 1; q->path; q++)
            assert_false((q->method == r->method && strcmp(q->path, r->path) == 0) ||
                         (q->id && strcmp(q->id, r->id) == 0));
    }
}

static struct http_match find(const char *method, const char *path)
{
    struct http_match m;

    http_route_find(str_of(method), str_of(path), &m);
    return m;
}

static void paths_are_found_part_by_part(void **state)
{
    struct http_match m = find("POST", "/v1/jobs/01X/complete");

    (void)state;
    assert_string_equal(m.route->verb, "COMPLETE");
    assert_int_equal(find("GET", "/").route->page, HTTP_HOME);
    assert_true(str_eq(m.args[0], STR("01X")));
    m = find("POST", "/v1/jobs/batch");
    assert_string_equal(m.route->verb, "BATCH");
    assert_null(m.args[0].ptr);
    m = find("GET", "/v1/queues/a%2Fb/keys/k");
    assert_string_equal(m.route->verb, "GET");
    assert_true(str_eq(m.args[0], STR("a%2Fb")) && str_eq(m.args[1], STR("k")));
    assert_string_equal(find("HEAD", "/v1/stats").route->verb, "STATS");
    m = find("PUT", "/v1/jobs");
    assert_null(m.route);
    assert_int_equal(m.allowed, 1u << HTTP_GET | 1u << HTTP_POST);
    m = find("get", "/v1/jobs");
    assert_true(!m.route && m.allowed);
    static const char *const none[] = {
        "",          "//",          "v1/jobs",          "/v1",
        "/v1/jobs/", "/v1//jobs",   "/v1/jobs/x/y",     "/v1/jobs/x/complete/",
        "/V1/jobs",  "/v1/jobs//x", "/v1/queues//pause"
    };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        if (find("POST", none[i]).route || find("GET", none[i]).route ||
            find("GET", none[i]).allowed)
            fail_msg("%s", none[i]);
}

/* The words of a request, blanks between; or the reason against it. */
static const char *translated(const char *method, const char *path, const char *query,
                              const char *body, const char *key)
{
    static char text[1024];
    struct http_match m = find(method, path);
    struct http_input in = { .match = &m,
                             .query = str_of(query),
                             .body = str_of(body),
                             .idempotency_key = { key, key ? strlen(key) : 0 },
                             .idempotency_hold_ms = 86400000 };
    struct http_call c = { 0 };

    text[0] = '\0';
    if (http_translate(&in, &c) != 0)
        strcpy(text, c.why);
    else
        for (size_t i = 0; i < c.n; i++)
            sprintf(text + strlen(text), "%s%.*s", i ? " " : "", STR_ARG(c.words[i]));
    http_call_fini(&c);
    return text;
}

static void a_request_becomes_its_verbs_words(void **state)
{
    (void)state;
    assert_string_equal(translated("POST", "/v1/jobs", "",
                                   "{\"in\":\"1h\",\"payload\":{\"a\": 1},\"tag\":[\"x\",\"y\"],"
                                   "\"meta\":{\"m\":\"v\"},\"queue\":\"q\"}",
                                   NULL),
                        "SCHEDULE q {\"a\":1} in 1h tag x tag y meta m v answer map");
    assert_string_equal(translated("POST", "/v1/jobs", "tenant=t",
                                   "{\"queue\":\"q\",\"payload_base64\":\"aGk=\"}", "k"),
                        "SCHEDULE q hi tenant t key k ifexists keep key_hold 86400000 answer map");
    assert_string_equal(translated("POST", "/v1/jobs", "",
                                   "{\"queue\":\"q\",\"payload\":1,\"key_hold\":\"1h\"}", "k"),
                        "SCHEDULE q 1 key_hold 1h key k ifexists keep answer map");
    assert_string_equal(
        translated("POST", "/v1/leases", "", "{\"count\":5,\"queues\":[\"a\",\"b\"]}", NULL),
        "LEASE a,b count 5");
    assert_string_equal(
        translated("POST", "/v1/jobs/ID/fail", "", "{\"token\":12,\"final\":true}", NULL),
        "FAIL ID 12 final yes");
    assert_string_equal(translated("GET", "/v1/jobs", "queue=a%2Fb&limit=5&&tag=x+y", "", NULL),
                        "LIST queue a/b limit 5 tag x y");
    assert_string_equal(translated("DELETE", "/v1/queues/q/keys/a%20b", "", "", NULL),
                        "CANCEL queue q key a b");
    assert_string_equal(
        translated("POST", "/v1/jobs/batch", "",
                   "{\"items\":[{\"payload\":\"p\",\"queue\":\"q\"},{\"queue\":\"q\","
                   "\"payload\":2,\"in\":3}],\"mode\":\"each\"}",
                   NULL),
        "BATCH each 4 q p answer map 6 q 2 in 3 answer map");
    assert_string_equal(translated("POST", "/v1/queues/q/pause", "", "", NULL), "PAUSE q");
    assert_string_equal(translated("POST", "/v1/jobs/ID/extend", "", "{\"token\":\"\"}", NULL),
                        "EXTEND ID ");
}

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/* The words of a request with the headers of a trace. */
static const char *traced(const char *path, const char *body, const char *parent)
{
    static char text[1024];
    struct http_match m = find("POST", path);
    struct http_input in = {
        .match = &m, .body = str_of(body), .traceparent = str_of(parent), .tracestate = STR("a=b")
    };
    struct http_call c = { 0 };

    text[0] = '\0';
    assert_int_equal(http_translate(&in, &c), 0);
    for (size_t i = 0; i < c.n; i++)
        sprintf(text + strlen(text), "%s%.*s", i ? " " : "", STR_ARG(c.words[i]));
    http_call_fini(&c);
    return text;
}

static void a_job_goes_on_in_the_trace_of_its_request(void **state)
{
    static const char job[] = "{\"queue\":\"q\",\"payload\":1}";
    static const char own[] = "{\"queue\":\"q\",\"payload\":1,\"meta\":{\"x\":\"traceparent\","
                              "\"traceparent\":\"mine\"}}";

    (void)state;
    assert_string_equal(traced("/v1/jobs", job, TRACE),
                        "SCHEDULE q 1 meta traceparent " TRACE " meta tracestate a=b answer map");
    assert_string_equal(traced("/v1/jobs", job, "00-zz"), "SCHEDULE q 1 answer map");
    assert_string_equal(traced("/v1/jobs", job, ""), "SCHEDULE q 1 answer map");
    assert_string_equal(traced("/v1/jobs", own, TRACE),
                        "SCHEDULE q 1 meta x traceparent meta traceparent mine meta tracestate "
                        "a=b answer map");
    assert_string_equal(
        traced("/v1/jobs/batch", "{\"mode\":\"all\",\"items\":[{\"queue\":\"q\",\"payload\":1}]}",
               TRACE),
        "BATCH all 10 q 1 meta traceparent " TRACE " meta tracestate a=b answer map");
    assert_string_equal(traced("/v1/leases", "{\"queues\":\"q\"}", TRACE), "LEASE q");
}

static void payloads_are_asked_for_as_json(void **state)
{
    struct http_match m = find("GET", "/v1/jobs/ID");
    struct http_input in = { .match = &m, .query = STR("payload=json") };
    struct http_call c = { 0 };

    (void)state;
    assert_int_equal(http_translate(&in, &c), 0);
    assert_true(c.json && c.n == 2);
    http_call_reset(&c);
    assert_false(c.json);
    http_call_fini(&c);
    assert_string_equal(translated("GET", "/v1/jobs/ID", "payload=xml", "", NULL),
                        "payload: expected json or text");
    assert_string_equal(translated("GET", "/v1/jobs/ID", "payload=json&payload=json", "", NULL),
                        "payload: is given twice");
    assert_string_equal(
        translated("POST", "/v1/leases", "", "{\"queues\":\"q\",\"payload\":\"json\"}", NULL),
        "LEASE q");
    assert_string_equal(
        translated("POST", "/v1/leases", "", "{\"queues\":\"q\",\"payload\":1}", NULL),
        "payload: expected a string");
}

static void help_is_told_in_the_words_of_http(void **state)
{
    const struct verb *schedule = verb_find(verb_table, STR("SCHEDULE"));
    const struct verb *tenant = verb_find(verb_table, STR("TENANT"));
    struct buf out = { 0 };

    (void)state;
    openapi_text(&out, "without IN and AT; must EXTEND, see LIST and KEY_HOLD", schedule);
    buf_text(&out, ". ");
    openapi_text(&out, "SCHEDULE answers LIMIT; answered with RATE; `100/1m` of RATE; URL", tenant);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr,
                        "without `in` and `at`; must `extendLease`, see `listJobs` and `key_hold`. "
                        "`scheduleJob` answers LIMIT; answered with RATE; `100/1m` of `rate`; URL");
    buf_fini(&out);
}

static void problems_name_their_thing(void **state)
{
    struct buf out = { 0 };

    (void)state;
    http_problem(&out, "NOTFOUND", 404, STR("no such queue"), "queue");
    http_problem(&out, "KEYEXISTS", 409, STR("item 2: 01M7BBPXRY0000000000000001"), "job");
    http_problem(&out, "KEYEXISTS", 409, STR("an item before it has this key"), "job");
    http_problem(&out, "UNKNOWN", 404, STR("there is no such path"), NULL);
    buf_append(&out, "", 1);
    assert_string_equal(
        out.ptr,
        "{\"type\":\"urn:belfry:error:NOTFOUND\",\"title\":\"no such queue\",\"status\":404,"
        "\"code\":\"NOTFOUND\",\"detail\":\"no such queue\"}"
        "{\"type\":\"urn:belfry:error:KEYEXISTS\",\"title\":\"a job with this key exists\","
        "\"status\":409,\"code\":\"KEYEXISTS\",\"detail\":\"item 2: "
        "01M7BBPXRY0000000000000001\",\"id\":\"01M7BBPXRY0000000000000001\"}"
        "{\"type\":\"urn:belfry:error:KEYEXISTS\",\"title\":\"a job with this key exists\","
        "\"status\":409,\"code\":\"KEYEXISTS\",\"detail\":\"an item before it has this key\"}"
        "{\"type\":\"urn:belfry:error:UNKNOWN\",\"title\":\"Not Found\",\"status\":404,"
        "\"code\":\"UNKNOWN\",\"detail\":\"there is no such path\"}");
    buf_fini(&out);
}

static void a_request_that_is_wrong_is_told_why(void **state)
{
    (void)state;
    assert_string_equal(translated("POST", "/v1/jobs/I/release", "", "{\"token\":1,\"x\":2}", NULL),
                        "x: unknown field; there are token, in, tenant");
    assert_string_equal(translated("GET", "/v1/stats", "x=1", "", NULL),
                        "x: unknown parameter of the query; there is none");
    assert_string_equal(
        translated("POST", "/v1/jobs", "", "{\"queue\":\"q\",\"payload\":1,\"key\":\"a\"}", "b"),
        "key: is given by Idempotency-Key, which stands for key and ifexists keep");
    assert_string_equal(translated("GET", "/v1/jobs/%4", "", "", NULL),
                        "id: expected two hexadecimal digits behind each %");
}

static void every_error_has_a_status(void **state)
{
    (void)state;
#define CHECK(name, number, status, detail, text, hint)                              \
    assert_true(http_status_of(#name) != 500 || BELFRY_##name == BELFRY_IO ||        \
                BELFRY_##name == BELFRY_CORRUPT || BELFRY_##name == BELFRY_INDOUBT); \
    assert_true(http_reason(http_status_of(#name))[0]);
    BELFRY_ERRORS(CHECK)
#undef CHECK
}

static void http_is_known_by_its_first_bytes(void **state)
{
    static const struct {
        const char *text;
        enum http_guess guess;
    } cases[] = { { "GET /", HTTP_GUESS_YES },     { "POST /v1/", HTTP_GUESS_YES },
                  { "OPTIONS /", HTTP_GUESS_YES }, { "DELETE /x", HTTP_GUESS_YES },
                  { "G", HTTP_GUESS_MORE },        { "GET ", HTTP_GUESS_MORE },
                  { "P", HTTP_GUESS_MORE },        { "OPTIONS ", HTTP_GUESS_MORE },
                  { "GET 01", HTTP_GUESS_NO },     { "get /", HTTP_GUESS_NO },
                  { "*3\r\n", HTTP_GUESS_NO },     { "PING\r\n", HTTP_GUESS_NO },
                  { "GET\r\n", HTTP_GUESS_NO },    { "SCHEDULE", HTTP_GUESS_NO } };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (http_guess(str_of(cases[i].text)) != cases[i].guess)
            fail_msg("%s", cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_a_route),
        cmocka_unit_test(every_argument_can_be_given),
        cmocka_unit_test(every_row_is_right),
        cmocka_unit_test(paths_are_found_part_by_part),
        cmocka_unit_test(a_request_becomes_its_verbs_words),
        cmocka_unit_test(a_job_goes_on_in_the_trace_of_its_request),
        cmocka_unit_test(payloads_are_asked_for_as_json),
        cmocka_unit_test(help_is_told_in_the_words_of_http),
        cmocka_unit_test(problems_name_their_thing),
        cmocka_unit_test(a_request_that_is_wrong_is_told_why),
        cmocka_unit_test(every_error_has_a_status),
        cmocka_unit_test(http_is_known_by_its_first_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
