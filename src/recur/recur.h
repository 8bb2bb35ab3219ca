/* SPDX-License-Identifier: MIT */
/*
 * Recurrences: when does a rule fire next? The functions read no clock and no file. A struct recur
 * is immutable, so any number of threads may ask it.
 *
 * A rule fires at nominal local times, counted from START as the clock of the zone shows it. START
 * itself fires only if the rule fits it, and nothing fires before START. The fraction of START's
 * second is kept by all occurrences but cron's. Local times become moments in one of three
 * ways:
 *
 * 1. The rule names the time of day: DAILY to YEARLY; HOURLY and finer with BYHOUR; cron unless its
 *    hour field admits every hour. It fires at that local time. If that time does not exist, the
 *    rule fires at the end of the gap; if it exists twice, at the first of the two. Nominal times
 *    that meet at the end of a gap are one occurrence, that of the earliest.
 * 2. The rule names a minute or second, whatever the hour: HOURLY and finer with BYMINUTE, BYSECOND
 *    or BYSETPOS but no BYHOUR; cron with every hour. It fires at each moment at which the clock
 *    shows that. A repeated hour is an hour like any other, so that autumn has no hour without an
 *    occurrence. The times that a gap leaves out come in the next hour.
 * 3. EVERY, and HOURLY, MINUTELY and SECONDLY with none of these parts: elapsed time from START.
 *    FREQ=HOURLY;INTERVAL=6 is every six hours, through changes of the clock. BYMONTH, BYDAY,
 *    BYMONTHDAY and BYYEARDAY look at the local date of each.
 *
 * COUNT counts nominal times from START on, and moments in ways 2 and 3. Excluded times count;
 * additional ones (RDATE) do not. The moment of an occurrence is its identity: no two share one.
 *
 * A search takes RECUR_STEPS_MAX steps at most, of less than a microsecond each; nearly all take
 * some tens. Its answer is exact: the next occurrence, or none up to the year 9999. If it would
 * take more steps to know, the answer is INVALID. This was seen only where COUNT is counted over
 * centuries.
 */
#ifndef RECUR_RECUR_H
#define RECUR_RECUR_H

#include "recur/rule.h"
#include "recur/zone.h"

#define RECUR_STEPS_MAX 80000u
#define RECUR_TALLY_MAX 150000u /* steps of counting from START to a moment, for COUNT */
#define RECUR_COST_MAX  15000u  /* the cost of one request's searches: about ten milliseconds */
#define RECUR_DATES_MAX 512

enum recur_kind { RECUR_RRULE, RECUR_CRON, RECUR_EVERY };

struct recur_spec {
    enum recur_kind kind;
    struct str text;         /* of the rule; for EVERY a duration such as 90s */
    const struct zone *zone; /* must outlive the recurrence */
    int64_t start_ms;        /* 0 .. TIME_MOMENT_MAX */
    uint64_t seed;           /* for H in cron: a hash of the recurrence's name */
    /* Dates that are left out and added, separated by commas, as in iCalendar. With Z it is a
     * moment, without Z a local time. A date alone leaves out all of that local day; if added, it
     * means START's time of day on it. Seconds are compared, not fractions. May be empty. */
    struct str exdate, rdate;
};

struct recur;

/* 0; INVALID with *ret_error filled in, which begins with EXDATE or RDATE if it is about those;
 * NOMEM. Copies what it needs of the texts. */
int recur_new(const struct recur_spec *spec, struct recur **ret, struct rule_error *ret_error);
void recur_free(struct recur *r);

enum recur_note {
    RECUR_PLAIN,
    RECUR_MOVED,  /* the nominal time does not exist: it is the end of the gap */
    RECUR_FIRST,  /* the clock shows the time twice, and this is the first showing */
    RECUR_SECOND, /* the clock shows the time twice, and this is the second (ways 2 and 3 only) */
};

struct recur_occurrence {
    int64_t at_ms;
    int64_t nominal_ms; /* local: what a clock shows, as milliseconds since 1970 */
    int32_t offset_s;   /* of the local time at at_ms */
    enum recur_note note;
};

/* The place of a caller that goes from one occurrence to the next, so that COUNT need not be
 * counted from START again. It is zero at first, and after the rule was changed. A state says a
 * fact: "n nominal times are at or before at_ms". So it may be kept, lost, or used for earlier and
 * later moments: the answers do not change. */
struct recur_state {
    uint64_t n;
    int64_t at_ms;  /* if n > 0 */
    uint32_t steps; /* of the last search */
    uint32_t cost;  /* of all searches with this state: their steps, and one for each search */
    uint32_t most;  /* Searches give up at this cost: INVALID. 0: never for that reason. */
};

/* The first occurrence after a moment. 1: *ret is filled in. 0: never again. INVALID: it takes too
 * many steps to know. `state` may be NULL. The call takes microseconds. COUNT without state takes
 * some tens of them ten years after START. If days must be counted one by one, the answer is
 * INVALID some centuries after START. */
int recur_next(const struct recur *r, int64_t after_ms, struct recur_state *state,
               struct recur_occurrence *ret);

/* Finds up to n occurrences at or after a moment. Returns how many there are. INVALID: see
 * recur_next; or they cost RECUR_COST_MAX together. *ret_found is how many were found until then;
 * ret_found may be NULL. */
int recur_preview(const struct recur *r, int64_t from_ms, size_t n, struct recur_occurrence *ret,
                  int *ret_found);

#define RECUR_TEXT 48

/* "2026-03-29T02:00:00+01:00", the local time of at_ms; a fraction of the second and seconds of the
 * offset only if there are any. Returns the length; terminated. */
size_t recur_format(const struct recur_occurrence *o, char ret[RECUR_TEXT]);

#define RECUR_NOTE 96

/* Writes how a change of the clock affects the time, as a sentence; mostly "". Returns the length.
 */
size_t recur_note(const struct recur_occurrence *o, char ret[RECUR_NOTE]);

#endif
