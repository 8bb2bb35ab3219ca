/* SPDX-License-Identifier: MIT */
/* From texts to a recurrence: a rule is parsed, and what it leaves open is taken from START. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/time.h"
#include "recur/internal.h"
#include "recur/scan.h"

#define TIME_PARTS (1u << RULE_BYMINUTE | 1u << RULE_BYSECOND | 1u << RULE_BYSETPOS)
#define DAY_PARTS  (1u << RULE_BYDAY | 1u << RULE_BYMONTHDAY | 1u << RULE_BYYEARDAY)

/* RFC 5545: "information, not contained in the rule, necessary to determine the various recurrence
 * instance start time and dates are derived from DTSTART". */
static void settle_days(struct rule *r, int64_t start_day)
{
    struct civil_date start = civil_date(start_day);
    if (r->given & DAY_PARTS)
        return;
    if (r->freq == RULE_WEEKLY || (r->freq == RULE_YEARLY && rule_has(r, RULE_BYWEEKNO))) {
        r->week_days = (uint8_t)(1u << civil_weekday(start_day));
    } else if (r->freq >= RULE_MONTHLY) {
        r->month_days = 1u << start.day;
        if (r->freq == RULE_YEARLY && !r->months)
            r->months = (uint16_t)(1u << start.month);
    }
}

static void settle_times(struct rule *r, int second)
{
    if (!r->hours)
        r->hours = r->freq <= RULE_HOURLY ? TIMES_ALL_HOURS : 1u << (second / CIVIL_HOUR);
    if (!r->minutes)
        r->minutes =
            r->freq <= RULE_MINUTELY ? TIMES_ALL : UINT64_C(1) << (second / CIVIL_MINUTE % 60);
    if (!r->seconds)
        r->seconds = r->freq == RULE_SECONDLY ? TIMES_ALL : UINT64_C(1) << (second % CIVIL_MINUTE);
}

/* Every step-th of 0 .. 59, one of them being `at`. */
static uint64_t every(int step, int at)
{
    uint64_t set = 0;
    for (int i = at % step; i < 60; i += step)
        set |= UINT64_C(1) << i;
    return set;
}

/* An interval that divides the next larger unit is, for example, a set of minutes of every hour.
 * Then the rule becomes a daily rule, whose times need no search step by step. */
static void settle_interval(struct recur *r, int second)
{
    struct rule *rule = &r->rule;
    int64_t step = r->interval * r->unit_s;
    int hour = second / CIVIL_HOUR, minute = second / CIVIL_MINUTE % 60;
    if (CIVIL_DAY % step != 0 || r->has_positions)
        return;
    if (step < CIVIL_MINUTE && CIVIL_MINUTE % step == 0) {
        rule->seconds &= every((int)step, second % 60);
    } else if (step < CIVIL_HOUR && step % CIVIL_MINUTE == 0 && CIVIL_HOUR % step == 0) {
        rule->minutes &= every((int)step / CIVIL_MINUTE, minute);
        rule->seconds &= r->unit_s == 1 ? UINT64_C(1) << (second % 60) : UINT64_MAX;
    } else if (step % CIVIL_HOUR == 0) {
        rule->hours &= (uint32_t)(every((int)(step / CIVIL_HOUR), hour) & TIMES_ALL_HOURS);
        rule->minutes &= r->unit_s < CIVIL_HOUR ? UINT64_C(1) << minute : UINT64_MAX;
        rule->seconds &= r->unit_s == 1 ? UINT64_C(1) << (second % 60) : UINT64_MAX;
    } else {
        return;
    }
    rule->freq = RULE_DAILY;
    r->interval = 1;
    r->unit_s = 0;
}

static enum recur_pace pace_of(const struct rule *r, enum recur_kind kind)
{
    if (kind == RECUR_CRON)
        return r->hours == TIMES_ALL_HOURS ? PACE_SHOWN : PACE_LOCAL;
    if (r->freq > RULE_HOURLY || rule_has(r, RULE_BYHOUR))
        return PACE_LOCAL;
    return r->given & TIME_PARTS ? PACE_SHOWN : PACE_ELAPSED;
}

static void settle_until(struct recur *r)
{
    r->until_s = TIME_MOMENT_MAX / 1000;
    if (r->rule.until_kind == RULE_UNTIL_UTC)
        r->until_s = r->rule.until_s;
    else if (r->rule.until_kind == RULE_UNTIL_LOCAL)
        r->until_s = zone_moment(r->zone, r->rule.until_s, NULL);
}

static void settle_rule(struct recur *r, enum recur_kind kind)
{
    static const int64_t units[] = {
        [RULE_SECONDLY] = 1, [RULE_MINUTELY] = CIVIL_MINUTE, [RULE_HOURLY] = CIVIL_HOUR
    };
    struct rule *rule = &r->rule;
    int64_t day = civil_div(r->start_local_s, CIVIL_DAY);
    int second = (int)(r->start_local_s - day * CIVIL_DAY);

    r->pace = pace_of(rule, kind);
    r->interval = rule->interval;
    r->has_positions = rule_has(rule, RULE_BYSETPOS);
    settle_until(r);
    settle_days(rule, day);
    settle_times(rule, second);
    if (rule->freq == RULE_SECONDLY && r->has_positions) { /* of a set of one */
        if (!bits_has(&rule->positions, 0) && !bits_has(&rule->positions_back, 0))
            r->until_s = INT64_MIN;
        r->has_positions = false;
    }
    if (r->pace == PACE_ELAPSED) { /* seconds from START on, whatever the clock shows */
        r->unit_s = 1;
        r->interval *= units[rule->freq];
        rule->minutes = rule->seconds = TIMES_ALL;
    } else if (rule->freq <= RULE_HOURLY) {
        r->unit_s = units[rule->freq];
        settle_interval(r, second);
    }
    times_init(&r->times, r->unit_s ? 1 : rule->hours,
               r->unit_s == CIVIL_MINUTE ? 1 : rule->minutes, rule->seconds);
    r->has_days = rule->months || rule->month_days || rule->month_days_back || rule->week_days ||
                  rule_has(rule, RULE_BYYEARDAY);
    if (recur_is_empty(r))
        r->until_s = INT64_MIN;
}

static int settle_every(struct recur *r, struct str text, struct rule_error *ret_error)
{
    const char *why = "an interval of 0 would never end: expected a duration such as 90s or 15m";
    int err =
        text.len > RULE_TEXT_MAX ? BELFRY_INVALID : time_parse_duration(text, &r->every_ms, &why);
    if (!err && r->every_ms > 0) {
        r->pace = PACE_EVERY;
        r->until_s = TIME_MOMENT_MAX / 1000;
        return 0;
    }
    ret_error->offset = 0;
    snprintf(ret_error->text, sizeof ret_error->text, "%s", why);
    return BELFRY_INVALID;
}

/* Appends the dates of a list. `day_s` is the second of the day for dates without a time; -1: such
 * a date stands for the whole day. An error names the list first. */
static int read_dates(struct recur *r, struct str text, const char *name, int64_t day_s, size_t *n,
                      struct rule_error *ret_error)
{
    struct rule_error error;
    struct scan s;
    int err = 0;
    if (text.len == 0)
        return 0;
    err = scan_start(&s, text, RULE_DATES_BYTES, &error, "");
    while (!err) {
        struct recur_date *d = &r->dates[r->exdates_n + r->rdates_n];
        enum scan_moment kind;
        if (*n == RECUR_DATES_MAX) {
            err = scan_fail(&s, s.at, "at most 512", "there are too many dates");
            break;
        }
        err = scan_moment(&s, &kind, &d->s);
        d->kind = kind == SCAN_UTC ? DATE_MOMENT : kind == SCAN_LOCAL ? DATE_LOCAL : DATE_DAY;
        if (d->kind == DATE_DAY && day_s >= 0) {
            d->kind = DATE_LOCAL;
            d->s += day_s;
        }
        if (!err)
            ++*n;
        if (!err && !scan_take(&s, ',')) {
            if (scan_done(&s))
                return 0;
            err = scan_fail(&s, s.at, "a comma or the end", "the date goes on with %.*s",
                            STR_ARG(scan_item(&s, s.at, ",")));
        }
    }
    ret_error->offset = error.offset;
    snprintf(ret_error->text, sizeof ret_error->text, "%s: %.*s", name, (int)sizeof error.text - 10,
             error.text);
    return err;
}

static size_t dates_in(struct str text)
{
    size_t n = text.len > 0;
    for (size_t i = 0; i < text.len && n < RECUR_DATES_MAX; i++)
        n += text.ptr[i] == ',';
    return n;
}

static void settle_start(struct recur *r, const struct recur_spec *spec)
{
    int64_t floor_s = civil_div(spec->start_ms, 1000);
    int64_t fraction = spec->start_ms - floor_s * 1000;
    r->zone = spec->zone;
    r->start_ms = spec->start_ms;
    r->start_local_s = floor_s + zone_at(spec->zone, floor_s).offset_s;
    r->fraction_ms = spec->kind == RECUR_CRON ? 0 : (int32_t)fraction;
    r->start_s = civil_div_up(spec->start_ms - r->fraction_ms, 1000);
}

int recur_new(const struct recur_spec *spec, struct recur **ret, struct rule_error *ret_error)
{
    size_t dates = dates_in(spec->exdate) + dates_in(spec->rdate);
    struct recur *r = calloc(1, sizeof(*r) + (dates + 1) * sizeof(*r->dates));
    int64_t second;
    int err = 0;
    assert(spec->start_ms >= 0 && spec->start_ms <= TIME_MOMENT_MAX);
    if (!r)
        return BELFRY_NOMEM;
    settle_start(r, spec);
    switch (spec->kind) {
    case RECUR_RRULE: err = rule_parse_rrule(spec->text, &r->rule, ret_error); break;
    case RECUR_CRON: err = rule_parse_cron(spec->text, spec->seed, &r->rule, ret_error); break;
    case RECUR_EVERY: err = settle_every(r, spec->text, ret_error); break;
    }
    second = civil_mod(r->start_local_s, CIVIL_DAY);
    if (!err)
        err = read_dates(r, spec->exdate, "EXDATE", -1, &r->exdates_n, ret_error);
    if (!err)
        err = read_dates(r, spec->rdate, "RDATE", second, &r->rdates_n, ret_error);
    if (err) {
        free(r);
        return err;
    }
    if (spec->kind != RECUR_EVERY)
        settle_rule(r, spec->kind);
    *ret = r;
    return 0;
}

void recur_free(struct recur *r)
{
    free(r);
}
