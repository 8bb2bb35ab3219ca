/* SPDX-License-Identifier: MIT */
/*
 * The nominal times of a rule. Most rules are START and so many periods. A daily rule fires at
 * START's time of day as clocks in Berlin show it, which the model knows by heart:
 *
 *     summer time   from the last Sunday of March, 01:00 UTC, to that of October, 01:00 UTC
 *     in the gap    a time of day that a clock leaves out is the end of the gap, to the second
 *     twice         a time of day that a clock shows twice is the first of the two
 */
#include "sim/cover.h"
#include "sim/model_job.h"

#define SECOND    INT64_C(1000)
#define HOUR      (3600 * SECOND)
#define DAY       (24 * HOUR)
#define LAST_TIME INT64_C(253402300799999)

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The last Sunday before a day of a year (0: 1 January), as days since 1970; 1 January 1970 was a
 * Thursday. */
static int64_t sunday_before(int64_t year_day, int64_t in_year)
{
    int64_t last = year_day + in_year - 1;

    return last - (last + 4) % 7;
}

/* Fills in from when to when it is summer time in the year of a moment. */
static void summer_of(int64_t ms, int64_t *ret_from, int64_t *ret_to)
{
    int64_t year = 1970, day = 0;

    while ((day + 365 + is_leap(year)) * DAY <= ms)
        day += 365 + is_leap(year++);
    *ret_from = sunday_before(day, 90 + is_leap(year)) * DAY + HOUR;
    *ret_to = sunday_before(day, 304 + is_leap(year)) * DAY + HOUR;
}

static int64_t offset_at(int64_t ms)
{
    int64_t from, to;

    summer_of(ms, &from, &to);
    return ms >= from && ms < to ? 2 * HOUR : HOUR;
}

int64_t model_rule_moment(int64_t local_ms)
{
    int64_t from, to;

    if (offset_at(local_ms - 2 * HOUR) == 2 * HOUR)
        return local_ms - 2 * HOUR;
    if (offset_at(local_ms - HOUR) == HOUR)
        return local_ms - HOUR;
    summer_of(local_ms, &from, &to);
    return from + local_ms % SECOND;
}

/* The nominal time behind n others. */
static int64_t nth(const struct model_recur *s, int64_t n)
{
    if (!s->daily)
        return s->start_ms + n * s->period_ms;
    return model_rule_moment(s->start_ms + offset_at(s->start_ms) + n * s->period_ms);
}

int64_t model_rule_after(const struct model_recur *s, int64_t ms)
{
    int64_t n = ms < s->start_ms ? 0 : (ms - s->start_ms) / s->period_ms;

    n = s->daily && n > 0 ? n - 1 : n;
    while (nth(s, n) <= ms)
        n++;
    return (s->count > 0 && n >= s->count) || nth(s, n) > LAST_TIME ? -1 : nth(s, n);
}

void model_rule_cover(const struct model_recur *s, int64_t ms)
{
    int64_t from, to, shown = s->start_ms + offset_at(s->start_ms);

    summer_of(ms, &from, &to);
    if (s->daily && ms - ms % SECOND == from && shown % DAY < 3 * HOUR)
        cover_event(EVENT_RECUR_GAP);
    if (s->daily && ms >= to - HOUR && ms < to)
        cover_event(EVENT_RECUR_TWICE);
}
