/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/ratelog.h"

#define TAKES 20000

static int64_t takes[TAKES];
static size_t taken;

static void take(struct rate_log *l, const struct rate *r, int64_t now)
{
    assert_true(taken < TAKES);
    takes[taken++] = now;
    rate_count(l, r, now);
}

/* In no window of the period are more than the rate allows, and in none of its parts more than the
 * burst. */
static void assert_no_window_has_more(const struct rate *r)
{
    int64_t most = r->burst > 0 ? r->burst : r->count;
    int64_t part_ms = (r->per_ms * most + r->count - 1) / r->count;

    for (size_t i = 0; i < taken; i++) {
        if (i >= (size_t)r->count)
            assert_true(takes[i] - takes[i - (size_t)r->count] >= r->per_ms);
        if (i >= (size_t)most)
            assert_true(takes[i] - takes[i - (size_t)most] >= part_ms);
    }
}

/* Asks in every millisecond for as many as there are, now and then for fewer. */
static void ask(const struct rate *r, int64_t span_ms, unsigned eager)
{
    struct rate_log l = { 0 };
    uint64_t random = 7;

    taken = 0;
    for (int64_t now = 1000; now < 1000 + span_ms; now++) {
        for (;;) {
            random = random * UINT64_C(6364136223846793005) + 1;
            if ((random >> 33) % 100 >= eager || rate_moment(&l, r, now) != 0)
                break;
            take(&l, r, now);
        }
    }
    assert_no_window_has_more(r);
}

static void no_window_has_more_than_the_rate(void **state)
{
    static const struct rate rates[] = {
        { 1, 50, 0 },      { 10, 100, 0 },   { 10, 100, 1 },   { 10, 100, 5 },    { 100, 1000, 0 },
        { 100, 1000, 10 }, { 300, 1000, 3 }, { 300, 1000, 1 }, { 1000, 1000, 0 }, { 600, 1, 0 },
        { 64, 333, 0 },    { 65, 333, 0 },   { 7, 10, 7 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
        for (unsigned eager = 20; eager <= 100; eager += 40)
            ask(&rates[i], rates[i].count == 600 ? 20 : 5000, eager);
}

static void all_may_go_at_once_and_come_back_after_the_period(void **state)
{
    const struct rate r = { 100, 1000, 0 };
    struct rate_log l = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(rate_moment(&l, &r, 5000), 0);
        rate_count(&l, &r, 5000);
    }
    assert_int_equal(rate_moment(&l, &r, 5000), 6000);
    assert_int_equal(rate_moment(&l, &r, 5999), 6000);
    assert_int_equal(rate_moment(&l, &r, 6000), 0);
}

static void a_burst_goes_in_its_part_of_the_period(void **state)
{
    const struct rate r = { 100, 1000, 10 };
    struct rate_log l = { 0 };

    (void)state;
    taken = 0;
    for (int64_t now = 0; now < 2000; now++)
        while (rate_moment(&l, &r, now) == 0)
            take(&l, &r, now);
    assert_int_equal(taken, 200);
    assert_int_equal(takes[9], 0);
    assert_int_equal(takes[10], 100);
}

/* Jobs that came one by one are counted for at most a thirtieth of the period longer. */
static void a_job_counts_little_longer_than_the_period(void **state)
{
    const struct rate r = { 1000, 30000, 0 };
    struct rate_log l = { 0 };

    (void)state;
    for (int64_t now = 0; now < 30000; now += 30)
        rate_count(&l, &r, now);
    assert_int_equal(l.total, 1000);
    assert_true(rate_moment(&l, &r, 29999) <= 31000);
    for (uint32_t i = 0; i < l.parts; i++)
        assert_true(l.part[i].length_ms <= 1000);
}

/* Jobs that go as soon as they may go at the moments that were foretold. */
static void assert_foretold(const struct rate *r, uint64_t seed)
{
    int64_t foretold[200], now = 100000;
    struct rate_log l = { 0 };
    uint64_t random = seed;

    for (; now < 100000 + 3 * r->per_ms; now++) { /* some go before */
        random = random * UINT64_C(6364136223846793005) + 1;
        if ((random >> 33) % 20 == 0 && rate_moment(&l, r, now) == 0)
            rate_count(&l, r, now);
    }
    for (uint64_t i = 0; i < 200; i++)
        foretold[i] = rate_moment_behind(&l, r, now, i);
    for (int64_t i = 0, at = now; i < 200; i++) {
        int64_t wait = rate_moment(&l, r, at);

        at = wait > 0 ? wait : at;
        assert_int_equal(foretold[i], at > now ? at : 0);
        rate_count(&l, r, at);
    }
}

static void the_moment_of_a_job_behind_others_is_known(void **state)
{
    static const struct rate rates[] = { { 1, 50, 0 },   { 3, 100, 0 },  { 10, 100, 0 },
                                         { 10, 100, 5 }, { 10, 100, 1 }, { 64, 333, 0 },
                                         { 7, 10, 7 },   { 12, 100, 4 } };

    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++)
        for (uint64_t seed = 1; seed <= 20; seed++)
            assert_foretold(&rates[i], seed);
}

static void a_job_behind_very_many_has_a_moment(void **state)
{
    const struct rate r = { 1, RATE_PER_MAX, 0 }, none = { 0, 0, 0 }, less = { 2, 1000, 0 };
    struct rate_log l = { 0 };

    (void)state;
    assert_int_equal(rate_moment_behind(NULL, &none, 5000, 7), 0);
    assert_int_equal(rate_moment_behind(NULL, &r, 5000, 0), 0);
    assert_int_equal(rate_moment_behind(NULL, &r, 5000, 3), 5000 + 3 * RATE_PER_MAX);
    assert_true(rate_moment_behind(&l, &r, 5000, UINT64_MAX) > INT64_C(1) << 40);
    for (int i = 0; i < 4; i++) /* the rate before allowed more */
        rate_count(&l, &less, 5000 + 100 * i);
    assert_int_equal(rate_moment_behind(&l, &less, 5300, 0), 6200);
    assert_int_equal(rate_moment_behind(&l, &less, 5300, 1), 6300);
    assert_int_equal(rate_moment_behind(&l, &less, 5300, 2), 7200);
}

static void a_log_goes_to_another_clock_and_back(void **state)
{
    const struct rate r = { 3, 1000, 0 };
    struct rate_log l = { 0 }, got = { 0 };
    struct buf b = { 0 };

    (void)state;
    rate_count(&l, &r, 100);
    rate_count(&l, &r, 400);
    rate_count(&l, &r, 400);
    rate_shift(&l, &r, 500, 1790000000000);
    rate_put(&b, &l);
    assert_true(rate_get(buf_view(&b), &got));
    assert_int_equal(got.total, 3);
    assert_int_equal(got.parts, 2);
    rate_shift(&got, &r, 1790000000200, 50); /* another clock, and 200 ms later */
    assert_int_equal(rate_moment(&got, &r, 50), 50 - 600 + 1000);
    rate_shift(&got, &r, -1000000, 70); /* that clock was set back: the jobs were given now */
    assert_int_equal(rate_moment(&got, &r, 70), 1070);
    for (size_t n = 1; n < b.len; n++)
        assert_false(rate_get((struct str){ b.ptr, n }, &got) && got.total == 3);
    buf_fini(&b);
}

static void a_burst_divides_the_rate(void **state)
{
    (void)state;
    assert_true(rate_burst_is_valid(&(struct rate){ 0, 0, 0 }));
    assert_true(rate_burst_is_valid(&(struct rate){ 100, 1000, 10 }));
    assert_false(rate_burst_is_valid(&(struct rate){ 100, 1000, 30 }));
    assert_false(rate_burst_is_valid(&(struct rate){ 100, 1000, 200 }));
    assert_false(rate_burst_is_valid(&(struct rate){ 0, 0, 1 }));
    assert_false(rate_burst_is_valid(&(struct rate){ 10000, 1000, 5 })); /* twice in 1 ms */
    assert_true(rate_burst_is_valid(&(struct rate){ 10000, 1000, 10 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_window_has_more_than_the_rate),
        cmocka_unit_test(all_may_go_at_once_and_come_back_after_the_period),
        cmocka_unit_test(a_burst_goes_in_its_part_of_the_period),
        cmocka_unit_test(a_job_counts_little_longer_than_the_period),
        cmocka_unit_test(the_moment_of_a_job_behind_others_is_known),
        cmocka_unit_test(a_job_behind_very_many_has_a_moment),
        cmocka_unit_test(a_log_goes_to_another_clock_and_back),
        cmocka_unit_test(a_burst_divides_the_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
