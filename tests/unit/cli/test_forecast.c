/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/call.h"
#include "support/utc.h"

#define STEP(from, to, jobs) \
    "%3\r\n$7\r\nfrom_ms\r\n:" from "\r\n$5\r\nto_ms\r\n:" to "\r\n$4\r\njobs\r\n:" jobs "\r\n"

/* The lines for a reply; NULL if it is taken for something else. */
static char *lines_of(struct str reply)
{
    struct render r = { 0 };
    struct resp_values v = { 0 };
    struct buf out = { 0 };
    size_t used;
    bool taken;
    assert_int_equal(resp_read_value(&v, reply, &used), RESP_OK);
    taken = forecast_put(&out, &v, &r);
    assert_true(taken || out.len == 0);
    buf_append(&out, "", 1);
    resp_values_fini(&v);
    if (!taken)
        buf_fini(&out);
    return taken ? out.ptr : NULL;
}

static void assert_lines(struct str reply, const char *expected)
{
    char *lines = lines_of(reply);
    assert_non_null(lines);
    assert_string_equal(lines, expected);
    free(lines);
}

static void a_step_is_a_line_with_a_bar_of_its_share(void **state)
{
    (void)state;
    assert_lines(STR("*4\r\n" STEP("1794778320000", "1794781920000", "2000")
                         STEP("1794781920000", "1794785520000", "0")
                             STEP("1794785520000", "1794789120000", "1")
                                 STEP("1794789120000", "1794792720000", "1025")),
                 "2026-11-15 21:32  2,000  ████████████████████████████████████████\n"
                 "2026-11-15 22:32      0\n"
                 "2026-11-15 23:32      1  ▏\n"
                 "2026-11-16 00:32  1,025  ████████████████████▌\n"
                 "2026-11-16 01:32  3,026 jobs in all\n");
}

static void occurrences_and_partial_steps_are_told(void **state)
{
    (void)state;
    assert_lines(
        STR("*1\r\n%5\r\n$7\r\nfrom_ms\r\n:1794778320000\r\n$5\r\nto_ms\r\n:1794781920000\r\n"
            "$4\r\njobs\r\n:9\r\n$9\r\nrecurring\r\n:4\r\n$7\r\npartial\r\n#t\r\n"),
        "2026-11-15 21:32  9+  ████████████████████████████████████████\n"
        "2026-11-15 22:32  9 jobs in all, 4 of them by recurrences; + means that there are more "
        "than "
        "could be counted\n");
}

static void short_steps_show_seconds(void **state)
{
    (void)state;
    assert_lines(STR("*1\r\n" STEP("1794778337307", "1794778338000", "0")),
                 "2026-11-15 21:32:17.307  0\n"
                 "2026-11-15 21:32:18  0 jobs in all\n");
}

static void any_other_answer_is_left_alone(void **state)
{
    (void)state;
    assert_null(lines_of(STR("*1\r\n%1\r\n$4\r\njobs\r\n:1\r\n")));
    assert_null(lines_of(STR("*1\r\n:1\r\n")));
    assert_null(lines_of(STR("%1\r\n$4\r\njobs\r\n:1\r\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_is_a_line_with_a_bar_of_its_share),
        cmocka_unit_test(occurrences_and_partial_steps_are_told),
        cmocka_unit_test(short_steps_show_seconds),
        cmocka_unit_test(any_other_answer_is_left_alone),
    };
    return cmocka_run_group_tests(tests, utc, NULL);
}
