/* SPDX-License-Identifier: MIT */
/* Finds rules that can be seen to have no nominal time at all, so that no search is needed. For any
 * other rule without a nominal time, a search ends by its number of steps. */
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

/* For periods shorter than a day. Let g be the greatest common divisor of interval and day. Over
 * the days, the rule comes to every period of the day whose distance to START's is a multiple of g,
 * and to no other. */
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

bool elapsed_never_meets(const struct recur *r, const struct jump *j, int64_t since_s)
{
    for (size_t i = zone_offsets(r->zone); i > 0; i--) {
        int32_t offset;
        if (!zone_offset(r->zone, i - 1, since_s, &offset))
            break; /* and so are all before it */
        if (jump_steps(j, r->start_s + offset, r->interval) >= 0)
            return false;
    }
    return true;
}

static bool periods_never_meet(const struct recur *r)
{
    struct jump j;
    jump_init(&j, r);
    if (r->pace == PACE_ELAPSED)
        return elapsed_never_meets(r, &j, r->start_s);
    if (jump_steps(&j, civil_div(r->start_local_s, r->unit_s), r->interval) < 0)
        return true;
    return !j.exact && times_of_day_never_meet(r);
}

/* These 28 years, without an omitted leap year among them, are of all kinds that there are. */
#define KINDS_FIRST INT64_C(2104)
#define KINDS_END   (KINDS_FIRST + YEAR_KINDS)

static bool days_never_come(const struct recur *r)
{
    for (int64_t year = KINDS_FIRST; year < KINDS_END; year++) {
        struct bits days;
        days_of_year(&r->rule, year, &days);
        if (!bits_empty(&days))
            return false;
    }
    return true;
}

/* The most days that a year, or a month of it, has. */
static int most_days_in(const struct recur *r, int64_t year)
{
    int most = 0, first = 0;
    struct bits days;
    days_of_year(&r->rule, year, &days);
    if (r->rule.freq == RULE_YEARLY)
        return bits_count(&days, 0, BITS_YEAR);
    for (int month = 1; month <= 12; month++) {
        int end = first + civil_month_days(year, month);
        int n = bits_count(&days, first, end);
        most = n > most ? n : most;
        first = end;
    }
    return most;
}

/* BYSETPOS of periods that have fewer times than that. */
static bool positions_never_come(const struct recur *r)
{
    int most = 1;
    if (r->rule.freq == RULE_WEEKLY)
        most = bits_count_word(r->rule.week_days);
    for (int64_t year = KINDS_FIRST; year < KINDS_END && r->rule.freq > RULE_WEEKLY; year++) {
        int n = most_days_in(r, year);
        most = n > most ? n : most;
    }
    return search_position(&r->rule, (int64_t)most * r->times.count, 0) < 0;
}

/* Every seven days is always one weekday. */
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
    if (days_never_come(r) || (r->has_positions && positions_never_come(r)))
        return true;
    return r->unit_s > 0 ? periods_never_meet(r) : week_days_never_meet(r);
}
