/* SPDX-License-Identifier: MIT */
/*
 * The first nominal time from a local time on. The search does not walk from START on. It finds a
 * period that counts by division, a day by the bits of the year's set, and a time of day by rank.
 */
#include "recur/internal.h"

/* Members that are not named here are filled in when they are needed. */
void search_init(struct search *s, const struct recur *r)
{
    s->r = r;
    s->anchor_s = r->start_local_s;
    s->steps = 0;
    s->limit = RECUR_STEPS_MAX;
    s->cost = 0;
    s->most = UINT32_MAX;
    s->gave_up = s->has_jump = s->has_remainders = false;
    s->day_end = SEARCH_DAY_END;
    s->year_first = s->year_end = 0;
    s->known = 0;
}

void search_load(struct search *s, int64_t day)
{
    int64_t year;
    int kind;
    if (day >= s->year_first && day < s->year_end)
        return;
    year = civil_date(day).year;
    kind = days_year_kind(year);
    s->year_first = civil_days(year, 1, 1);
    s->year_end = s->year_first + (civil_is_leap(year) ? 366 : 365);
    s->days = &s->years[kind];
    if (s->known >> kind & 1)
        return;
    days_of_year(&s->r->rule, year, &s->years[kind]);
    s->known |= 1u << kind;
}

int64_t expand_align(const struct recur *r, int64_t from, int64_t at)
{
    int64_t rest;
    if (r->interval == 1)
        return at;
    rest = civil_mod(at - from, r->interval);
    return rest ? at + (r->interval - rest) : at;
}

static int64_t week_of(const struct rule *r, int64_t day)
{
    return civil_div(day + 3 - r->week_start, 7);
}

static int64_t month_of(int64_t day)
{
    struct civil_date d = civil_date(day);
    return d.year * 12 + d.month - 1;
}

static int64_t month_first(int64_t month)
{
    return civil_days(civil_div(month, 12), (int)civil_mod(month, 12) + 1, 1);
}

void search_period(const struct search *s, int64_t day, int64_t *ret_first, int64_t *ret_end)
{
    const struct rule *r = &s->r->rule;
    int64_t start = civil_div(s->r->start_local_s, CIVIL_DAY);
    int64_t n;
    switch (r->freq) {
    case RULE_WEEKLY:
        n = expand_align(s->r, week_of(r, start), week_of(r, day));
        *ret_first = n * 7 - 3 + r->week_start;
        *ret_end = *ret_first + 7;
        break;
    case RULE_MONTHLY:
        n = expand_align(s->r, month_of(start), month_of(day));
        *ret_first = month_first(n);
        *ret_end = month_first(n + 1);
        break;
    case RULE_YEARLY:
        n = expand_align(s->r, civil_date(start).year, civil_date(day).year);
        *ret_first = civil_days(n, 1, 1);
        *ret_end = civil_days(n + 1, 1, 1);
        break;
    default:
        *ret_first = expand_align(s->r, start, day);
        *ret_end = *ret_first + 1;
        break;
    }
}

/* Ends, as a rule that has no day in any kind of year is seen to be empty before. */
bool search_admitted(struct search *s, int64_t *day)
{
    while (*day < s->day_end && search_step(s)) {
        int bit;
        search_load(s, *day);
        bit = bits_next(s->days, (int)(*day - s->year_first));
        if (bit >= 0) {
            *day = s->year_first + bit;
            return *day < s->day_end;
        }
        *day = s->year_end;
    }
    return false;
}

bool search_day(struct search *s, int64_t *day)
{
    while (search_admitted(s, day)) {
        int64_t first, end;
        if (s->r->interval == 1)
            return true;
        search_period(s, *day, &first, &end);
        if (first <= *day)
            return true;
        *day = first;
    }
    return false;
}

/* The first time of a day that is the i-th or a later one; its count if there is none. */
static int64_t chosen(const struct recur *r, int64_t i)
{
    int64_t next = r->has_positions ? search_position(&r->rule, r->times.count, i) : i;
    return next < 0 ? r->times.count : next;
}

static bool next_by_days(struct search *s, int64_t from_s, int64_t *ret_s)
{
    const struct times *t = &s->r->times;
    int64_t day = civil_div(from_s, CIVIL_DAY);
    int64_t at = day;
    while (search_day(s, &at)) {
        int64_t i = at > day ? 0 : times_rank(t, (int)(from_s - day * CIVIL_DAY));
        i = chosen(s->r, i);
        if (i < t->count) {
            *ret_s = at * CIVIL_DAY + times_select(t, (int)i);
            return true;
        }
        at++;
    }
    return false;
}

int search_days(struct search *s, int64_t from, int64_t to)
{
    int n = 0;
    while (from < to) {
        search_load(s, from);
        n += bits_count(s->days, (int)(from - s->year_first),
                        (int)((to < s->year_end ? to : s->year_end) - s->year_first));
        from = s->year_end;
    }
    return n;
}

int64_t search_position(const struct rule *r, int64_t n, int64_t from)
{
    int next, back;
    if (from >= n)
        return -1;
    next = from < BITS_YEAR ? bits_next(&r->positions, (int)from) : -1;
    back = bits_last(&r->positions_back, n - from - 1);
    if (next >= n)
        next = -1;
    if (back < 0 || (next >= 0 && next < n - 1 - back))
        return next;
    return n - 1 - back;
}

int64_t search_day_rank(const struct recur *r, int second)
{
    int64_t before = times_rank(&r->times, second), n = 0;
    if (!r->has_positions)
        return before;
    for (int64_t i = chosen(r, 0); i < before; i = chosen(r, i + 1))
        n++;
    return n;
}

int64_t search_rank(struct search *s, int64_t first, int64_t before_s)
{
    const struct times *t = &s->r->times;
    int64_t day = civil_div(before_s, CIVIL_DAY);
    int64_t n;
    if (day < first)
        return 0;
    n = (int64_t)search_days(s, first, day) * t->count;
    if (search_days(s, day, day + 1))
        n += times_rank(t, (int)(before_s - day * CIVIL_DAY));
    return n;
}

/* The i-th of the set of a period that begins with the day `first`. */
static int64_t select_in_period(struct search *s, int64_t first, int64_t i)
{
    const struct times *t = &s->r->times;
    int days = (int)(i / t->count);
    for (;;) {
        int bit, here;
        search_load(s, first);
        bit = bits_select(s->days, (int)(first - s->year_first), days);
        if (bit >= 0)
            return (s->year_first + bit) * CIVIL_DAY + times_select(t, (int)(i % t->count));
        here = bits_count(s->days, (int)(first - s->year_first), BITS_YEAR);
        days -= here; /* a week may go on into the next year */
        first = s->year_end;
    }
}

/* Periods until the calendar, and so what a rule chooses in them, repeats itself. */
static const uint32_t cycles[] = {
    [RULE_WEEKLY] = 20871, [RULE_MONTHLY] = 4800, [RULE_YEARLY] = CIVIL_CYCLE_YEARS
};

static bool next_by_positions(struct search *s, int64_t from_s, int64_t *ret_s)
{
    const struct recur *r = s->r;
    int64_t day = civil_div(from_s, CIVIL_DAY);
    uint32_t last = s->steps + cycles[r->rule.freq] + 1; /* the first may be cut */
    while (day < s->day_end && s->steps < last && search_step(s)) {
        int64_t first, end, n, i;
        search_period(s, day, &first, &end);
        if (first >= s->day_end)
            return false;
        search_load(s, first);
        if (end <= s->year_end && bits_empty(s->days)) {
            day = s->year_end;
            continue;
        }
        n = (int64_t)search_days(s, first, end) * r->times.count;
        i = search_position(&r->rule, n, search_rank(s, first, from_s));
        if (i >= 0) {
            *ret_s = select_in_period(s, first, i);
            return true;
        }
        day = end;
    }
    return false;
}

/* The first bit >= from of a word; if there is none, the first of the next round. */
static int next_bit(uint64_t word, int from, int round)
{
    uint64_t rest = word & ~bits_low(from);
    return rest ? __builtin_ctzll(rest) : round + __builtin_ctzll(word);
}

/* Moves a local second on to the next one that the sets of days, hours and, in short periods,
 * minutes and seconds admit. True if it did not have to move. */
static bool admit(struct search *s, int64_t *at_s)
{
    const struct recur *r = s->r;
    int64_t day = civil_div(*at_s, CIVIL_DAY);
    int second = (int)(*at_s - day * CIVIL_DAY);
    int hour = second / CIVIL_HOUR, minute = second / CIVIL_MINUTE % 60;
    int64_t hour_s = *at_s - second % CIVIL_HOUR;
    int64_t next;
    if (r->has_days) {
        search_load(s, day);
        next = bits_next(s->days, (int)(day - s->year_first));
        if (next < 0 || s->year_first + next != day) {
            *at_s = (next < 0 ? s->year_end : s->year_first + next) * CIVIL_DAY;
            return false;
        }
    }
    next = next_bit(r->rule.hours, hour, 24);
    if (next != hour) {
        *at_s = day * CIVIL_DAY + next * CIVIL_HOUR;
        return false;
    }
    if (r->unit_s > CIVIL_MINUTE)
        return true;
    next = next_bit(r->rule.minutes, minute, 60);
    if (next != minute) {
        *at_s = hour_s + next * CIVIL_MINUTE;
        return false;
    }
    if (r->unit_s > 1)
        return true;
    next = next_bit(r->rule.seconds, second % 60, 60);
    *at_s += next - second % 60;
    return next == second % 60;
}

/* Most rules are found in a few steps; those that are not look how far to go. */
#define PATIENCE 32

const struct jump *search_jump(struct search *s)
{
    if (!s->has_jump)
        jump_init(&s->jump, s->r);
    s->has_jump = true;
    return &s->jump;
}

/* Goes on to the first period of the interval at an admitted time of day or week. False if none
 * ever is. */
static bool jump(struct search *s, int64_t from_period, int64_t *from_s)
{
    const struct recur *r = s->r;
    int64_t here = civil_div(*from_s, r->unit_s);
    int64_t period = expand_align(r, from_period, here), k;
    k = jump_steps(search_jump(s), period, r->interval);
    search_charge(s, 4 + (uint32_t)s->jump.n / 6); /* each run takes about a dozen divisions */
    if (k < 0 || k > (s->day_end * CIVIL_DAY - period * r->unit_s) / (r->interval * r->unit_s))
        return false;
    period += k * r->interval;
    if (period > here)
        *from_s = period * r->unit_s;
    return true;
}

/* Periods shorter than a day. */
static bool next_by_periods(struct search *s, int64_t from_s, int64_t *ret_s)
{
    const struct recur *r = s->r;
    int64_t from_period = civil_div(s->anchor_s, r->unit_s);
    uint32_t patience = s->steps + PATIENCE;
    while (from_s < s->day_end * CIVIL_DAY && search_step(s)) {
        int64_t here, period, i;
        if ((s->has_jump || s->steps > patience) && !jump(s, from_period, &from_s))
            return false;
        if (!admit(s, &from_s))
            continue;
        here = civil_div(from_s, r->unit_s);
        period = expand_align(r, from_period, here);
        if (period != here) {
            from_s = period * r->unit_s;
            continue;
        }
        if (r->unit_s == 1) {
            *ret_s = from_s;
            return true;
        }
        i = times_rank(&r->times, (int)(from_s - period * r->unit_s));
        if (r->has_positions)
            i = search_position(&r->rule, r->times.count, i);
        if (i >= 0 && i < r->times.count) {
            *ret_s = period * r->unit_s + times_select(&r->times, (int)i);
            return true;
        }
        from_s = (period + 1) * r->unit_s;
    }
    return false;
}

bool expand_next(struct search *s, int64_t from_s, int64_t *ret_s)
{
    if (s->r->unit_s > 0)
        return next_by_periods(s, from_s, ret_s);
    return s->r->has_positions && s->r->rule.freq > RULE_DAILY ? next_by_positions(s, from_s, ret_s)
                                                               : next_by_days(s, from_s, ret_s);
}
