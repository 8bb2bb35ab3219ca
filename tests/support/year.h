/* SPDX-License-Identifier: MIT */
/*
 * What is to happen in the year 2027, found out the plain way: minute by minute, by the clock of
 * the C library, with a test by hand for each rule. Nothing here comes from src/recur or the
 * engine.
 *
 * All moments are minutes since the year began in UTC.
 */
#ifndef TESTS_YEAR_H
#define TESTS_YEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define YEAR_S    INT64_C(1798761600) /* 2027-01-01T00:00:00Z */
#define YEAR      (365 * 1440)
#define AFTERMATH (10 * 1440) /* in which the rest is delivered */
#define SPAN      (YEAR + AFTERMATH)
#define RETRY     10  /* after an attempt that failed */
#define MANY      100 /* occurrences that may be under way at a time */

/* ---- Rules ---- */

/* What a clock on the wall shows. */
struct shown {
    int64_t minute; /* counted through, as if the clock were never set */
    int month, mday, wday, hour, min;
};

enum mode {
    NAMED,   /* at a time of day: moved out of gaps, and once if it is shown twice */
    SHOWN,   /* whenever the clock shows it */
    ELAPSED, /* every so many minutes */
};

enum kind { RRULE, CRON, EVERY };
enum late { LATE_LAST, LATE_SKIP, LATE_ALL };
enum busy { BUSY_SKIP, BUSY_ALLOW, BUSY_QUEUE };

struct plan {
    const char *zone;
    enum kind kind;
    const char *rule;
    enum late late; /* if it was down at that time */
    enum busy busy; /* if one is under way */
    bool notify, pass;
    enum mode mode;
    bool (*fits)(const struct shown *s);
    int period;
    int count; /* 0: without end */
};

#define LONDON    "Europe/London"
#define NEW_YORK  "America/New_York"
#define LORD_HOWE "Australia/Lord_Howe"
#define KATHMANDU "Asia/Kathmandu"

#define PLANS 20

extern const struct plan plans[PLANS];

/* ---- What is to become of each nominal time ---- */

enum fate { MADE, SKIPPED_BUSY, SKIPPED_LATE, FATES };

struct occurrence {
    int nominal;
    enum fate fate;
    int decided;     /* when its fate was known; MADE: when it was made or queued */
    int made;        /* when it was made; SPAN: not before the year ended */
    int delivery[2]; /* when a worker is to get it */
    int deliveries;  /* how many times a worker is to get it: the first attempt of some fails */
    bool dies;       /* its last attempt fails for good */
    int end;
    int seen;     /* deliveries there were */
    uint64_t job; /* 0: not seen yet */
};

struct forecast {
    struct occurrence *all;
    int count;
};

extern struct forecast forecasts[PLANS];
extern bool is_quiet[SPAN], in_maintenance[SPAN], is_down[SPAN];

struct occurrence *occurrence_at(size_t plan, int nominal);
struct shown clock_at(int minute);
void fill_zone(const char *zone);

#define QUIET "22:00-07:00;sat,sun 00:00-24:00"

void fill_quiet(void);
void fill_span(bool *what, int from, int to);

void foresee(size_t plan);

#endif
