/* SPDX-License-Identifier: MIT */
/* Rates that change, and bursts. */
#include "support/tenants.h"

static void a_changed_rate_knows_what_was_given(void **state)
{
    struct job *jobs[10];

    (void)state;
    schedule_many("a@q", 100);
    set_queue("a@q", QUEUE_RATE, (struct queue_settings){ .rate = { 5, 1000, 0 } });
    assert_int_equal(lease_some("a@q", 10, jobs), 5);
    set_queue("a@q", QUEUE_RATE, (struct queue_settings){ .rate = { 6, 2000, 0 } });
    assert_int_equal(lease_some("a@q", 10, jobs), 1);
    pass(1999);
    assert_int_equal(lease_some("a@q", 10, jobs), 0);
    pass(1);
    assert_int_equal(lease_some("a@q", 10, jobs), 6);
}

/* A new rate has no burst, unless one is given. */
static void a_burst_belongs_to_its_rate(void **state)
{
    struct queue_settings s = { .rate = { 10, 1000, 5 } };
    const unsigned rate = 1u << QUEUE_RATE, burst = 1u << QUEUE_BURST;
    struct queue_view v;

    (void)state;
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, rate | burst), 0);
    assert_int_equal(engine_queue_get(e, STR("a@q"), &v), 0);
    assert_int_equal(v.settings->rate.burst, 5);
    s.rate.burst = 3;
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, burst), BELFRY_INVALID);
    assert_string_equal(engine_detail(e), "burst: expected a number that divides the rate's 10");
    s.rate = (struct rate){ 10000, 1000, 5 };
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, rate | burst), BELFRY_INVALID);
    assert_string_equal(engine_detail(e), "burst: expected 10 or more, as the rate allows in 1ms");
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, rate), 0);
    assert_int_equal(engine_queue_get(e, STR("a@q"), &v), 0);
    assert_int_equal(v.settings->rate.burst, 0);
    s.rate = (struct rate){ 0, 0, 5 };
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, rate | burst), BELFRY_INVALID);
    assert_string_equal(engine_detail(e), "burst: there is no rate");
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, rate), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_changed_rate_knows_what_was_given),
        TEST(a_burst_belongs_to_its_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
