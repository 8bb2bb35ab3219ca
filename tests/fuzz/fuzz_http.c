/* SPDX-License-Identifier: MIT */
/*
 * A path, a query and a body, a line each, through the route table to words and from there through
 * the verb's own parser. Bodies that are read are JSON for jansson, too, and what is no JSON for
 * jansson is not read; a value that is copied means the same to it.
 */
#include "fuzz.h"

#include <jansson.h>

#include "front/http_call.h"
#include "front/json.h"

static void no_stats(const struct verb_host *h, struct verb_host_stats *ret)
{
    (void)h;
    memset(ret, 0, sizeof(*ret));
}

/* Cuts a line off. */
static struct str line(struct str *rest)
{
    const char *end = memchr(rest->ptr, '\n', rest->len);
    struct str s = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };

    *rest = (struct str){ rest->ptr + s.len + (end != NULL), rest->len - s.len - (end != NULL) };
    return s;
}

static void check_call(const struct http_match *m, struct str query, struct str body)
{
    static const struct verb_host host = { .max_payload = 1 << 20, .stats = no_stats };
    struct http_input in = { m, query, body, { 0 }, 0 };
    struct http_call c = { 0 };
    struct arg_value args[VERB_ARGS_MAX];
    uint32_t given;
    char why[512];
    int err = http_translate(&in, &c);

    CHECK(err == 0 || err == BELFRY_INVALID || err == BELFRY_PROTOCOL);
    if (err) {
        CHECK(c.why[0]);
    } else {
        CHECK(c.n >= 1 && str_eq(c.words[0], str_of(m->route->verb)));
        err = verb_parse(http_route_verb(m->route), &host, c.words, c.n, why, sizeof(why), args,
                         &given);
        CHECK(err == 0 || err == BELFRY_INVALID || err == BELFRY_TOOLARGE);
        /* Each option came from a field: none is unknown, given twice or without a value. */
        CHECK(err == 0 || !strstr(why, "unknown option") || c.words[1].len == 0 || m->args[0].ptr);
    }
    http_call_fini(&c);
}

/* Numbers are doubles or 64-bit integers to jansson: those that do not fit are not compared. */
static bool is_number_error(const json_error_t *e)
{
    return json_error_code(e) == json_error_numeric_overflow;
}

static void check_json(struct str body)
{
    struct json j;
    struct buf copy = { 0 };
    json_error_t error;
    json_t *theirs = json_loadb(body.ptr, body.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    bool ours;

    json_begin(&j, body);
    ours = json_take(&j, &copy) && json_done(&j);
    CHECK(ours || (j.bad && j.why[0]));
    if (ours && !theirs)
        CHECK(is_number_error(&error));
    if (!ours && theirs) /* jansson takes a zero byte for the end of the text */
        CHECK(strstr(j.why, "nested") || memchr(body.ptr, 0, body.len));
    if (ours && theirs) {
        json_t *again = json_loadb(copy.ptr, copy.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

        CHECK(again && json_equal(theirs, again) && copy.len <= body.len);
        json_decref(again);
    }
    json_decref(theirs);
    buf_fini(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *bytes = fuzz_copy((struct str){ (const char *)data, size });
    struct str rest = { bytes, size };
    struct str method = line(&rest), path = line(&rest), query = line(&rest);
    struct http_match m;

    http_route_find(method, path, &m);
    CHECK(!m.route || m.allowed & 1u << m.route->method);
    if (m.route && m.route->verb)
        check_call(&m, query, rest);
    check_json(rest);
    free(bytes);
    return 0;
}
