/* SPDX-License-Identifier: MIT */
/*
 * Where an interval first meets a set of times of the day or week. Every INTERVAL-th period goes
 * round the clock, or round the week. Going from one to the next may take years of periods. The
 * first that falls into a stretch of the circle is found by remainders instead, as the greatest
 * common divisor is.
 */
#include "recur/internal.h"

#define RUNS_MAX JUMP_RUNS_MAX

/* The smallest k >= 0 with low <= k * step mod round <= high; -1 if there is none. All are below
 * `round`, and low <= high. */
static int64_t first_multiple(int64_t step, int64_t round, int64_t low, int64_t high)
{
    int64_t k, turns;
    if (low == 0)
        return 0;
    if (step == 0)
        return -1;
    k = civil_div_up(low, step);
    if (k * step <= high)
        return k;
    /* Not in the first turn. A turn begins with some remainder of `step`: which one fits? */
    turns = first_multiple(round % step, step, civil_mod(-high, step), civil_mod(-low, step));
    return turns < 0 ? -1 : civil_div_up(low + round * turns, step);
}

/* Runs that touch are one. False if there is no room. */
static bool add_run(struct jump *j, int64_t first, int64_t end)
{
    if (j->n > 0 && j->runs[j->n - 1].end == first) {
        j->runs[j->n - 1].end = end;
        return true;
    }
    if (j->n == RUNS_MAX)
        return false;
    j->runs[j->n].first = first;
    j->runs[j->n++].end = end;
    return true;
}

/* Bits of a word as runs of so many seconds each, from `at` on. */
static bool add_bits(struct jump *j, uint64_t word, int64_t at, int64_t each)
{
    for (; word; word &= word - 1) {
        int64_t first = at + __builtin_ctzll(word) * each;
        if (!add_run(j, first, first + each))
            return false;
    }
    return true;
}

/* The times of one day, looking at hours, at minutes too, or at seconds too. */
static bool add_day(struct jump *j, const struct rule *r, int64_t at, int64_t finest)
{
    if (finest == CIVIL_HOUR)
        return add_bits(j, r->hours, at, CIVIL_HOUR);
    for (uint32_t hours = r->hours; hours; hours &= hours - 1) {
        int64_t hour = at + (int64_t)__builtin_ctz(hours) * CIVIL_HOUR;
        if (finest == CIVIL_MINUTE) {
            if (!add_bits(j, r->minutes, hour, CIVIL_MINUTE))
                return false;
            continue;
        }
        for (uint64_t minutes = r->minutes; minutes; minutes &= minutes - 1) {
            if (!add_bits(j, r->seconds, hour + (int64_t)__builtin_ctzll(minutes) * CIVIL_MINUTE,
                          1))
                return false;
        }
    }
    return true;
}

static bool add_all(struct jump *j, const struct rule *r, int64_t finest)
{
    j->n = 0;
    if (!r->week_days)
        return add_day(j, r, 0, finest);
    for (int day = 0; day < 7; day++) {
        if ((r->week_days >> day & 1) && !add_day(j, r, day * CIVIL_DAY, finest))
            return false;
    }
    return true;
}

void jump_init(struct jump *j, const struct recur *r)
{
    const struct rule *rule = &r->rule;
    int64_t finest = r->unit_s;
    if (finest == 1 && rule->seconds == TIMES_ALL)
        finest = CIVIL_MINUTE;
    if (finest == CIVIL_MINUTE && rule->minutes == TIMES_ALL)
        finest = CIVIL_HOUR;
    j->exact = true;
    while (!add_all(j, rule, finest)) { /* hours alone always have room */
        finest = finest == 1 ? CIVIL_MINUTE : CIVIL_HOUR;
        j->exact = false;
    }
    j->round = (rule->week_days ? 7 * CIVIL_DAY : CIVIL_DAY) / r->unit_s;
    j->shift = rule->week_days ? 3 * CIVIL_DAY / r->unit_s : 0; /* 1970 began with a Thursday */
    for (int i = 0; i < j->n; i++) {
        j->runs[i].first /= r->unit_s;
        j->runs[i].end /= r->unit_s;
    }
}

/* As above, for one run and from any place of the circle. */
static int64_t steps_to(const struct jump *j, int64_t at, int64_t step, int i)
{
    int64_t low = civil_mod(j->runs[i].first - at, j->round);
    int64_t high = low + (j->runs[i].end - j->runs[i].first) - 1;
    return high >= j->round ? 0 : first_multiple(step, j->round, low, high);
}

int64_t jump_steps(const struct jump *j, int64_t period, int64_t interval)
{
    int64_t at = civil_mod(period + j->shift, j->round);
    int64_t least = -1;
    for (int i = 0; i < j->n && least != 0; i++) {
        int64_t k = steps_to(j, at, interval % j->round, i);
        if (k >= 0 && (least < 0 || k < least))
            least = k;
    }
    return least;
}
