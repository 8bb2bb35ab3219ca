/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/attempts.h"
#include "record/record.h"

static struct buf history;

/* One more attempt, with its number as its start. */
static void add(uint32_t number, uint32_t kept)
{
    struct attempt a = { .number = number, .start_ms = number, .end_ms = number + 1 };
    struct buf next = { 0 };

    attempts_append(&next, buf_view(&history), &a, kept);
    assert_false(next.failed);
    buf_fini(&history);
    history = next;
}

static void add_upto(uint32_t from, uint32_t to, uint32_t kept)
{
    for (uint32_t i = from; i <= to; i++)
        add(i, kept);
}

/* The history has the first attempts up to `first`, then the attempts from `from` to `to`. */
static void has(uint32_t first, uint32_t from, uint32_t to, uint32_t left_out)
{
    struct wire_reader r = attempts_reader(buf_view(&history));
    struct attempt a;

    assert_int_equal(attempts_count(buf_view(&history)), first + (to - from + 1));
    assert_int_equal(attempts_left_out(buf_view(&history)), left_out);
    for (uint32_t i = 1; i <= to; i = i == first ? from : i + 1) {
        if (first == 0 && i < from)
            i = from;
        assert_true(attempts_next(&r, &a));
        assert_int_equal(a.number, i);
        assert_int_equal(a.start_ms, i);
    }
    assert_false(attempts_next(&r, &a));
    assert_true(attempts_last(buf_view(&history), &a));
    assert_int_equal(a.number, to);
}

static int setup(void **state)
{
    (void)state;
    history = (struct buf){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&history);
    return 0;
}

static void an_empty_history_has_no_attempt(void **state)
{
    struct attempt a;

    (void)state;
    assert_int_equal(attempts_count((struct str){ 0 }), 0);
    assert_int_equal(attempts_left_out((struct str){ 0 }), 0);
    assert_false(attempts_last((struct str){ 0 }, &a));
}

static void few_attempts_have_no_head(void **state)
{
    struct buf plain = { 0 };

    (void)state;
    for (uint32_t i = 1; i <= 10; i++)
        record_put_attempt(&plain,
                           &(struct attempt){ .number = i, .start_ms = i, .end_ms = i + 1 });
    add_upto(1, 10, 100);
    assert_true(str_eq(buf_view(&plain), buf_view(&history)));
    buf_fini(&plain);
}

static void all_attempts_stay_up_to_the_bound(void **state)
{
    (void)state;
    add_upto(1, 11, 100);
    has(10, 11, 11, 0);
    add_upto(12, 100, 100);
    has(10, 11, 100, 0);
}

static void of_many_attempts_the_first_ten_and_the_last_stay(void **state)
{
    (void)state;
    add_upto(1, 101, 100);
    has(10, 12, 101, 1);
    add_upto(102, 250, 100);
    has(10, 161, 250, 150);
}

static void a_small_bound_keeps_half_of_it_at_the_front(void **state)
{
    (void)state;
    add_upto(1, 9, 4);
    has(2, 8, 9, 5);
    teardown(NULL);
    setup(NULL);
    add_upto(1, 9, 1);
    has(0, 9, 9, 8);
}

static void a_bound_that_is_lowered_leaves_attempts_out_on_both_sides_of_the_gap(void **state)
{
    (void)state;
    add_upto(1, 120, 100);
    add(121, 6);
    has(3, 119, 121, 115);
    add(122, 1);
    has(0, 122, 122, 121);
}

static void a_bound_that_is_lowered_before_any_was_left_out_moves_the_border(void **state)
{
    (void)state;
    add_upto(1, 12, 100);
    add(13, 12);
    has(6, 8, 13, 1);
}

static void a_bound_that_is_raised_brings_nothing_back(void **state)
{
    (void)state;
    add_upto(1, 9, 4);
    add_upto(10, 30, 100);
    has(2, 8, 30, 5);
}

static void records_of_older_versions_keep_the_last_ten(void **state)
{
    (void)state;
    add_upto(1, 25, 0);
    has(0, 16, 25, 0);
    add(26, 100);
    has(0, 16, 26, 0);
}

static void bytes_that_are_no_attempts_are_dropped(void **state)
{
    static const char junk[] = "\x01\x02\xff\xff\xff";

    (void)state;
    buf_append(&history, junk, sizeof(junk) - 1);
    add(1, 100);
    has(0, 1, 1, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_history_has_no_attempt, setup, teardown),
        cmocka_unit_test_setup_teardown(few_attempts_have_no_head, setup, teardown),
        cmocka_unit_test_setup_teardown(all_attempts_stay_up_to_the_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(of_many_attempts_the_first_ten_and_the_last_stay, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_small_bound_keeps_half_of_it_at_the_front, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_bound_that_is_lowered_leaves_attempts_out_on_both_sides_of_the_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_bound_that_is_lowered_before_any_was_left_out_moves_the_border, setup, teardown),
        cmocka_unit_test_setup_teardown(a_bound_that_is_raised_brings_nothing_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(records_of_older_versions_keep_the_last_ten, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(bytes_that_are_no_attempts_are_dropped, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
