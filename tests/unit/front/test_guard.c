/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "front/guard.h"

static struct guard *g;

static int setup(void **state)
{
    (void)state;
    g = calloc(1, sizeof(*g));
    return g ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    free(g);
    return 0;
}

static void show_wrong(const char *address, int times, int64_t ms)
{
    while (times-- > 0)
        guard_failed(g, str_of(address), ms);
}

static void after_ten_failures_nobody_from_there_is_looked_at_for_a_minute(void **state)
{
    (void)state;
    show_wrong("10.0.0.1:5000", GUARD_FAILURES - 1, 1000);
    assert_true(guard_admits(g, STR("10.0.0.1:5001"), 1000));
    assert_int_equal(guard_failed(g, STR("10.0.0.1:5001"), 2000), GUARD_FAILURES);
    assert_false(guard_admits(g, STR("10.0.0.1:5002"), 2000));
    assert_true(guard_admits(g, STR("10.0.0.2:5002"), 2000));
    assert_false(guard_admits(g, STR("10.0.0.1:5002"), 1000 + GUARD_MS - 1));
    assert_true(guard_admits(g, STR("10.0.0.1:5002"), 1000 + GUARD_MS));
    assert_int_equal(guard_failed(g, STR("10.0.0.1:5001"), 1000 + GUARD_MS), 1);
    assert_int_equal(g->failures, GUARD_FAILURES + 1);
    assert_int_equal(g->refused, 2);
}

static void of_ipv6_the_first_half_counts(void **state)
{
    (void)state;
    show_wrong("[2001:db8::1]:5000", GUARD_FAILURES, 0);
    assert_false(guard_admits(g, STR("[2001:db8::ffff:2]:5000"), 0));
    assert_true(guard_admits(g, STR("[2001:db8:0:1::1]:5000"), 0));
    show_wrong("[::ffff:10.0.0.1]:5000", GUARD_FAILURES, 0);
    assert_true(guard_admits(g, STR("[::ffff:10.0.0.2]:5000"), 0));
}

static void who_has_no_address_is_not_watched(void **state)
{
    (void)state;
    show_wrong("", 100, 0);
    assert_true(guard_admits(g, STR(""), 0));
    assert_int_equal(g->failures, 100);
}

static void a_flood_of_addresses_takes_no_more_room_and_the_latest_are_known(void **state)
{
    char address[32];

    (void)state;
    for (int i = 0; i < 100000; i++) {
        snprintf(address, sizeof(address), "10.%d.%d.%d:1", i >> 16, i >> 8 & 255, i & 255);
        show_wrong(address, 1, i);
    }
    show_wrong("1.2.3.4:1", GUARD_FAILURES, 100000);
    assert_false(guard_admits(g, STR("1.2.3.4:1"), 100000));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(after_ten_failures_nobody_from_there_is_looked_at_for_a_minute),
        TEST(of_ipv6_the_first_half_counts),
        TEST(who_has_no_address_is_not_watched),
        TEST(a_flood_of_addresses_takes_no_more_room_and_the_latest_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
