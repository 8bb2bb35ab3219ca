/* SPDX-License-Identifier: MIT */
/*
 * Rules as data: what RRULE and cron text say, as sets, before any start or zone comes into it.
 *
 * RRULE follows RFC 5545 with its restrictions; either case, an optional "RRULE:" in front. Beyond
 * the RFC: second 60 is taken as 59, as section 3.3.12 says. UNTIL as a date lasts to the end of
 * that local day. UNTIL without Z is local time.
 *
 * cron: five fields (minute, hour, day of month, month, day of week) of *, numbers, names, ranges,
 * steps and lists; or @hourly and the like. If neither day field begins with *, one of the two must
 * fit; otherwise both must, as in every cron since 1987. H stands for one value of its field, which
 * the seed chooses, and H(0-29) for one value of a range. H/15 and H(0-29)/10 are steps from a
 * first value that the seed chooses. A plain H as the day of month is 1 to 28, so that every month
 * has it.
 */
#ifndef RECUR_RULE_H
#define RECUR_RULE_H

#include "base/str.h"
#include "recur/bits.h"

#define RULE_TEXT_MAX     4096
#define RULE_DATES_BYTES  8192 /* bytes of EXDATE, and bytes of RDATE */
#define RULE_COUNT_MAX    1000000
#define RULE_INTERVAL_MAX INT32_MAX

enum rule_freq {
    RULE_SECONDLY,
    RULE_MINUTELY,
    RULE_HOURLY,
    RULE_DAILY,
    RULE_WEEKLY,
    RULE_MONTHLY,
    RULE_YEARLY,
};

/* The parts of a rule, in the order of their rows in rrule.c. */
enum rule_part {
    RULE_FREQ,
    RULE_INTERVAL,
    RULE_COUNT,
    RULE_UNTIL,
    RULE_BYSECOND,
    RULE_BYMINUTE,
    RULE_BYHOUR,
    RULE_BYDAY,
    RULE_BYMONTHDAY,
    RULE_BYYEARDAY,
    RULE_BYWEEKNO,
    RULE_BYMONTH,
    RULE_BYSETPOS,
    RULE_WKST,
};

enum rule_until { RULE_UNTIL_NONE, RULE_UNTIL_LOCAL, RULE_UNTIL_UTC };

/* Where a number may be negative `..._back` holds those, counted from the end, without the sign.
 * An empty set says nothing. */
struct rule {
    enum rule_freq freq;
    enum rule_until until_kind;
    uint32_t interval;
    uint32_t count; /* 0: no COUNT */
    int64_t until_s;
    uint32_t given;     /* bits: enum rule_part */
    uint8_t week_start; /* 0 is Monday, here and below */
    uint8_t week_days;
    bool either_day; /* a day of month_days or of week_days, not both */
    bool has_nth;
    uint16_t months;              /* bits 1 .. 12 */
    uint32_t hours;               /* bits 0 .. 23 */
    uint32_t month_days;          /* bits 1 .. 31 */
    uint32_t month_days_back;     /* bits 1 .. 31 */
    uint64_t minutes, seconds;    /* bits 0 .. 59 */
    uint64_t weeks, weeks_back;   /* bits 1 .. 53 */
    uint64_t nth[7], nth_back[7]; /* by weekday: bits 1 .. 53 */
    struct bits year_days;        /* bit n-1 for day n */
    struct bits year_days_back;   /* bit n-1 for day n from the end */
    struct bits positions;        /* bit n-1 for position n */
    struct bits positions_back;   /* bit n-1 for position n from the end */
};

/* The mistake, its place and the expected text, for a person. */
struct rule_error {
    size_t offset; /* into the text that is wrong */
    char text[240];
};

/* 0, or INVALID with *ret_error filled in. */
int rule_parse_rrule(struct str text, struct rule *ret, struct rule_error *ret_error);
int rule_parse_cron(struct str text, uint64_t seed, struct rule *ret, struct rule_error *ret_error);

static inline bool rule_has(const struct rule *r, enum rule_part part)
{
    return r->given >> part & 1;
}

#endif
