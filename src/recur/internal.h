/* SPDX-License-Identifier: MIT */
/*
 * The parts of a recurrence. For files of src/recur only.
 *
 *     recur.c    text -> struct recur: what a rule leaves open is taken from START
 *     empty.c    rules that have no time at all
 *     days.c     which days of a year a rule admits, as a set of bits
 *     jump.c     how far an interval has to go to meet a set of times
 *     times.c    which seconds of a day, an hour or a minute
 *     expand.c   the first nominal time from a local time on
 *     tally.c    how many nominal times there are between two
 *     next.c     from a moment to the next: zones, COUNT, UNTIL, dates left out and added
 */
#ifndef RECUR_INTERNAL_H
#define RECUR_INTERNAL_H

#include "recur/civil.h"
#include "recur/recur.h"

/* Seconds within a period: all combinations. */
struct times {
    uint32_t hours; /* bit 0 alone in periods shorter than a day */
    uint64_t minutes, seconds;
    int per_hour; /* combinations of minutes and seconds */
    int count;
};

#define TIMES_ALL_HOURS 0xffffffu
#define TIMES_ALL       ((UINT64_C(1) << 60) - 1) /* minutes or seconds */

void times_init(struct times *t, uint32_t hours, uint64_t minutes, uint64_t seconds);
/* How many are before that second; it may be the period's length. */
int times_rank(const struct times *t, int second);
/* The i-th of them, i < count. */
int times_select(const struct times *t, int i);

enum recur_pace {
    PACE_LOCAL,   /* 1 of recur.h */
    PACE_SHOWN,   /* 2 */
    PACE_ELAPSED, /* 3 */
    PACE_EVERY,   /* 3, in milliseconds and without a rule */
};

struct recur_date {
    enum { DATE_DAY, DATE_LOCAL, DATE_MOMENT } kind;
    int64_t s; /* local, or since 1970 in UTC */
};

struct recur {
    const struct zone *zone;
    struct rule rule;   /* with what START adds */
    struct times times; /* of a period, or of a day if it is longer */
    enum recur_pace pace;
    bool has_positions;
    bool has_days;       /* not every day is admitted */
    int32_t fraction_ms; /* of every second */
    int64_t unit_s;      /* of periods shorter than a day; 0 for the others */
    int64_t interval;    /* in periods */
    int64_t every_ms;
    int64_t start_ms;
    int64_t start_s;       /* the first whole second that may be an occurrence's */
    int64_t start_local_s; /* where periods are counted from */
    int64_t until_s;       /* the last moment */
    size_t exdates_n, rdates_n;
    struct recur_date dates[]; /* first those left out, then those added, as local or moments */
};

/* The periods of an hour that the sets of minutes and seconds admit, by their remainders. As the
 * interval goes on from hour to hour, it meets the periods of one remainder only. */
struct remainders {
    int64_t periods;        /* of an hour */
    int64_t each;           /* times in a period */
    int64_t hours[24];      /* where each hour of a day begins, as a remainder */
    int64_t day;            /* where the next day begins, as a remainder */
    uint16_t n[CIVIL_HOUR]; /* by remainder, or by period if the interval is longer than an hour */
};

#define JUMP_RUNS_MAX 168 /* the hours of a week always fit */

/* The times that an interval must meet, as runs on a circle, counted in periods. The circle is a
 * week if the rule names days of the week, and a day otherwise. */
struct jump {
    int64_t round, shift;
    int n;
    bool exact; /* otherwise the runs hold more than the rule admits */
    struct {
        int64_t first, end;
    } runs[JUMP_RUNS_MAX];
};

void jump_init(struct jump *j, const struct recur *r);
/* Intervals from a period to the first that is in a run; -1 if none ever is. */
int64_t jump_steps(const struct jump *j, int64_t period, int64_t interval);

/* Kinds of years with equal days. The kind depends on the weekday of January 1. It also depends on
 * whether the year, the year before or the year after is a leap year, because numbers of weeks do.
 */
#define YEAR_KINDS 28

/* A search through a rule's local times, with the days of the years that it has been in. */
struct search {
    const struct recur *r;
    int64_t anchor_s; /* the local second that periods shorter than a day are counted from */
    uint32_t steps, limit;
    uint32_t cost, most; /* as in struct recur_state */
    bool gave_up;        /* a step was refused: the answer is not known */
    bool has_jump;       /* it looks first how far to go */
    bool has_remainders;
    int64_t day_end;              /* days from there on are not looked at */
    int64_t year_first, year_end; /* days; equal if there is none yet */
    const struct bits *days;      /* of that year */
    uint32_t known;               /* kinds of years, as bits */
    struct bits years[YEAR_KINDS];
    struct jump jump;
    struct remainders remainders;
};

#define SEARCH_DAY_END INT64_C(2932900) /* a few days into the year 10000 */

bool recur_is_empty(const struct recur *r);
/* Elapsed time meets other local times with each offset of the zone. True: with every offset in use
 * from a moment on, it meets no local time of the rule. */
bool elapsed_never_meets(const struct recur *r, const struct jump *j, int64_t since_s);

int days_year_kind(int64_t year);
void days_of_year(const struct rule *r, int64_t year, struct bits *ret);

/* Adds to the cost, up to the most. */
static inline void search_charge(struct search *s, uint32_t cost)
{
    s->cost = cost < s->most - s->cost ? s->cost + cost : s->most;
}

static inline bool search_step(struct search *s)
{
    if (s->steps >= s->limit || s->cost >= s->most) {
        s->gave_up = true;
        return false;
    }
    s->steps++;
    s->cost++;
    return true;
}

void search_init(struct search *s, const struct recur *r);
void search_load(struct search *s, int64_t day);
/* The first period of DAILY .. YEARLY that ends after the day: it may begin before it. */
void search_period(const struct search *s, int64_t day, int64_t *ret_first, int64_t *ret_end);
/* Admitted days of from .. to-1, whatever the interval. */
int search_days(struct search *s, int64_t from, int64_t to);
/* The next place in a period's set of `n` that BYSETPOS chooses, >= from; -1 if there is none. */
int64_t search_position(const struct rule *r, int64_t n, int64_t from);
/* How many of a period's set (of days from `first` on) come before that local second. */
int64_t search_rank(struct search *s, int64_t first, int64_t before_s);
/* The first day >= day that is admitted, in any period or in one that counts. */
bool search_admitted(struct search *s, int64_t *day);
bool search_day(struct search *s, int64_t *day);

/* Of the times of one day: how many BYSETPOS leaves of those before that second. */
int64_t search_day_rank(const struct recur *r, int second);

/* The jump of the rule, made when it is first needed. A jump tells after how many periods a rule
 * with an INTERVAL meets its set of times; see jump.c. */
const struct jump *search_jump(struct search *s);

/* The first nominal time >= from_s; false if there is none, or the search gave up. */
bool expand_next(struct search *s, int64_t from_s, int64_t *ret_s);

/* The first number >= at that is a multiple of the interval from `from`. */
int64_t expand_align(const struct recur *r, int64_t from, int64_t at);

/* Nominal times in from_s .. to_s-1, or `most` if there are more; gives up after too many steps. */
int64_t tally(struct search *s, int64_t from_s, int64_t to_s, int64_t most);

#endif
