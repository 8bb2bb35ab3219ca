/* SPDX-License-Identifier: MIT */
/* The days of a year that a rule admits. Each part of the rule is a set of days; the rule admits
 * the days that all sets have in common. */
#include "recur/internal.h"

struct year {
    int64_t year;
    int len;
    int weekday;   /* of January 1 */
    int month[13]; /* the first day of each month, from 0; then the year's end */
};

static void year_init(struct year *y, int64_t year)
{
    y->year = year;
    y->len = civil_is_leap(year) ? 366 : 365;
    y->weekday = civil_weekday(civil_days(year, 1, 1));
    y->month[0] = 0;
    for (int m = 1; m <= 12; m++)
        y->month[m] = y->month[m - 1] + civil_month_days(year, m);
}

static void add_months(const struct rule *r, const struct year *y, struct bits *ret)
{
    for (int m = 0; m < 12; m++) {
        if (r->months >> (m + 1) & 1)
            bits_add_range(ret, y->month[m], y->month[m + 1]);
    }
}

static void add_month_days(const struct rule *r, const struct year *y, struct bits *ret)
{
    for (int m = 0; m < 12; m++) {
        int len = y->month[m + 1] - y->month[m];
        uint64_t days = r->month_days >> 1;
        for (uint64_t back = r->month_days_back; back; back &= back - 1) {
            int n = __builtin_ctzll(back);
            if (n <= len)
                days |= UINT64_C(1) << (len - n);
        }
        bits_or_word(ret, y->month[m], days & bits_low(len));
    }
}

#define WEEKS_IN_WORD 9

static void add_week_days(const struct rule *r, const struct year *y, struct bits *ret)
{
    uint64_t week = 0, weeks = 0;
    for (int i = 0; i < 7; i++)
        week |= (uint64_t)(r->week_days >> ((y->weekday + i) % 7) & 1) << i;
    for (int i = 0; i < WEEKS_IN_WORD; i++)
        weeks |= week << (i * 7);
    for (int at = 0; at < y->len; at += WEEKS_IN_WORD * 7)
        bits_or_word(ret, at, weeks);
}

/* The first Monday, the last Friday and so on, of the days first .. end-1. */
static void add_nth(const struct rule *r, const struct year *y, int first, int end,
                    struct bits *ret)
{
    for (int w = 0; w < 7; w++) {
        int early = first + (w - (y->weekday + first) % 7 + 7) % 7;
        int late = end - 1 - ((y->weekday + end - 1) % 7 - w + 7) % 7;
        for (uint64_t n = r->nth[w]; n; n &= n - 1) {
            int day = early + (__builtin_ctzll(n) - 1) * 7;
            if (day < end)
                bits_add(ret, day);
        }
        for (uint64_t n = r->nth_back[w]; n; n &= n - 1) {
            int day = late - (__builtin_ctzll(n) - 1) * 7;
            if (day >= first)
                bits_add(ret, day);
        }
    }
}

/* Numbers count within the year, or within each month if months are what the rule goes by. */
static void add_all_nth(const struct rule *r, const struct year *y, struct bits *ret)
{
    if (r->freq == RULE_YEARLY && !r->months) {
        add_nth(r, y, 0, y->len, ret);
        return;
    }
    for (int m = 0; m < 12; m++) {
        if (!r->months || r->months >> (m + 1) & 1)
            add_nth(r, y, y->month[m], y->month[m + 1], ret);
    }
}

static void add_year_days(const struct rule *r, const struct year *y, struct bits *ret)
{
    *ret = r->year_days;
    for (int i = bits_next(&r->year_days_back, 0); i >= 0;
         i = bits_next(&r->year_days_back, i + 1)) {
        if (i < y->len)
            bits_add(ret, y->len - 1 - i);
    }
}

/* The first day of week 1: the first week with four days or more of the year. May be negative. */
static int first_week(const struct rule *r, int weekday)
{
    int since = (weekday - r->week_start + 7) % 7;
    return since <= 3 ? -since : 7 - since;
}

static int weeks_in(const struct rule *r, int64_t year)
{
    int weekday = civil_weekday(civil_days(year, 1, 1));
    int len = civil_is_leap(year) ? 366 : 365;
    return (len + first_week(r, (weekday + len) % 7) - first_week(r, weekday)) / 7;
}

static bool has_week(const struct rule *r, int week, int weeks)
{
    return (r->weeks >> week & 1) || (r->weeks_back >> (weeks + 1 - week) & 1);
}

/* Days at either end of the year may be in a week of the year before or after. */
static void add_weeks(const struct rule *r, const struct year *y, struct bits *ret)
{
    int first = first_week(r, y->weekday);
    int weeks = weeks_in(r, y->year);
    int end = first + weeks * 7;
    if (first > 0) {
        int before = weeks_in(r, y->year - 1);
        if (has_week(r, before, before))
            bits_add_range(ret, 0, first);
    }
    for (int w = 1; w <= weeks; w++) {
        int day = first + (w - 1) * 7;
        if (has_week(r, w, weeks))
            bits_add_range(ret, day > 0 ? day : 0, day + 7);
    }
    if (end < y->len && has_week(r, 1, weeks_in(r, y->year + 1)))
        bits_add_range(ret, end, y->len);
}

typedef void (*add_fn)(const struct rule *r, const struct year *y, struct bits *ret);

static void keep(const struct rule *r, const struct year *y, add_fn add, struct bits *days)
{
    struct bits some = { 0 };
    add(r, y, &some);
    bits_and(days, &some);
}

static void add_by_day(const struct rule *r, const struct year *y, struct bits *ret)
{
    if (r->week_days)
        add_week_days(r, y, ret);
    if (r->has_nth)
        add_all_nth(r, y, ret);
}

static void add_either(const struct rule *r, const struct year *y, struct bits *ret)
{
    add_month_days(r, y, ret);
    add_week_days(r, y, ret);
}

int days_year_kind(int64_t year)
{
    int around = civil_is_leap(year)       ? 0
                 : civil_is_leap(year - 1) ? 1
                 : civil_is_leap(year + 1) ? 2
                                           : 3;
    return around * 7 + civil_weekday(civil_days(year, 1, 1));
}

void days_of_year(const struct rule *r, int64_t year, struct bits *ret)
{
    struct year y;
    year_init(&y, year);
    *ret = (struct bits){ 0 };
    bits_add_range(ret, 0, y.len);
    if (r->months)
        keep(r, &y, add_months, ret);
    if (r->either_day) {
        keep(r, &y, add_either, ret);
    } else {
        if (r->month_days || r->month_days_back)
            keep(r, &y, add_month_days, ret);
        if (r->week_days || r->has_nth)
            keep(r, &y, add_by_day, ret);
    }
    if (rule_has(r, RULE_BYYEARDAY))
        keep(r, &y, add_year_days, ret);
    if (r->weeks || r->weeks_back)
        keep(r, &y, add_weeks, ret);
}
