/* SPDX-License-Identifier: MIT */
/*
 * The proleptic Gregorian calendar as arithmetic on whole days since 1970-01-01 and whole seconds
 * since its midnight. "Local seconds" count what a wall clock shows, as if it were UTC; they know
 * no zone. Weekdays are 0 for Monday to 6 for Sunday. The calendar repeats itself,
 * weekdays included, after CIVIL_CYCLE_YEARS.
 */
#ifndef RECUR_CIVIL_H
#define RECUR_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define CIVIL_MINUTE      60
#define CIVIL_HOUR        3600
#define CIVIL_DAY         INT64_C(86400)
#define CIVIL_CYCLE_YEARS 400

struct civil_date {
    int64_t year;
    int month; /* 1 .. 12 */
    int day;   /* 1 .. 31 */
};

int64_t civil_days(int64_t year, int month, int day);
struct civil_date civil_date(int64_t days);
int civil_month_days(int64_t year, int month);

/* Rounding towards the past; `by` is positive. */
static inline int64_t civil_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

static inline int64_t civil_mod(int64_t value, int64_t by)
{
    int64_t rest = value % by;
    return rest < 0 ? rest + by : rest;
}

/* Rounding towards the future. */
static inline int64_t civil_div_up(int64_t value, int64_t by)
{
    return value / by + (value % by > 0);
}

static inline bool civil_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static inline int civil_weekday(int64_t days)
{
    return (int)civil_mod(days + 3, 7); /* 1970-01-01 was a Thursday */
}

#endif
