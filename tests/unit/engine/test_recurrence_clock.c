/* SPDX-License-Identifier: MIT */
/* Recurrences, when the clock is set, the zone is gone or the disk is full. */
#include "support/recurring.h"

static void a_clock_set_back_makes_nothing_twice(void **state)
{
    struct recurrence_spec s = every("10s");

    (void)state;
    recur(&s);
    assert_int_equal(run_one(), START);
    pass(10 * SECOND);
    assert_int_equal(run_one(), START + 10 * SECOND);
    wall -= HOUR;
    engine_advance(e, wall, mono);
    work();
    pass(HOUR - 1);
    assert_int_equal(run_one(), -1);
    pass(10 * SECOND + 1);
    assert_int_equal(run_one(), START + 20 * SECOND);
    assert_int_equal(decided(), 3);
}

/* It is due by one clock, and when its turn comes not any more by another. */
static void a_clock_set_back_before_it_fires(void **state)
{
    struct recurrence_spec s = every("10s");

    (void)state;
    recur(&s);
    run_one();
    wall += 10 * SECOND;
    engine_advance(e, wall, mono);
    wall -= 5 * SECOND;
    engine_advance(e, wall, mono);
    work();
    assert_int_equal(decided(), 1);
    pass(5 * SECOND);
    assert_int_equal(run_one(), START + 10 * SECOND);
}

static void a_clock_set_forward_misses_what_is_between(void **state)
{
    struct recurrence_spec s = every("10s");

    (void)state;
    recur(&s);
    run_one();
    wall += HOUR;
    engine_advance(e, wall, mono);
    work();
    assert_int_equal(run_one(), START + HOUR);
    assert_int_equal(total(LEDGER_MISSED), 359);
    check_entry(view()->ledger[1], LEDGER_MISSED, START + 10 * SECOND, START + HOUR - 10 * SECOND,
                359);
}

static void without_its_zone_it_waits_for_it(void **state)
{
    struct recurrence_spec s = every("10m");

    (void)state;
    s.zone = STR("Europe/Berlin");
    recur(&s);
    run_one();
    zones_gone = true;
    pass(10 * MINUTE);
    pass(3 * MINUTE);
    restart(0);
    work();
    assert_int_equal(decided(), 1);
    pass(3 * MINUTE);
    zones_gone = false;
    pass(MINUTE);
    assert_int_equal(run_one(), START + 10 * MINUTE);
    assert_int_equal(decided(), 2);
    zones_gone = true; /* an edit needs it, a delete does not */
    s.rule = STR("1m");
    assert_int_equal(refused(&s), BELFRY_INVALID);
    assert_int_equal(engine_recurrence_delete(e, STR("default"), STR("r")), 0);
}

static void a_full_disk_puts_it_off(void **state)
{
    struct recurrence_spec s = every("10m");

    (void)state;
    recur(&s);
    run_one();
    engine_refuse_new(e, true);
    pass(10 * MINUTE);
    assert_int_equal(decided(), 1);
    s.rule = STR("1m");
    assert_int_equal(refused(&s), BELFRY_FULL);
    assert_int_equal(engine_recurrence_run(e, STR("default"), STR("r"), &(struct job_id){ 0 }),
                     BELFRY_FULL);
    engine_refuse_new(e, false);
    pass(30 * SECOND);
    assert_int_equal(run_one(), START + 10 * MINUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_clock_set_back_makes_nothing_twice),
        TEST(a_clock_set_back_before_it_fires),
        TEST(a_clock_set_forward_misses_what_is_between),
        TEST(without_its_zone_it_waits_for_it),
        TEST(a_full_disk_puts_it_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
