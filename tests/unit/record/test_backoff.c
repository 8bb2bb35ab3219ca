/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/backoff.h"

static void expect_pause(const char *text, uint32_t failures, int64_t low, int64_t high)
{
    struct backoff b;
    const char *why;
    int64_t least = INT64_MAX, most = 0;

    assert_int_equal(backoff_parse(str_of(text), &b, &why), 0);
    for (uint64_t random = 0; random < 100000; random += 17) {
        int64_t pause = backoff_pause(&b, failures, random);

        least = pause < least ? pause : least;
        most = pause > most ? pause : most;
    }
    assert_int_equal(least, low);
    assert_int_equal(most, high);
}

static void a_list_gives_each_pause_in_turn_and_then_the_last(void **state)
{
    (void)state;
    expect_pause("1s,5s,10s", 1, 900, 1100);
    expect_pause("1s,5s,10s", 2, 4500, 5500);
    expect_pause("1s,5s,10s", 3, 9000, 11000);
    expect_pause("1s,5s,10s", 400, 9000, 11000);
}

static void an_exponential_one_doubles_up_to_its_longest(void **state)
{
    (void)state;
    expect_pause("exp:2s:10s", 1, 1000, 2000);
    expect_pause("exp:2s:10s", 2, 2000, 4000);
    expect_pause("exp:2s:10s", 3, 4000, 8000);
    expect_pause("exp:2s:10s", 4, 5000, 10000);
    expect_pause("exp:2s:10s", 4000000000u, 5000, 10000);
}

static void a_fixed_one_stays_the_same(void **state)
{
    (void)state;
    expect_pause("fixed:20s", 1, 18000, 22000);
    expect_pause("fixed:20s", 9, 18000, 22000);
    expect_pause("fixed:0ms", 1, 0, 0);
}

static void nonsense_is_refused_with_a_reason(void **state)
{
    static const char *const bad[] = { "",          "exp:",   "exp:2s",       "exp:1h:2s",
                                       "exp:0s:1h", "fixed:", "fixed:1s:2s",  "1s,,2s",
                                       "1s,",       "soon",   "exp:2s:1h:3h", "-1s" };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct backoff b;
        const char *why = NULL;

        assert_true(backoff_parse(str_of(bad[i]), &b, &why) < 0);
        assert_non_null(why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_gives_each_pause_in_turn_and_then_the_last),
        cmocka_unit_test(an_exponential_one_doubles_up_to_its_longest),
        cmocka_unit_test(a_fixed_one_stays_the_same),
        cmocka_unit_test(nonsense_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
