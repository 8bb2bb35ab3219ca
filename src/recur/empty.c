/* SPDX-License-Identifier: MIT */
/* Rules that can be seen to have no nominal time at all, so that no search need find it out. Those
 * left over end by the steps of a search. */
#include "recur/internal.h"

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool admits_period(const struct recur *r, int64_t second)
{
    const struct rule *rule = &r->rule;
    return (rule->hours >> (second / CIVIL_HOUR) & 1) &&
           (r->unit_s > CIVIL_MINUTE || (rule->minutes >> (second / CIVIL_MINUTE % 60) & 1)) &&
           (r->unit_s > 1 || (rule->seconds >> (second % 60) & 1));
}

/* Periods shorter than a day come, in time, at all those of the day that differ from START's by a
 * multiple of what the interval and the day have in common, and at no others. */
static bool times_of_day_never_meet(const struct recur *r)
{
    int64_t divisor = common_divisor(r->interval, CIVIL_DAY / r->unit_s) * r->unit_s;
    int64_t second = civil_mod(r->start_local_s, CIVIL_DAY);
    for (second = second / r->unit_s * r->unit_s % divisor; second < CIVIL_DAY; second += divisor) {
        if (admits_period(r, second))
            return false;
    }
    return true;
}

/* Every seven days is always the same weekday. */
static bool week_days_never_meet(const struct recur *r)
{
    int start = civil_weekday(civil_div(r->start_local_s, CIVIL_DAY));
    return r->rule.freq == RULE_DAILY && r->interval % 7 == 0 && r->rule.week_days &&
           !(r->rule.week_days >> start & 1);
}

bool recur_is_empty(const struct recur *r)
{
    if (r->times.count == 0)
        return true;
    if (r->has_positions && r->rule.freq <= RULE_DAILY &&
        search_position(&r->rule, r->times.count, 0) < 0)
        return true;
    if (r->unit_s > 0 && r->pace != PACE_ELAPSED && times_of_day_never_meet(r))
        return true;
    return r->unit_s == 0 && week_days_never_meet(r);
}
