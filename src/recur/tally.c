/* SPDX-License-Identifier: MIT */
/* How many nominal times there are between two: by years, periods or days at a time, not one by
 * one, but for INTERVAL in periods shorter than a day together with BY parts of the time of day. */
#include "recur/internal.h"

static bool day_counts(struct search *s, int64_t day)
{
    int64_t found = day;
    s->steps = 0;
    return search_day(s, &found) && found == day;
}

static int64_t whole_days(struct search *s, int64_t from, int64_t to, int64_t most)
{
    int64_t n = 0;
    while (from < to && n < most) {
        int64_t first, end;
        if (s->r->interval == 1) {
            search_load(s, from);
            end = s->year_end;
        } else {
            s->steps = 0;
            if (!search_day(s, &from) || from >= to)
                break;
            search_period(s, from, &first, &end);
        }
        n += search_days(s, from, end < to ? end : to);
        from = end;
    }
    return n;
}

static int64_t tally_days(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct times *t = &s->r->times;
    int64_t first = civil_div(from_s, CIVIL_DAY), last = civil_div(to_s, CIVIL_DAY);
    int64_t n = 0;
    if (day_counts(s, first))
        n -= times_rank(t, (int)(from_s - first * CIVIL_DAY));
    n += whole_days(s, first, last, most + 1) * t->count; /* one more, as the first may be cut */
    if (day_counts(s, last))
        n += times_rank(t, (int)(to_s - last * CIVIL_DAY));
    return n;
}

static int64_t tally_positions(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct recur *r = s->r;
    int64_t day = civil_div(from_s, CIVIL_DAY), first, end;
    int64_t n = 0;
    for (; n < most && day < SEARCH_DAY_END; day = end) {
        int64_t all, low, high;
        search_period(s, day, &first, &end);
        if (first * CIVIL_DAY >= to_s)
            break;
        all = (int64_t)search_days(s, first, end) * r->times.count;
        low = search_rank(s, first, from_s);
        high = to_s < end * CIVIL_DAY ? search_rank(s, first, to_s) : all;
        for (;;) {
            low = search_position(&r->rule, all, low);
            if (low < 0 || low >= high)
                break;
            low++;
            n++;
        }
    }
    return n;
}

/* Up to where all periods are admitted from here on, if they are in the interval. */
static int64_t run_end(const struct recur *r, int64_t at_s)
{
    if (r->unit_s == 1 && r->rule.seconds != TIMES_ALL)
        return at_s + 1;
    if (r->unit_s <= CIVIL_MINUTE && r->rule.minutes != TIMES_ALL)
        return (civil_div(at_s, CIVIL_MINUTE) + 1) * CIVIL_MINUTE;
    if (r->rule.hours != TIMES_ALL_HOURS)
        return (civil_div(at_s, CIVIL_HOUR) + 1) * CIVIL_HOUR;
    if (r->has_days)
        return (civil_div(at_s, CIVIL_DAY) + 1) * CIVIL_DAY;
    return SEARCH_DAY_END * CIVIL_DAY;
}

static int64_t per_period(const struct recur *r)
{
    int64_t n = 0, i = -1;
    if (r->unit_s == 1)
        return 1;
    if (!r->has_positions)
        return r->times.count;
    while ((i = search_position(&r->rule, r->times.count, i + 1)) >= 0)
        n++;
    return n;
}

/* Runs of whole periods are counted at once, what is left at either end one by one. */
static int64_t tally_periods(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct recur *r = s->r;
    int64_t each = per_period(r), n = 0, at;
    s->steps = 0;
    while (n < most && expand_next(s, from_s, &at) && at < to_s) {
        int64_t period = civil_div(at, r->unit_s), end = run_end(r, at), periods;
        if (end > to_s)
            end = to_s;
        periods = civil_div(end, r->unit_s) - period; /* that are whole */
        if (periods > 0 && from_s <= period * r->unit_s) {
            periods = (periods - 1) / r->interval + 1;
            n += periods * each;
            from_s = (period + (periods - 1) * r->interval + 1) * r->unit_s;
        } else {
            n++;
            from_s = at + 1;
        }
        s->steps = 0;
    }
    return n;
}

int64_t tally(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    int64_t n = 0;
    uint32_t steps = s->steps;
    if (from_s < to_s) {
        n = s->r->unit_s > 0      ? tally_periods(s, from_s, to_s, most)
            : s->r->has_positions ? tally_positions(s, from_s, to_s, most)
                                  : tally_days(s, from_s, to_s, most);
    }
    s->steps = steps;
    return n < most ? n : most;
}
