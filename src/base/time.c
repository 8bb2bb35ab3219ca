/* SPDX-License-Identifier: MIT */
#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS   (60 * MINUTE_MS)
#define DAY_MS    (24 * HOUR_MS)
#define WEEK_MS   (7 * DAY_MS)

/* In falling order. "ms" is not taken for "m": a unit ends at a digit or the end of the text. */
static const struct {
    const char *name;
    int64_t ms;
} time_units[] = {
    { "w", WEEK_MS },   { "d", DAY_MS },    { "h", HOUR_MS },
    { "m", MINUTE_MS }, { "s", SECOND_MS }, { "ms", 1 },
};
#define TIME_UNITS (sizeof time_units / sizeof *time_units)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int invalid(const char **why, const char *reason)
{
    *why = reason;
    return BELFRY_INVALID;
}

/* Takes the digits at the start of s, at least one. False if there is none or they exceed max. */
static bool take_number(struct str *s, int64_t max, int64_t *ret)
{
    int64_t v = 0;
    size_t i = 0;
    for (; i < s->len && is_digit(s->ptr[i]); i++) {
        int digit = s->ptr[i] - '0';
        if (v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (i == 0)
        return false;
    *s = str_from(*s, i);
    *ret = v;
    return true;
}

struct fraction {
    int64_t digits, scale;
};

/* Takes a point and the digits behind it, if there is a point. Ten digits count; further digits are
 * skipped. False if there is none. */
static bool take_fraction(struct str *s, struct fraction *ret)
{
    size_t i = 1;
    *ret = (struct fraction){ 0, 1 };
    if (s->len == 0 || s->ptr[0] != '.')
        return true;
    for (; i < s->len && is_digit(s->ptr[i]); i++) {
        if (i <= 10) {
            ret->digits = ret->digits * 10 + (s->ptr[i] - '0');
            ret->scale *= 10;
        }
    }
    *s = str_from(*s, i);
    return i > 1;
}

/* That part of `whole`, rounded down. */
static int64_t fraction_of(const struct fraction *f, int64_t whole)
{
    return whole * f->digits / f->scale;
}

/* Takes the letters at the start of s; the index of their unit, or -1. */
static int take_unit(struct str *s)
{
    size_t n = 0;
    while (n < s->len && !is_digit(s->ptr[n]))
        n++;
    for (int u = 0; u < (int)TIME_UNITS; u++) {
        if (str_eq((struct str){ s->ptr, n }, str_of(time_units[u].name))) {
            *s = str_from(*s, n);
            return u;
        }
    }
    return -1;
}

static const char duration_form[] =
    "expected a duration such as 250ms, 10s, 1.5m, 1h30m, 2d or 1w, "
    "or a whole number of milliseconds";
static const char duration_range[] =
    "the duration is too long: at most 253402300799999ms, which is "
    "some 8000 years";

/* One "90m" or "1.5s" at the start of s, with a unit smaller than the one before. */
static int take_part(struct str *s, int *unit, int64_t *ret_ms, const char **why)
{
    struct fraction fraction;
    int64_t number;

    if (s->ptr[0] == '-')
        return invalid(why, "a duration cannot be negative: expected one such as 10s or 1h30m");
    if (!is_digit(s->ptr[0]))
        return invalid(why, duration_form);
    if (!take_number(s, TIME_DURATION_MAX, &number))
        return invalid(why, duration_range);
    if (!take_fraction(s, &fraction))
        return invalid(why, "digits must follow the point in a duration, as in 1.5s");
    int u = take_unit(s);
    if (u < 0)
        return invalid(why, s->len == 0 ? "the unit is missing: expected one of ms, s, m, h, d, w, "
                                          "as in 1h30m or 1.5s"
                                        : duration_form);
    if (u <= *unit)
        return invalid(why, "each unit may appear once, larger ones first, as in 1d12h or 1h30m");
    if (fraction.scale > 1 && s->len > 0)
        return invalid(why, "only the last part of a duration may have a fraction, as in 1m1.5s");
    if (number > TIME_DURATION_MAX / time_units[u].ms)
        return invalid(why, duration_range);
    *unit = u;
    *ret_ms = number * time_units[u].ms + fraction_of(&fraction, time_units[u].ms);
    return 0;
}

int time_parse_duration(struct str text, int64_t *ret_ms, const char **why)
{
    int64_t total = 0, part;
    int unit = -1;
    struct str s = text;

    if (s.len == 0)
        return invalid(why, duration_form);
    if (take_number(&s, TIME_DURATION_MAX, &total) && s.len == 0) {
        *ret_ms = total;
        return 0;
    }
    total = 0;
    for (s = text; s.len > 0;) {
        int err = take_part(&s, &unit, &part, why);
        if (err)
            return err;
        total += part; /* neither exceeds twice the maximum, so this cannot overflow */
        if (total > TIME_DURATION_MAX)
            return invalid(why, duration_range);
    }
    *ret_ms = total;
    return 0;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar. The function counts in eras of 400
 * years that start in March, so that the leap day is the last day of its year. */
static int64_t days_of_date(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static void date_of_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153; /* March is 0 */
    *day = day_of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted + (shifted < 10 ? 3 : -9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

static int64_t days_in_month(int64_t year, int64_t month)
{
    static const signed char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* Matches fixed-width text: each 'd' in form is a digit, anything else itself in either case. The
 * numbers made of the digits go to ret, one for each run. */
static bool take_form(struct str *s, const char *form, int64_t *ret)
{
    size_t n = strlen(form);
    if (s->len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = s->ptr[i];
        if (form[i] != 'd') {
            if (c != form[i] && c != (form[i] | 0x20))
                return false;
            ret++;
        } else if (is_digit(c)) {
            *ret = (i > 0 && form[i - 1] == 'd' ? *ret * 10 : 0) + (c - '0');
        } else {
            return false;
        }
    }
    *s = str_from(*s, n);
    return true;
}

static const char moment_form[] = "expected a moment such as 2026-11-15T20:43:00Z or "
                                  "2026-11-15T21:43:00.250+01:00, or milliseconds since 1970";
static const char moment_range[] =
    "the moment is out of range: it must be from 1970-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z";

/* Z or an offset, as the milliseconds to subtract to get to UTC. */
static int take_zone(struct str *s, int64_t *ret_ms, const char **why)
{
    int64_t n[2];
    if (s->len == 0)
        return invalid(why, "the zone is missing: end with Z or an offset, as in "
                            "2026-11-15T20:43:00Z or 2026-11-15T21:43:00+01:00");
    if (s->len == 1 && (s->ptr[0] == 'Z' || s->ptr[0] == 'z')) {
        *ret_ms = 0;
        return 0;
    }
    int64_t sign = s->ptr[0] == '+' ? 1 : s->ptr[0] == '-' ? -1 : 0;
    *s = str_from(*s, 1);
    if (sign == 0 || !take_form(s, "dd:dd", n) || s->len > 0)
        return invalid(why, moment_form);
    if (n[0] > 23 || n[1] > 59)
        return invalid(why,
                       "no such offset: hours go from 00 to 23 and minutes from 00 to 59, as in "
                       "+05:30");
    *ret_ms = sign * (n[0] * HOUR_MS + n[1] * MINUTE_MS);
    return 0;
}

static int check_date_time(const int64_t n[6], const char **why)
{
    if (n[1] < 1 || n[1] > 12)
        return invalid(why, "no such month: expected 01 to 12, as in 2026-11-15T20:43:00Z");
    if (n[2] < 1 || n[2] > days_in_month(n[0], n[1]))
        return invalid(why, "that month has no such day: expected a date of the calendar, as in "
                            "2026-11-15T20:43:00Z");
    if (n[3] > 23 || n[4] > 59)
        return invalid(why,
                       "no such time of day: hours go from 00 to 23 and minutes from 00 to 59, "
                       "as in 2026-11-15T20:43:00Z");
    if (n[5] == 60)
        return invalid(why,
                       "leap seconds are not supported: use second 59 or the next minute, as in "
                       "2026-11-15T20:43:59Z");
    if (n[5] > 59)
        return invalid(why, "no such second: expected 00 to 59, as in 2026-11-15T20:43:59Z");
    return 0;
}

static int parse_milliseconds(struct str s, int64_t *ret_ms, const char **why)
{
    int64_t ms;
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.ptr[i]))
            return invalid(why, moment_form);
    if (!take_number(&s, TIME_MOMENT_MAX, &ms))
        return invalid(why, moment_range);
    *ret_ms = ms;
    return 0;
}

int time_parse_moment(struct str text, int64_t *ret_ms, const char **why)
{
    int64_t n[6], zone_ms;
    struct fraction fraction;
    struct str s = text;

    if (s.len == 0)
        return invalid(why, moment_form);
    if (s.len > 1 && s.ptr[0] == '-' && is_digit(s.ptr[1]))
        return invalid(why, moment_range);
    if (s.len < 5 || s.ptr[4] != '-')
        return parse_milliseconds(s, ret_ms, why);
    if (!take_form(&s, "dddd-dd-ddTdd:dd:dd", n) || !take_fraction(&s, &fraction))
        return invalid(why, moment_form);
    int err = take_zone(&s, &zone_ms, why);
    if (!err)
        err = check_date_time(n, why);
    if (err)
        return err;
    int64_t ms = days_of_date(n[0], n[1], n[2]) * DAY_MS + n[3] * HOUR_MS + n[4] * MINUTE_MS +
                 n[5] * SECOND_MS + fraction_of(&fraction, SECOND_MS) - zone_ms;
    if (ms < 0 || ms > TIME_MOMENT_MAX)
        return invalid(why, moment_range);
    *ret_ms = ms;
    return 0;
}

size_t time_format_duration(int64_t ms, char ret[TIME_TEXT])
{
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    char *p = ret;
    if (ms < 0)
        *p++ = '-';
    for (size_t u = left % (uint64_t)WEEK_MS ? 1 : 0; u < TIME_UNITS; u++) { /* 30d, not 4w2d */
        uint64_t n = left / (uint64_t)time_units[u].ms;
        left %= (uint64_t)time_units[u].ms;
        if (n > 0 || (ms == 0 && u == TIME_UNITS - 1))
            p = stpcpy(buf_digits(p, n), time_units[u].name);
    }
    *p = '\0';
    return (size_t)(p - ret);
}

size_t time_format_moment(int64_t ms, char ret[TIME_TEXT])
{
    bool before = ms % DAY_MS < 0;
    int64_t days = ms / DAY_MS - before;
    long long of_day = ms % DAY_MS + (before ? DAY_MS : 0);
    int64_t year, month, day;

    date_of_days(days, &year, &month, &day);
    return (size_t)snprintf(ret, TIME_TEXT, "%s%04lld-%02lld-%02lldT%02lld:%02lld:%02lld.%03lldZ",
                            year < 0 ? "-" : "", llabs(year), (long long)month, (long long)day,
                            of_day / HOUR_MS, of_day / MINUTE_MS % 60, of_day / SECOND_MS % 60,
                            of_day % SECOND_MS);
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t time_wall_ms(void)
{
    return clock_us(CLOCK_REALTIME) / 1000;
}

int64_t time_wall_us(void)
{
    return clock_us(CLOCK_REALTIME);
}

int64_t time_mono_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

#define CLOCK_SET_US   1000 /* a greater difference: the wall clock was set */
#define CLOCK_QUICK_US 100  /* two readings that were not interrupted */

static int64_t apart_ms(const struct clocks *c)
{
    int64_t down = c->apart_us / 1000;

    return down + (c->apart_us > down * 1000); /* up, so that the joined clock is never ahead */
}

void clocks_join(struct clocks *c, int64_t wall_us, int64_t mono_us, int64_t *ret_wall_ms,
                 int64_t *ret_mono_ms)
{
    int64_t apart_us = wall_us - mono_us, moved = apart_us - c->apart_us;

    if (moved > CLOCK_SET_US || moved < -CLOCK_SET_US)
        c->apart_us = apart_us;
    c->mono_us = mono_us;
    *ret_wall_ms = wall_us / 1000;
    *ret_mono_ms = *ret_wall_ms - apart_ms(c) - c->stalled_ms;
}

void clocks_stall(struct clocks *c, int64_t ms)
{
    c->stalled_ms += ms;
}

void clocks_read(struct clocks *c, int64_t *ret_wall_ms, int64_t *ret_mono_ms)
{
    int64_t mono_us, wall_us;
    int tries = 8;

    do {
        mono_us = time_mono_us();
        wall_us = time_wall_us();
    } while (time_mono_us() - mono_us > CLOCK_QUICK_US && --tries > 0);
    clocks_join(c, wall_us, mono_us, ret_wall_ms, ret_mono_ms);
}

int64_t clocks_mono_us(const struct clocks *c, int64_t mono_ms)
{
    return (mono_ms + c->stalled_ms + apart_ms(c)) * 1000 - c->apart_us;
}
