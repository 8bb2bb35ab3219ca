/* SPDX-License-Identifier: MIT */
#include "server/push/push_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/error.h"

#define URL STR("https://example.org/hook")

static struct push_request r;

static size_t lines_of(const char *start)
{
    size_t n = 0;

    for (size_t i = 0; i < r.lines.len; i += strlen(r.lines.ptr + i) + 1)
        n += strncmp(r.lines.ptr + i, start, strlen(start)) == 0;
    return n;
}

static int init(struct job_view *v, const char *headers)
{
    struct push_settings s = { .url = URL, .headers = str_of(headers) };

    v->tenant = STR("acme");
    v->queue = STR("q");
    v->payload = STR("{}");
    return push_request_init(&r, v, URL, &s, 1000);
}

static void it_has_the_lines_of_its_queue_and_job(void **state)
{
    struct job_view v = { .attempt = 7 };

    (void)state;
    assert_int_equal(init(&v, "A: b\nC: d"), 0);
    assert_int_equal(lines_of("A: b"), 1);
    assert_int_equal(lines_of("C: d"), 1);
    assert_int_equal(lines_of("content-type: application/json"), 1);
    assert_int_equal(lines_of("belfry-tenant: acme"), 1);
    assert_int_equal(lines_of("belfry-attempt: 7"), 1);
    push_request_fini(&r);
}

static void no_more_lines_than_there_is_room_for(void **state)
{
    char headers[8 * PUSH_LINES] = "";
    struct job_view v = { 0 };

    (void)state;
    for (int i = 0; i < HEADERS_MAX; i++)
        strcat(headers, "A: b\n");
    assert_int_equal(init(&v, headers), 0);
    assert_true(r.line_count <= PUSH_LINES);
    push_request_fini(&r);
    for (int i = 0; i < PUSH_LINES; i++)
        strcat(headers, "A:\n");
    assert_int_equal(init(&v, headers), BELFRY_NOMEM);
}

/* QUEUE refuses the two together; a record may have them all the same. */
static void headers_are_not_sent_where_jobs_say(void **state)
{
    struct push_settings s = { .url = STR("job"), .headers = STR("Authorization: x") };
    struct job_view v = { .tenant = STR("acme"), .queue = STR("q"), .payload = STR("{}") };

    (void)state;
    assert_int_equal(push_request_init(&r, &v, URL, &s, 1000), 0);
    assert_int_equal(lines_of("Authorization"), 0);
    assert_int_equal(lines_of("content-type"), 1);
    push_request_fini(&r);
}

static void a_trace_is_sent_once(void **state)
{
    struct job_view v = { .labels.meta_count = METAS_MAX };

    (void)state;
    for (size_t i = 0; i < METAS_MAX; i++) {
        v.labels.meta[i].name = i % 2 ? STR("traceparent") : STR("tracestate");
        v.labels.meta[i].value = STR("00-1");
    }
    v.labels.meta[1].value = STR("\r\nX: y"); /* the first that can be sent is */
    assert_int_equal(init(&v, ""), 0);
    assert_int_equal(lines_of("traceparent: 00-1"), 1);
    assert_int_equal(lines_of("tracestate: 00-1"), 1);
    assert_int_equal(lines_of("trace"), 2);
    push_request_fini(&r);
}

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define OTHER  "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define SIGNED "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static void is_signed(const char *secrets, const char *expected)
{
    struct buf out = { 0 };

    assert_int_equal(push_sign(str_of(secrets), STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                               STR("{\"test\": 2432232314}"), &out),
                     0);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, expected);
    buf_fini(&out);
}

/* The one that the libraries of the Standard Webhooks specification are tested with. */
static void the_specifications_example_is_signed_as_there(void **state)
{
    (void)state;
    is_signed(SECRET, SIGNED);
}

static void two_secrets_give_two_signatures_in_their_order(void **state)
{
    struct buf one = { 0 };

    (void)state;
    assert_int_equal(push_sign(STR(OTHER), STR("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
                               STR("{\"test\": 2432232314}"), &one),
                     0);
    buf_text(&one, " " SIGNED);
    buf_append(&one, "", 1);
    is_signed(OTHER " " SECRET, one.ptr);
    assert_string_not_equal(one.ptr, SIGNED);
    buf_fini(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_has_the_lines_of_its_queue_and_job),
        cmocka_unit_test(no_more_lines_than_there_is_room_for),
        cmocka_unit_test(headers_are_not_sent_where_jobs_say),
        cmocka_unit_test(a_trace_is_sent_once),
        cmocka_unit_test(the_specifications_example_is_signed_as_there),
        cmocka_unit_test(two_secrets_give_two_signatures_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
