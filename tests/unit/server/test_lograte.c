/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/lograte.h"

static struct lograte r;

static int setup(void **state)
{
    (void)state;
    r = (struct lograte){ 0 };
    return 0;
}

static int lines(const char *message, int tries, int64_t ms)
{
    int n = 0;

    while (tries-- > 0)
        n += lograte_takes(&r, message, 2, ms);
    return n;
}

static void a_kind_has_the_lines_of_ten_seconds_and_then_its_rate(void **state)
{
    (void)state;
    assert_int_equal(lines("a", 1000, 5), 2 * LOGRATE_BURST_S);
    assert_int_equal(lines("a", 10, 504), 0);
    assert_int_equal(lines("a", 10, 505), 1);
    assert_int_equal(lines("a", 10, 1505), 2);
    assert_int_equal(lines("a", 100, INT64_C(1) << 60), 2 * LOGRATE_BURST_S);
    assert_int_equal(r.left_out, 980 + 10 + 9 + 8 + 80);
}

static void a_flood_of_one_kind_leaves_out_no_other(void **state)
{
    char copy[] = "a"; /* its text counts, not its place */

    (void)state;
    assert_int_equal(lines("a", 1000, 5), 20);
    assert_int_equal(lines(copy, 1, 5), 0);
    assert_int_equal(lines("b", 20, 5), 20);
}

static void left_out_lines_are_told_once_and_not_too_often(void **state)
{
    uint64_t n = 0;

    (void)state;
    lines("a", 30, 5);
    lines("b", 20, 5);
    assert_null(lograte_untold(&r, 5, &n)); /* there may be more in a moment */
    lines("a", 2, 6);
    assert_string_equal(lograte_untold(&r, 1005, &n), "a");
    assert_int_equal(n, 12);
    assert_null(lograte_untold(&r, 1005, &n));
    lines("a", 10, 1005);
    assert_null(lograte_untold(&r, 1004 + LOGRATE_TELL_MS, &n));
    assert_string_equal(lograte_untold(&r, 1005 + LOGRATE_TELL_MS, &n), "a");
    assert_int_equal(n, 8);
    lines("a", 100, 1006 + LOGRATE_TELL_MS);
    assert_string_equal(lograte_untold(&r, INT64_MAX, &n), "a"); /* the log ends */
}

static void a_rate_of_0_is_any_number(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_true(lograte_takes(&r, "a", 0, 5));
}

static void messages_beyond_the_table_share_a_place(void **state)
{
    static char names[2 * LOGRATE_KINDS][8];
    int n = 0;
    uint64_t left;

    (void)state;
    for (int i = 0; i < 2 * LOGRATE_KINDS; i++) {
        snprintf(names[i], sizeof(names[i]), "m%d", i);
        n += lines(names[i], 21, 5);
    }
    assert_int_equal(n, LOGRATE_KINDS * 20);
    for (int i = 0; i < LOGRATE_KINDS - 1; i++)
        assert_string_equal(lograte_untold(&r, 2000, &left), names[i]);
    assert_string_equal(lograte_untold(&r, 2000, &left), "all others");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_kind_has_the_lines_of_ten_seconds_and_then_its_rate, setup),
        cmocka_unit_test_setup(a_flood_of_one_kind_leaves_out_no_other, setup),
        cmocka_unit_test_setup(left_out_lines_are_told_once_and_not_too_often, setup),
        cmocka_unit_test_setup(a_rate_of_0_is_any_number, setup),
        cmocka_unit_test_setup(messages_beyond_the_table_share_a_place, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
