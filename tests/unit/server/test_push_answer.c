/* SPDX-License-Identifier: MIT */
#include "server/push/push_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1794778000000) /* Sun, 15 Nov 2026 21:26:40 GMT */

static int64_t after(const char *text)
{
    return retry_after_parse(str_of(text), NOW);
}

static void retry_after_is_seconds_or_a_date(void **state)
{
    (void)state;
    assert_int_equal(after("0"), 0);
    assert_int_equal(after("120"), 120000);
    assert_int_equal(after("Sun, 15 Nov 2026 21:27:10 GMT"), 30000);
    assert_int_equal(after("Sunday, 15-Nov-26 21:27:10 GMT"), 30000);
    assert_int_equal(after("Sun Nov 15 21:27:10 2026"), 30000);
    assert_int_equal(after("Wed, 21 Oct 2015 07:28:00 GMT"), 0);
}

static void a_long_time_is_cut(void **state)
{
    (void)state;
    assert_int_equal(after("86401"), RETRY_AFTER_MAX);
    assert_int_equal(after("99999999999999999999999999"), RETRY_AFTER_MAX);
    assert_int_equal(after("Fri, 31 Dec 9999 23:59:59 GMT"), RETRY_AFTER_MAX);
}

static void anything_else_is_not_one(void **state)
{
    static const char *const texts[] = { "",
                                         "soon",
                                         "-1",
                                         "1.5",
                                         "10s",
                                         "1 2",
                                         "Sun, 15 Nov 2026 21:27:10 CET",
                                         "Sun, 15 Nov 2026",
                                         "Sun, 15 Nov 2026 21:27:10 GMT and more",
                                         "2026-11-15T21:27:10Z" };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(after(texts[i]), -1);
    assert_int_equal(retry_after_parse((struct str){ "1\0002", 3 }, NOW), -1);
}

static struct push_verdict judge(int status, const char *retry_after, const char *body)
{
    static struct push_verdict v;

    push_judge(&(struct outgoing_answer){ .outcome = OUTGOING_ANSWERED,
                                          .status = status,
                                          .retry_after = retry_after,
                                          .location = "http://127.0.0.1/",
                                          .body = str_of(body) },
               NOW, &v);
    v.text[v.error.len] = '\0';
    return v;
}

static void a_status_says_what_becomes_of_the_job(void **state)
{
    static const struct {
        int status;
        const char *retry_after;
        enum push_outcome outcome;
        bool well;
        int64_t in_ms;
    } rows[] = {
        { 200, "", PUSH_delivered, true, -1 },     { 204, "5", PUSH_delivered, true, -1 },
        { 301, "", PUSH_redirected, true, -1 },    { 400, "", PUSH_rejected, true, -1 },
        { 404, "5", PUSH_rejected, true, -1 },     { 410, "", PUSH_gone, true, -1 },
        { 429, "", PUSH_rejected, false, -1 },     { 429, "5", PUSH_postponed, false, 5000 },
        { 429, "soon", PUSH_rejected, false, -1 }, { 500, "5", PUSH_rejected, false, -1 },
        { 503, "", PUSH_rejected, false, -1 },     { 503, "7", PUSH_postponed, false, 7000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct push_verdict v = judge(rows[i].status, rows[i].retry_after, "no");

        assert_int_equal(v.outcome, rows[i].outcome);
        assert_int_equal(v.well, rows[i].well);
        assert_int_equal(v.in_ms, rows[i].in_ms);
        assert_int_equal(v.error.len == 0, rows[i].outcome == PUSH_delivered);
    }
}

static void an_error_shows_the_beginning_of_the_answer(void **state)
{
    char body[1000];
    struct push_verdict v = judge(500, "", "it\nbroke \xff\x01");

    (void)state;
    assert_string_equal(v.text, "the endpoint answered 500: it broke ??");
    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    v = judge(500, "", body);
    assert_true(v.error.len > 200 && v.error.len < 300);
    v = judge(302, "", body);
    assert_string_equal(v.text, "the endpoint answered 302: redirects are not followed, here to "
                                "http://127.0.0.1/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_after_is_seconds_or_a_date),
        cmocka_unit_test(a_long_time_is_cut),
        cmocka_unit_test(anything_else_is_not_one),
        cmocka_unit_test(a_status_says_what_becomes_of_the_job),
        cmocka_unit_test(an_error_shows_the_beginning_of_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
