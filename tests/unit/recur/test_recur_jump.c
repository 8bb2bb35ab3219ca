/* SPDX-License-Identifier: MIT */
/* How far an interval goes to meet a set of times, against going there one by one. */
#include "support/recurs.h"

#include "recur/internal.h"

static uint64_t seed = 1;

static int64_t draw(int64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static uint64_t draw_set(int of, int most)
{
    uint64_t set = 0;
    for (int64_t n = 1 + draw(most); n > 0; n--)
        set |= UINT64_C(1) << draw(of);
    return set;
}

/* Sets are small, large or whole. */
static struct recur draw_recur(void)
{
    static const int64_t units[] = { 1, CIVIL_MINUTE, CIVIL_HOUR };
    int most = draw(2) ? 3 : 60;
    return (struct recur){
        .unit_s = units[draw(3)],
        .interval = 1 + draw(draw(2) ? 200000 : 2000),
        .rule = { .hours = draw(3) ? (uint32_t)draw_set(24, most) : TIMES_ALL_HOURS,
                  .minutes = draw(3) ? draw_set(60, most) : TIMES_ALL,
                  .seconds = draw(3) ? draw_set(60, most) : TIMES_ALL,
                  .week_days = (uint8_t)(draw(2) ? draw_set(7, 3) : 0) },
    };
}

static bool admits(const struct recur *r, int64_t period)
{
    int64_t at = period * r->unit_s, second = civil_mod(at, CIVIL_DAY);
    const struct rule *rule = &r->rule;
    return (!rule->week_days || (rule->week_days >> civil_weekday(civil_div(at, CIVIL_DAY)) & 1)) &&
           (rule->hours >> (second / CIVIL_HOUR) & 1) &&
           (r->unit_s > CIVIL_MINUTE || (rule->minutes >> (second / CIVIL_MINUTE % 60) & 1)) &&
           (r->unit_s > 1 || (rule->seconds >> (second % 60) & 1));
}

/* All periods repeat themselves after as many intervals as a week has periods. */
static int64_t one_by_one(const struct recur *r, int64_t period)
{
    for (int64_t k = 0; k < 7 * CIVIL_DAY / r->unit_s; k++) {
        if (admits(r, period + k * r->interval))
            return k;
    }
    return -1;
}

static void an_interval_meets_its_times_where_stepping_finds_them(void **state)
{
    int exact = 0, never = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct recur r = draw_recur();
        int64_t period = draw(40000000) - 1000000, got, want;
        struct jump j;
        jump_init(&j, &r);
        got = jump_steps(&j, period, r.interval);
        want = one_by_one(&r, period);
        /* Runs that hold more than the rule are met earlier, never later. */
        if (j.exact ? got != want : (want >= 0 && (got < 0 || got > want)))
            fail_msg("number %d: %jd, not %jd", i, (intmax_t)got, (intmax_t)want);
        exact += j.exact;
        never += want < 0;
    }
    assert_true(exact > 5000 && exact < 20000 && never > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_meets_its_times_where_stepping_finds_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
