/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hist.h"
#include "base/pool.h"

static const int64_t values[] = { 0, 5, 15, 16, 17, 1000, 1001, 70000, -3, INT64_MAX, 5, 900 };

#define VALUES (sizeof(values) / sizeof(values[0]))

static void equal(const struct hist *a, const struct hist *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(a->sum == b->sum && a->max == b->max);
    for (unsigned i = 0; i < 42; i++)
        assert_int_equal(hist_upto(a, (UINT64_C(1) << i) - 1),
                         hist_upto(b, (UINT64_C(1) << i) - 1));
    for (int i = 0; i <= 100; i++)
        assert_true(hist_quantile(a, i / 100.0) == hist_quantile(b, i / 100.0));
}

static void one_of_few_groups_answers_as_a_whole_one(void **state)
{
    struct hist whole = { 0 }, merged = { 0 }, *few = NULL;
    struct pool p;

    (void)state;
    pool_init(&p, 0);
    for (size_t i = 0; i < VALUES; i++) {
        hist_add(&whole, values[i]);
        assert_true(hist_add_few(&p, &few, values[i]));
        equal(&whole, few);
    }
    hist_merge(&merged, few);
    equal(&whole, &merged);
    hist_merge(&merged, few);
    assert_int_equal(hist_upto(&merged, 1023), 2 * hist_upto(&whole, 1023));
    hist_free_few(&p, few);
    assert_int_equal(p.used_bytes, 0);
    pool_fini(&p);
}

static void two_that_are_counted_together_answer_as_two(void **state)
{
    struct hist whole = { 0 }, wider = { 0 }, *a = NULL, *b = NULL;
    struct pool p;

    (void)state;
    pool_init(&p, 0);
    for (size_t i = 0; i < 2 * VALUES; i++) {
        hist_add(&whole, values[i % VALUES]);
        hist_add(&wider, values[i % VALUES]);
        size_t before = hist_bytes(a), more = hist_add_both(&p, &a, &b, values[i % VALUES]);

        assert_int_equal(more, hist_bytes(a) - before);
        equal(&whole, a);
        equal(&wider, b);
        if (i == VALUES / 2) { /* now they have different groups */
            hist_add(&wider, 300);
            hist_add_few(&p, &b, 300);
        }
    }
    hist_free_few(&p, a);
    hist_free_few(&p, b);
    assert_int_equal(p.used_bytes, 0);
    pool_fini(&p);
}

static void one_that_counts_little_is_small(void **state)
{
    struct hist *few = NULL;
    struct pool p;

    (void)state;
    pool_init(&p, 0);
    for (int i = 0; i < 1000; i++)
        hist_add_few(&p, &few, i % 16);
    assert_true(p.used_bytes <= 112);
    hist_free_few(&p, few);
    hist_free_few(&p, NULL);
    pool_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_few_groups_answers_as_a_whole_one),
        cmocka_unit_test(two_that_are_counted_together_answer_as_two),
        cmocka_unit_test(one_that_counts_little_is_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
