/* SPDX-License-Identifier: MIT */
#include "recur/civil.h"

#define CYCLE_DAYS    146097
#define EPOCH_IN_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

/* Years are counted from March, so that the leap day is the last of its year. */
int64_t civil_days(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t cycle = civil_div(year, CIVIL_CYCLE_YEARS);
    int64_t year_of_cycle = year - cycle * CIVIL_CYCLE_YEARS;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_cycle =
        year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    return cycle * CYCLE_DAYS + day_of_cycle - EPOCH_IN_DAYS;
}

struct civil_date civil_date(int64_t days)
{
    struct civil_date d;
    days += EPOCH_IN_DAYS;
    int64_t cycle = civil_div(days, CYCLE_DAYS);
    int64_t of_cycle = days - cycle * CYCLE_DAYS;
    int64_t year = (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
    int64_t of_year = of_cycle - (365 * year + year / 4 - year / 100);
    int shifted = (int)((5 * of_year + 2) / 153); /* March is 0 */
    d.day = (int)of_year - (153 * shifted + 2) / 5 + 1;
    d.month = shifted + (shifted < 10 ? 3 : -9);
    d.year = year + cycle * CIVIL_CYCLE_YEARS + (d.month <= 2);
    return d;
}

int civil_month_days(int64_t year, int month)
{
    static const signed char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && civil_is_leap(year));
}
