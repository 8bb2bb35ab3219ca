/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/wheel.h"

#define NOW INT64_C(1794778189024)

static struct wheel wheel;

static int setup(void **state)
{
    (void)state;
    wheel_init(&wheel, NOW);
    return 0;
}

static void add(struct timer *t, int64_t at)
{
    t->at_ms = at;
    wheel_add(&wheel, t);
}

static void a_timer_comes_out_at_its_moment_and_not_before(void **state)
{
    static const int64_t spans[] = { 1, 63, 64, 65, 4095, 4096, 100000, INT64_C(86400000) * 400 };
    struct timer t;

    (void)state;
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        int64_t at = NOW + spans[i];

        wheel_init(&wheel, NOW);
        add(&t, at);
        assert_null(wheel_pop(&wheel, at - 1));
        assert_true(wheel_next(&wheel) <= at);
        assert_ptr_equal(wheel_pop(&wheel, at), &t);
        assert_null(wheel_pop(&wheel, at));
    }
}

static void following_wheel_next_reaches_a_timer_in_few_steps(void **state)
{
    struct timer t;
    int64_t now = NOW;
    int steps = 0;

    (void)state;
    add(&t, NOW + INT64_C(123456789012));
    while (!wheel_pop(&wheel, now)) {
        int64_t next = wheels_wake(&wheel, 1);

        assert_true(next > now && next <= t.at_ms);
        assert_true(next <= wheel_next(&wheel));
        now = next;
        assert_true(++steps <= 2 * WHEEL_LEVELS);
    }
    assert_int_equal(now, t.at_ms);
}

static void an_empty_wheel_needs_no_wake(void **state)
{
    struct timer t;

    (void)state;
    assert_int_equal(wheel_next(&wheel), INT64_MAX);
    add(&t, NOW + 5);
    wheel_remove(&t);
    assert_int_equal(wheel_next(&wheel), INT64_MAX);
    assert_null(wheel_pop(&wheel, NOW + 1000));
}

static void a_late_timer_comes_out_next(void **state)
{
    struct timer late, due;

    (void)state;
    assert_null(wheel_pop(&wheel, NOW + 100));
    add(&due, NOW + 101);
    add(&late, NOW - 50);
    assert_ptr_equal(wheel_pop(&wheel, NOW + 101), &late);
    assert_ptr_equal(wheel_pop(&wheel, NOW + 101), &due);
}

static void equal_moments_keep_their_order_over_cascades(void **state)
{
    struct timer early, late, last;

    (void)state;
    add(&early, NOW + 5000);
    assert_null(wheel_pop(&wheel, NOW + 4990));
    add(&late, NOW + 5000);
    assert_null(wheel_pop(&wheel, NOW + 4999));
    add(&last, NOW + 5000);
    assert_ptr_equal(wheel_pop(&wheel, NOW + 5000), &early);
    assert_ptr_equal(wheel_pop(&wheel, NOW + 5000), &late);
    assert_ptr_equal(wheel_pop(&wheel, NOW + 5000), &last);
}

static void a_rewound_wheel_fires_nothing_early(void **state)
{
    struct timer old, fresh;

    (void)state;
    add(&old, NOW + 10000);
    assert_null(wheel_pop(&wheel, NOW + 5000));
    wheel_rewind(&wheel, NOW - 100000);
    add(&fresh, NOW - 50000);
    assert_null(wheel_pop(&wheel, NOW - 50001));
    assert_ptr_equal(wheel_pop(&wheel, NOW - 50000), &fresh);
    assert_null(wheel_pop(&wheel, NOW + 9999));
    assert_ptr_equal(wheel_pop(&wheel, NOW + 10000), &old);
}

static void a_crowded_slot_sinks_in_slices_before_its_time(void **state)
{
    enum { CROWD = 999, SLICE = 10 };
    static struct timer crowd[CROWD];
    int64_t at = NOW / 4096 * 4096 + 5 * 4096, now = NOW; /* the start of a slot of level 2 */

    (void)state;
    wheel.slice = SLICE;
    for (int i = 0; i < CROWD; i++)
        add(&crowd[i], at + i % 3);
    for (int calls = 0; wheels_wake(&wheel, 1) < at; calls++) {
        if (wheels_wake(&wheel, 1) > now)
            now = wheels_wake(&wheel, 1);
        assert_true(calls <= 3 * CROWD / SLICE + 10);
        assert_null(wheel_pop(&wheel, now));
    }
    assert_true(now < at);
    /* Nothing is left to sink: each call gives a timer. */
    for (int i = 0; i < CROWD; i++)
        assert_ptr_equal(wheel_pop(&wheel, at + 2), &crowd[i % (CROWD / 3) * 3 + i / (CROWD / 3)]);
    assert_null(wheel_pop(&wheel, at + 2));
}

/* As wheel_pop, however many timers have to sink first; counts the calls. */
static struct timer *pop_after_all(int64_t now, int *calls)
{
    struct timer *t;

    do {
        t = wheel_pop(&wheel, now);
        ++*calls;
    } while (!t && wheel_next(&wheel) <= now);
    return t;
}

static void a_crowded_slot_that_is_late_sinks_in_slices_too(void **state)
{
    enum { CROWD = 1000, SLICE = 10 };
    static struct timer crowd[CROWD], early;
    int calls = 0;

    (void)state;
    wheel.slice = SLICE;
    add(&early, NOW + 999000);
    for (int i = 0; i < CROWD; i++)
        add(&crowd[i], NOW + 1000000);
    assert_ptr_equal(pop_after_all(NOW + 2000000, &calls), &early);
    assert_ptr_equal(pop_after_all(NOW + 2000000, &calls), &crowd[0]);
    assert_true(calls >= CROWD / SLICE && calls <= 7 * (CROWD / SLICE + 1));
    for (int i = 1; i < CROWD; i++) /* each call gives a timer now */
        assert_ptr_equal(wheel_pop(&wheel, NOW + 2000000), &crowd[i]);
    assert_null(wheel_pop(&wheel, NOW + 2000000));
    assert_int_equal(wheel_next(&wheel), INT64_MAX);
}

static void a_timer_that_comes_while_its_slot_sinks_keeps_its_turn(void **state)
{
    static struct timer first[5], last;
    int64_t at = NOW + 100000;
    int calls = 0;

    (void)state;
    wheel.slice = 2;
    for (int i = 0; i < 5; i++)
        add(&first[i], at);
    assert_null(wheel_pop(&wheel, at - 5000)); /* two of five sink */
    add(&last, at);
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(pop_after_all(at, &calls), &first[i]);
    assert_ptr_equal(pop_after_all(at, &calls), &last);
}

/* Against the plainest model there is: an array searched for its minimum. */
static void compare_with_a_sorted_list(int slice)
{
    enum { N = 400 };
    static struct timer timers[N];
    static int in[N], order[N];
    int64_t now = NOW;
    int serial = 0, calls = 0;

    wheel.slice = slice;
    memset(in, 0, sizeof(in));
    srand(7);
    for (int step = 0; step < 40000; step++) {
        int i = rand() % N;

        if (!in[i]) {
            int span = 1 << rand() % 24;

            order[i] = serial++;
            add(&timers[i], now + 1 + rand() % span);
            in[i] = 1;
        } else if (rand() % 4 == 0) {
            wheel_remove(&timers[i]);
            in[i] = 0;
        }
        if (rand() % 8 == 0) {
            struct timer *t;

            now += rand() % (1 << rand() % 20);
            while ((t = pop_after_all(now, &calls))) {
                int popped = (int)(t - timers);

                assert_true(in[popped] && t->at_ms <= now);
                for (int k = 0; k < N; k++)
                    if (in[k])
                        assert_true(timers[k].at_ms > t->at_ms ||
                                    (timers[k].at_ms == t->at_ms && order[k] >= order[popped]));
                in[popped] = 0;
            }
            for (int k = 0; k < N; k++)
                assert_true(!in[k] || timers[k].at_ms > now);
        }
    }
}

static void random_timers_come_out_as_from_a_sorted_list(void **state)
{
    (void)state;
    compare_with_a_sorted_list(4096);
}

static void random_timers_that_sink_one_by_one_come_out_in_order_too(void **state)
{
    (void)state;
    compare_with_a_sorted_list(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_timer_comes_out_at_its_moment_and_not_before, setup),
        cmocka_unit_test_setup(following_wheel_next_reaches_a_timer_in_few_steps, setup),
        cmocka_unit_test_setup(an_empty_wheel_needs_no_wake, setup),
        cmocka_unit_test_setup(a_late_timer_comes_out_next, setup),
        cmocka_unit_test_setup(equal_moments_keep_their_order_over_cascades, setup),
        cmocka_unit_test_setup(a_rewound_wheel_fires_nothing_early, setup),
        cmocka_unit_test_setup(a_crowded_slot_sinks_in_slices_before_its_time, setup),
        cmocka_unit_test_setup(a_crowded_slot_that_is_late_sinks_in_slices_too, setup),
        cmocka_unit_test_setup(a_timer_that_comes_while_its_slot_sinks_keeps_its_turn, setup),
        cmocka_unit_test_setup(random_timers_come_out_as_from_a_sorted_list, setup),
        cmocka_unit_test_setup(random_timers_that_sink_one_by_one_come_out_in_order_too, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
