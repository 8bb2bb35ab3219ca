/* SPDX-License-Identifier: MIT */
/*
 * The rule at the end of a zone file: a POSIX TZ string, such as "CET-1CEST,M3.5.0,M10.5.0/3",
 * which holds for all moments after the file's table. The extension of TZif version 3 is read too:
 * times of change from -167 to 167 hours.
 */
#ifndef RECUR_TZRULE_H
#define RECUR_TZRULE_H

#include "base/str.h"
#include "recur/zone.h"

enum tzrule_day {
    TZRULE_JULIAN,   /* Jn: 1 .. 365, the leap day is never counted */
    TZRULE_YEAR_DAY, /* n: 0 .. 365, the leap day is counted */
    TZRULE_WEEKDAY,  /* Mm.w.d: the w-th weekday d of month m, the last if w is 5 */
};

struct tzrule_change {
    enum tzrule_day kind;
    int month, week;
    int day;        /* of the year, or of the week with 0 for Sunday */
    int32_t time_s; /* local time before the change, from that day's midnight */
};

struct tzrule_kind {
    int32_t offset_s;
    bool is_dst;
    char abbreviation[ZONE_ABBREVIATION];
};

struct tzrule {
    bool has_dst;
    struct tzrule_kind standard, dst;
    struct tzrule_change to_dst, to_standard;
};

/* 0 or CORRUPT. DST without dates of change is refused: zone files always have them. */
int tzrule_parse(struct str text, struct tzrule *ret);

/* The changes of the clock that matter for a moment, in order. They are the changes of its year, of
 * the two years before, and of the year after. There is room for all. */
#define TZRULE_CHANGES 8

struct tzrule_turn {
    int64_t at_s;
    const struct tzrule_kind *kind; /* from then on */
};

/* `near_s` may be a moment or a local time. The rule must have DST. */
void tzrule_turns(const struct tzrule *r, int64_t near_s, struct tzrule_turn ret[TZRULE_CHANGES]);

#endif
