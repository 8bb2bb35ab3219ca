/* SPDX-License-Identifier: MIT */
/*
 * How many nominal times there are between two. They are counted by what is larger: whole years or
 * periods of days; runs of elapsed time up to midnight; and where INTERVAL is in seconds, minutes
 * or hours and there are sets of these as well, whole hours, by a table of remainders.
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

/* Seconds from START on: all of a day up to midnight, if the day is admitted. */
static int64_t tally_elapsed(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    int64_t n = 0, at;
    while (n < most && from_s < to_s && expand_next(s, from_s, &at) && at < to_s) {
        int64_t end = (civil_div(at, CIVIL_DAY) + 1) * CIVIL_DAY;
        if (end > to_s)
            end = to_s;
        n += (end - 1 - at) / s->r->interval + 1;
        from_s = end;
    }
    return n;
}

static int64_t one_by_one(struct search *s, int64_t from_s, int64_t to_s)
{
    int64_t n = 0, at;
    while (from_s < to_s && expand_next(s, from_s, &at) && at < to_s) {
        n++;
        from_s = at + 1;
    }
    return n;
}

/* The periods of an hour that the sets of minutes and seconds admit, by their remainders: as the
 * interval goes on from hour to hour, the periods that it meets are those of one remainder. */
struct remainders {
    int64_t periods;        /* of an hour */
    int64_t each;           /* times in a period */
    uint16_t n[CIVIL_HOUR]; /* by remainder, or by period if the interval is longer than an hour */
};

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

static void remainders_init(struct remainders *m, const struct recur *r)
{
    memset(m, 0, sizeof(*m));
    m->periods = CIVIL_HOUR / r->unit_s;
    m->each = times_per_period(r);
    for (int64_t i = 0; i < m->periods; i++) {
        int64_t second = i * r->unit_s;
        if ((r->unit_s > CIVIL_MINUTE || (r->rule.minutes >> (second / CIVIL_MINUTE) & 1)) &&
            (r->unit_s > 1 || (r->rule.seconds >> (second % CIVIL_MINUTE) & 1)))
            m->n[i % r->interval]++;
    }
}

static int64_t tally_hours(const struct search *s, const struct remainders *m, int64_t day,
                           uint32_t hours)
{
    const struct recur *r = s->r;
    int64_t anchor = civil_div(s->anchor_s, r->unit_s), n = 0;
    for (hours &= r->rule.hours; hours; hours &= hours - 1) {
        int64_t period = (day * 24 + __builtin_ctz(hours)) * m->periods;
        int64_t first = civil_mod(anchor - period, r->interval); /* that the interval meets */
        n += first < m->periods ? m->n[first] : 0;
    }
    return n * m->each;
}

/* Whole hours from..to-1, counted from 1970. */
static int64_t whole_hours(struct search *s, int64_t from, int64_t to, int64_t most)
{
    struct remainders m;
    int64_t n = 0;
    remainders_init(&m, s->r);
    while (from < to && n < most && search_step(s)) {
        int64_t day = civil_div(from, 24), admitted = day;
        uint32_t hours = TIMES_ALL_HOURS & ~(uint32_t)bits_low((int)(from - day * 24));
        if (s->r->has_days && !search_admitted(s, &admitted))
            break;
        if (admitted == day) {
            if (to - day * 24 < 24)
                hours &= (uint32_t)bits_low((int)(to - day * 24));
            n += tally_hours(s, &m, day, hours);
            admitted++;
        }
        from = admitted * 24;
    }
    return n;
}

/* The pieces of an hour at either end are counted one by one. */
static int64_t tally_periods(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    int64_t first = civil_div_up(from_s, CIVIL_HOUR), last = civil_div(to_s, CIVIL_HOUR);
    if (last - first < 2)
        return one_by_one(s, from_s, to_s);
    return one_by_one(s, from_s, first * CIVIL_HOUR) + whole_hours(s, first, last, most) +
           one_by_one(s, last * CIVIL_HOUR, to_s);
}

int64_t tally(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct recur *r = s->r;
    int64_t n;
    if (from_s >= to_s)
        return 0;
    s->day_end = civil_div(to_s, CIVIL_DAY) + 1;
    n = r->pace == PACE_ELAPSED ? tally_elapsed(s, from_s, to_s, most)
        : r->unit_s > 0         ? tally_periods(s, from_s, to_s, most)
        : r->has_positions      ? tally_positions(s, from_s, to_s, most)
                                : tally_days(s, from_s, to_s, most);
    s->day_end = SEARCH_DAY_END;
    return n < most && s->steps < s->limit ? n : most;
}
