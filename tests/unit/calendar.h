/* SPDX-License-Identifier: MIT */
/* The recurrences of a year, and when they are to run: day by day, with the C library's zones. */
#ifndef TESTS_CALENDAR_H
#define TESTS_CALENDAR_H

#include <time.h>

#include "unit/waits.h"

#define YEAR_START INT64_C(1798761600000) /* 2027-01-01T00:00:00Z */
#define MINUTES    (365 * 24 * 60)
#define TIMES_MAX  9000 /* of one recurrence in the year */

/* ---- The rules, as the engine gets them and as the model knows them ---- */

enum days { EVERY_DAY, SECOND_DAYS, WEEKDAYS, SUNDAYS, FIRST_MONDAY, MONTH_DAY, MONTH_END };

struct plan {
    const char *name;
    const char *zone;
    enum recur_kind kind;
    const char *text;
    enum catchup catchup;
    enum overlap overlap;
    int takes; /* minutes that a worker needs */
    /* At this time of these days; or, hour -1, whenever a clock shows the minute; or, -2, every so
     * many minutes. */
    int hour, minute;
    enum days days;
    int month_day;
};

#define LONDON    "Europe/London"
#define NEW_YORK  "America/New_York"
#define LORD_HOWE "Australia/Lord_Howe"
#define KATHMANDU "Asia/Kathmandu"

/* Times of day that do not exist or exist twice are among them on purpose. */
/* clang-format off */
static const struct plan plans[] = {
    { "lon-gap", LONDON, RECUR_CRON, "30 1 * * *", CATCHUP_LAST, OVERLAP_SKIP, 5, 1, 30, EVERY_DAY, 0 },
    { "lon-daily", LONDON, RECUR_RRULE, "FREQ=DAILY;BYHOUR=1;BYMINUTE=15", CATCHUP_ALL, OVERLAP_QUEUE, 5, 1, 15, EVERY_DAY, 0 },
    { "lon-office", LONDON, RECUR_CRON, "0 9 * * 1-5", CATCHUP_ALL, OVERLAP_ALLOW, 200, 9, 0, WEEKDAYS, 0 },
    { "lon-sunday", LONDON, RECUR_RRULE, "FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=0", CATCHUP_SKIP, OVERLAP_SKIP, 30, 2, 0, SUNDAYS, 0 },
    { "lon-6h", LONDON, RECUR_EVERY, "6h", CATCHUP_ALL, OVERLAP_SKIP, 20, -2, 360, EVERY_DAY, 0 },
    { "ny-gap", NEW_YORK, RECUR_CRON, "30 2 * * *", CATCHUP_SKIP, OVERLAP_ALLOW, 1, 2, 30, EVERY_DAY, 0 },
    { "ny-month", NEW_YORK, RECUR_RRULE, "FREQ=MONTHLY;BYMONTHDAY=-1;BYHOUR=23;BYMINUTE=45", CATCHUP_LAST, OVERLAP_QUEUE, 60, 23, 45, MONTH_END, 0 },
    { "ny-hourly", NEW_YORK, RECUR_CRON, "15 * * * *", CATCHUP_LAST, OVERLAP_SKIP, 100, -1, 15, EVERY_DAY, 0 },
    { "ny-twice", NEW_YORK, RECUR_RRULE, "FREQ=DAILY;BYHOUR=1;BYMINUTE=30", CATCHUP_LAST, OVERLAP_ALLOW, 3, 1, 30, EVERY_DAY, 0 },
    { "ny-first", NEW_YORK, RECUR_CRON, "0 0 1 * *", CATCHUP_ALL, OVERLAP_QUEUE, 9, 0, 0, MONTH_DAY, 1 },
    { "lhi-gap", LORD_HOWE, RECUR_CRON, "15 2 * * *", CATCHUP_LAST, OVERLAP_SKIP, 5, 2, 15, EVERY_DAY, 0 },
    { "lhi-twice", LORD_HOWE, RECUR_RRULE, "FREQ=DAILY;BYHOUR=1;BYMINUTE=45", CATCHUP_SKIP, OVERLAP_QUEUE, 5, 1, 45, EVERY_DAY, 0 },
    { "lhi-hourly", LORD_HOWE, RECUR_CRON, "45 * * * *", CATCHUP_ALL, OVERLAP_QUEUE, 2, -1, 45, EVERY_DAY, 0 },
    { "lhi-90m", LORD_HOWE, RECUR_EVERY, "90m", CATCHUP_SKIP, OVERLAP_QUEUE, 95, -2, 90, EVERY_DAY, 0 },
    { "lhi-monday", LORD_HOWE, RECUR_RRULE, "FREQ=MONTHLY;BYDAY=1MO;BYHOUR=2;BYMINUTE=10", CATCHUP_ALL, OVERLAP_SKIP, 5, 2, 10, FIRST_MONDAY, 0 },
    { "ktm-six", KATHMANDU, RECUR_CRON, "0 6 * * *", CATCHUP_LAST, OVERLAP_SKIP, 45, 6, 0, EVERY_DAY, 0 },
    { "ktm-second", KATHMANDU, RECUR_RRULE, "FREQ=DAILY;INTERVAL=2;BYHOUR=12;BYMINUTE=0", CATCHUP_SKIP, OVERLAP_SKIP, 3000, 12, 0, SECOND_DAYS, 0 },
    { "ktm-sunday", KATHMANDU, RECUR_CRON, "5 4 * * 0", CATCHUP_ALL, OVERLAP_ALLOW, 5, 4, 5, SUNDAYS, 0 },
    { "ktm-mid", KATHMANDU, RECUR_RRULE, "FREQ=MONTHLY;BYMONTHDAY=15;BYHOUR=7;BYMINUTE=30", CATCHUP_LAST, OVERLAP_ALLOW, 5, 7, 30, MONTH_DAY, 15 },
    { "ktm-1h", KATHMANDU, RECUR_EVERY, "1h", CATCHUP_ALL, OVERLAP_ALLOW, 150, -2, 60, EVERY_DAY, 0 },
};
/* clang-format on */

#define PLANS (sizeof(plans) / sizeof(plans[0]))

/* ---- Nominal times, by the C library ---- */

static inline int64_t moment(int minute)
{
    return YEAR_START + minute * MINUTE;
}

static inline struct tm clock_at(int64_t ms)
{
    time_t t = (time_t)(ms / 1000);
    struct tm tm;

    localtime_r(&t, &tm);
    return tm;
}

static inline void enter_zone(const char *zone)
{
    char text[64];

    snprintf(text, sizeof(text), ":/usr/share/zoneinfo/%s", zone);
    setenv("TZ", text, 1);
    tzset();
}

/* Minutes that a clock shows, from some day on: to compare what two clocks show. */
static inline int64_t shown(const struct tm *tm)
{
    struct tm copy = *tm;

    return (int64_t)timegm(&copy) / 60;
}

/* The first moment at which the clock shows this; or, if it never does, the end of the gap. */
static inline int64_t when_shown(int64_t minutes)
{
    int64_t from = minutes * MINUTE - 15 * HOUR, after = -1;

    for (int64_t t = from; t <= from + 30 * HOUR; t += MINUTE) {
        struct tm tm = clock_at(t);

        if (shown(&tm) == minutes)
            return t;
        if (shown(&tm) > minutes && after < 0)
            after = t;
    }
    return after;
}

static inline bool fits(const struct plan *r, const struct tm *day, int number)
{
    struct tm next = *day;

    switch (r->days) {
    case SECOND_DAYS: return number % 2 == 0;
    case WEEKDAYS: return day->tm_wday >= 1 && day->tm_wday <= 5;
    case SUNDAYS: return day->tm_wday == 0;
    case FIRST_MONDAY: return day->tm_wday == 1 && day->tm_mday <= 7;
    case MONTH_DAY: return day->tm_mday == r->month_day;
    case MONTH_END:
        next.tm_mday++;
        timegm(&next);
        return next.tm_mday == 1;
    default: return true;
    }
}

struct times {
    int64_t at[TIMES_MAX];
    size_t n;
};

static inline void add_time(struct times *t, int64_t at)
{
    if (at < moment(0) || at >= moment(MINUTES))
        return;
    assert_true(t->n < TIMES_MAX);
    t->at[t->n++] = at;
}

/* Day by day, as a calendar on the wall has them there. */
static inline void list_days(const struct plan *r, struct times *ret)
{
    struct tm day = clock_at(moment(0));

    for (int i = 0; i <= 366; i++) {
        struct tm at = { .tm_year = day.tm_year, .tm_mon = day.tm_mon, .tm_mday = day.tm_mday + i };

        timegm(&at);
        if (fits(r, &at, i)) {
            at.tm_hour = r->hour;
            at.tm_min = r->minute;
            add_time(ret, when_shown(shown(&at)));
        }
    }
}

static inline void list_times(const struct plan *r, struct times *ret)
{
    ret->n = 0;
    enter_zone(r->zone);
    if (r->hour >= 0) {
        list_days(r, ret);
        return;
    }
    for (int i = 0; i < MINUTES; i += r->hour == -2 ? r->minute : 1)
        if (r->hour == -2 || clock_at(moment(i)).tm_min == r->minute)
            add_time(ret, moment(i));
}

#endif
