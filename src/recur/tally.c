/* SPDX-License-Identifier: MIT */
/*
 * How many nominal times there are between two. They are counted by larger units: whole years or
 * periods of days, and runs of elapsed time up to midnight. A rule may have an INTERVAL in seconds,
 * minutes or hours, and sets of these as well. Then whole hours are counted, by a table of
 * remainders.
 */
#include "recur/internal.h"

static bool day_counts(struct search *s, int64_t day)
{
    int64_t found = day;
    return search_day(s, &found) && found == day;
}

static int64_t whole_days(struct search *s, int64_t from, int64_t to, int64_t most)
{
    int64_t n = 0;
    while (from < to && n < most && search_step(s)) {
        int64_t first, end;
        if (s->r->interval == 1) {
            search_load(s, from);
            end = s->year_end;
        } else {
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
    const struct recur *r = s->r;
    int64_t first = civil_div(from_s, CIVIL_DAY), last = civil_div(to_s, CIVIL_DAY);
    int64_t n = 0;
    if (day_counts(s, first))
        n -= search_day_rank(r, (int)(from_s - first * CIVIL_DAY));
    /* One more than is asked for, as the first may be cut. */
    n += whole_days(s, first, last, most + 1) * search_day_rank(r, (int)CIVIL_DAY);
    if (day_counts(s, last))
        n += search_day_rank(r, (int)(to_s - last * CIVIL_DAY));
    return n;
}

static int64_t tally_positions(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct recur *r = s->r;
    int64_t day = civil_div(from_s, CIVIL_DAY), first, end;
    int64_t n = 0;
    for (; n < most && day < s->day_end && search_step(s); day = end) {
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

/* The end of the days that are admitted without a gap from `day` on, which is; within its year. */
static int64_t admitted_end(struct search *s, int64_t day)
{
    if (!s->r->has_days)
        return s->day_end;
    search_load(s, day);
    do
        day++;
    while (day < s->year_end && bits_has(s->days, (int)(day - s->year_first)));
    return day;
}

/* Seconds from START on: all of the days that are admitted. */
static int64_t tally_elapsed(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct recur *r = s->r;
    int64_t n = 0, at = expand_align(r, s->anchor_s, from_s);
    while (n < most && at < to_s && search_step(s)) {
        int64_t day = civil_div(at, CIVIL_DAY), admitted = day;
        if (r->has_days && !search_admitted(s, &admitted))
            break;
        if (admitted == day) {
            int64_t end = admitted_end(s, day) * CIVIL_DAY;
            int64_t more = ((end < to_s ? end : to_s) - 1 - at) / r->interval + 1;
            n += more;
            at += more * r->interval;
        } else {
            at = expand_align(r, s->anchor_s, admitted * CIVIL_DAY);
        }
    }
    return n;
}

static int64_t one_by_one(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    int64_t n = 0, at;
    while (n < most && from_s < to_s && expand_next(s, from_s, &at) && at < to_s) {
        n++;
        from_s = at + 1;
    }
    return n;
}

static int64_t times_per_period(const struct recur *r)
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

/* Counts the periods of an hour, one after another; `rest` goes round by the interval. */
static void remainders_count(struct remainders *m, const struct recur *r)
{
    int64_t rest = 0;
    int per_minute = r->unit_s == 1 ? 60 : 1;
    for (int64_t i = 0; i < m->periods / per_minute; i++) {
        uint64_t seconds = r->unit_s == 1 ? r->rule.seconds : 1;
        if (r->unit_s <= CIVIL_MINUTE && !(r->rule.minutes >> i & 1))
            seconds = 0;
        for (int second = 0; second < per_minute; second++) {
            m->n[rest] = (uint16_t)(m->n[rest] + (seconds >> second & 1));
            rest = rest + 1 < r->interval ? rest + 1 : 0;
        }
    }
}

static const struct remainders *remainders_of(struct search *s)
{
    const struct recur *r = s->r;
    struct remainders *m = &s->remainders;
    if (s->has_remainders)
        return m;
    m->periods = CIVIL_HOUR / r->unit_s;
    m->each = times_per_period(r);
    memset(m->n, 0, (size_t)m->periods * sizeof(*m->n));
    remainders_count(m, r);
    for (int i = 0; i < 24; i++)
        m->hours[i] = i * m->periods % r->interval;
    m->day = 24 * m->periods % r->interval;
    s->has_remainders = true;
    return m;
}

/* `first` is the remainder that the interval meets at the day's beginning. */
static int64_t tally_hours(const struct recur *r, const struct remainders *m, int64_t first,
                           uint32_t hours)
{
    int64_t n = 0;
    for (hours &= r->rule.hours; hours; hours &= hours - 1) {
        int64_t rest = first - m->hours[__builtin_ctz(hours)];
        rest += rest < 0 ? r->interval : 0;
        n += rest < m->periods ? m->n[rest] : 0;
    }
    return n * m->each;
}

/* Whole hours from..to-1, counted from 1970. */
static int64_t whole_hours(struct search *s, int64_t from, int64_t to, int64_t most)
{
    const struct recur *r = s->r;
    int64_t anchor = civil_div(s->anchor_s, r->unit_s);
    int64_t day = civil_div(from, 24), known = INT64_MIN, first = 0, n = 0;
    uint32_t hours = TIMES_ALL_HOURS & ~(uint32_t)bits_low((int)(from - day * 24));
    const struct remainders *m = remainders_of(s);
    while (day * 24 < to && n < most && search_step(s)) {
        int64_t admitted = day;
        if (r->has_days && !search_admitted(s, &admitted))
            break;
        if (admitted != day) {
            day = admitted;
            hours = TIMES_ALL_HOURS;
            continue;
        }
        if (to - day * 24 < 24)
            hours &= (uint32_t)bits_low((int)(to - day * 24));
        if (day == known + 1) /* division is what takes time */
            first += first < m->day ? r->interval - m->day : -m->day;
        else
            first = civil_mod(anchor - day * 24 * m->periods, r->interval);
        n += tally_hours(r, m, first, hours);
        known = day++;
        hours = TIMES_ALL_HOURS;
    }
    return n;
}

/* The pieces of an hour at either end are counted one by one, and so is what comes less than once a
 * day. */
static int64_t tally_periods(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    int64_t first = civil_div_up(from_s, CIVIL_HOUR), last = civil_div(to_s, CIVIL_HOUR);
    if (last - first < 2 || s->r->interval * s->r->unit_s > CIVIL_DAY)
        return one_by_one(s, from_s, to_s, most);
    return one_by_one(s, from_s, first * CIVIL_HOUR, most) + whole_hours(s, first, last, most) +
           one_by_one(s, last * CIVIL_HOUR, to_s, most);
}

int64_t tally(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct recur *r = s->r;
    int64_t n;
    if (from_s >= to_s)
        return 0;
    s->day_end = civil_div(to_s, CIVIL_DAY) + 1;
    n = r->pace == PACE_ELAPSED                         ? tally_elapsed(s, from_s, to_s, most)
        : r->unit_s > 0                                 ? tally_periods(s, from_s, to_s, most)
        : r->has_positions && r->rule.freq > RULE_DAILY ? tally_positions(s, from_s, to_s, most)
                                                        : tally_days(s, from_s, to_s, most);
    s->day_end = SEARCH_DAY_END;
    return n < most ? n : most;
}
