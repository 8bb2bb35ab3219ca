/* SPDX-License-Identifier: MIT */
#include "recur/quiet.h"

#include "base/error.h"
#include "recur/civil.h"
#include "recur/scan.h"

#define DAY_MINUTES  1440
#define WEEK_MINUTES (7 * DAY_MINUTES)
#define WEEK_S       (7 * CIVIL_DAY)
#define APART_S      (4 * CIVIL_DAY) /* more than two offsets can differ */
#define STRETCHES    64              /* looked at for one span: a zone has two in a year */
#define ROUNDS       16              /* spans that follow each other by changes of the clock */
#define ALL_DAYS     0x7fu

static const char expected_days[] = "days from mon to sun, such as sat,sun or mon-fri";
static const char expected_window[] = "a window such as 22:00-07:00 or sat,sun 00:00-24:00";
static const char expected_time[] = "a time from 00:00 to 24:00, such as 22:30";

/* ---- Text ---- */

struct week {
    uint64_t minutes[(WEEK_MINUTES + 63) / 64];
};

static void skip_spaces(struct scan *s)
{
    while (scan_take(s, ' '))
        ;
}

static int take_day(struct scan *s, int *ret)
{
    struct str word = scan_word(s);
    int day = scan_name(word, "MONTUEWEDTHUFRISATSUN", 3);

    if (day < 0)
        return scan_fail(s, s->at, expected_days, "no day of the week: %.*s",
                         STR_ARG(scan_item(s, s->at, ",-;")));
    s->at += word.len;
    *ret = day;
    return 0;
}

/* "sat,sun", "fri-mon": bits. */
static int take_days(struct scan *s, unsigned *ret)
{
    unsigned days = 0;
    int first, last, err;

    do {
        err = take_day(s, &first);
        last = first;
        if (!err && scan_take(s, '-'))
            err = take_day(s, &last);
        if (err)
            return err;
        for (int day = first;; day = (day + 1) % 7) {
            days |= 1u << day;
            if (day == last)
                break;
        }
    } while (scan_take(s, ','));
    *ret = days;
    return 0;
}

/* Minutes of the day. */
static int take_time(struct scan *s, int *ret)
{
    size_t start = s->at, colon;
    int64_t hour = scan_number(s), minute = -1;

    colon = s->at;
    if (scan_take(s, ':'))
        minute = scan_number(s);
    if (hour < 0 || minute < 0 || colon - start > 2 || s->at - colon != 3 || minute > 59 ||
        hour > 24 || (hour == 24 && minute > 0))
        return scan_fail(s, start, expected_time, "no time of day: %.*s",
                         STR_ARG(scan_item(s, start, "-;")));
    *ret = (int)(hour * 60 + minute);
    return 0;
}

static void mark(struct week *w, int day, int from, int to)
{
    for (int i = from; i < to; i++) {
        int minute = (day * DAY_MINUTES + i) % WEEK_MINUTES;

        w->minutes[minute / 64] |= UINT64_C(1) << minute % 64;
    }
}

static int take_window(struct scan *s, struct week *w)
{
    unsigned days = ALL_DAYS;
    size_t start;
    int from, to, err;

    skip_spaces(s);
    if (scan_done(s) || scan_peek(s) == ';')
        return scan_fail(s, s->at, expected_window, "no window");
    if (scan_word(s).len > 0) {
        err = take_days(s, &days);
        if (err)
            return err;
        if (scan_peek(s) != ' ')
            return scan_fail(s, s->at, "a space and a time after the days, as in sat 00:00-24:00",
                             "no time");
        skip_spaces(s);
    }
    start = s->at;
    err = take_time(s, &from);
    if (!err && !scan_take(s, '-'))
        err = scan_fail(s, s->at, expected_window, "no end of the window");
    if (!err)
        err = take_time(s, &to);
    if (err)
        return err;
    if (from == to || from == DAY_MINUTES)
        return scan_fail(s, start, "two times that differ, the first before 24:00",
                         "no time is in this window");
    to += to <= from ? DAY_MINUTES : 0;
    for (int day = 0; day < 7; day++)
        if (days >> day & 1)
            mark(w, day, from, to);
    skip_spaces(s);
    return 0;
}

static bool is_marked(const struct week *w, int minute)
{
    minute %= WEEK_MINUTES;
    return w->minutes[minute / 64] >> minute % 64 & 1;
}

/* The spans of marked minutes, from the first minute that is not on, so that none is cut in two. */
static int gather(struct scan *s, const struct week *w, struct quiet *ret)
{
    int first = 0, n = 0;

    while (first < WEEK_MINUTES && is_marked(w, first))
        first++;
    if (first == WEEK_MINUTES)
        return scan_fail(s, 0, "a minute of the week that is in no window",
                         "the windows cover the whole week: nothing would ever be delivered");
    for (int i = first; i < first + WEEK_MINUTES; i++) {
        if (!is_marked(w, i) || (i > first && is_marked(w, i - 1)))
            continue;
        if (n == QUIET_SPANS)
            return scan_fail(s, 0, "at most 64 of them in a week", "there are too many windows");
        int end = i;
        while (is_marked(w, end))
            end++;
        int whole = i / WEEK_MINUTES * WEEK_MINUTES;
        ret->spans[n++] = (struct quiet_span){ (uint16_t)(i - whole), (uint16_t)(end - whole) };
    }
    ret->n = (size_t)n;
    return 0;
}

int quiet_parse(struct str text, struct quiet *ret, struct rule_error *ret_error)
{
    struct scan s;
    struct week w = { 0 };
    struct quiet q = { 0 };
    int err = scan_start(&s, text, RULE_TEXT_MAX, ret_error, expected_window);

    if (!err && text.len > QUIET_TEXT_MAX)
        err = scan_fail(&s, QUIET_TEXT_MAX, "at most 200 bytes", "the text is too long");
    while (!err) {
        err = take_window(&s, &w);
        if (err || scan_done(&s))
            break;
        if (!scan_take(&s, ';'))
            err = scan_fail(&s, s.at, "the end, or ; and another window",
                            "more than a window: %.*s", STR_ARG(scan_item(&s, s.at, ";")));
    }
    if (!err)
        err = gather(&s, &w, &q);
    if (!err)
        *ret = q;
    return err;
}

/* ---- Time ---- */

/* The times that the clock shows from `from` on and before `to`, in local seconds. */
struct shown {
    int64_t from, to;
};

static bool span_at(const struct quiet *q, int64_t local_s, struct shown *ret)
{
    /* 1970-01-01 was a Thursday. */
    int64_t in_week = civil_mod(local_s + 3 * CIVIL_DAY, WEEK_S), monday = local_s - in_week;

    for (size_t i = 0; i < q->n; i++) {
        int64_t from = q->spans[i].from * INT64_C(60), to = q->spans[i].to * INT64_C(60);

        if (in_week + WEEK_S < to) { /* it began in the week before */
            *ret = (struct shown){ monday - WEEK_S + from, monday - WEEK_S + to };
            return true;
        }
        if (in_week >= from && in_week < to) {
            *ret = (struct shown){ monday + from, monday + to };
            return true;
        }
    }
    return false;
}

/* The end of the last stretch of moments, from utc_s on, at which the clock shows one of these. */
static int64_t shown_last(const struct zone *z, int64_t utc_s, struct shown span)
{
    struct zone_stretch s = zone_at(z, utc_s);
    int64_t end = utc_s;

    for (int i = 0; i < STRETCHES; i++) {
        int64_t first = (s.start_s > utc_s ? s.start_s : utc_s) + s.offset_s;
        bool whole = s.end_s == INT64_MAX || s.end_s + s.offset_s >= span.to;

        if (first < span.to && (whole || s.end_s + s.offset_s > span.from))
            end = whole ? span.to - s.offset_s : s.end_s;
        if (s.end_s == INT64_MAX || s.end_s + s.offset_s > span.to + APART_S)
            break;
        s = zone_at(z, s.end_s);
    }
    return end;
}

int64_t quiet_until(const struct quiet *q, const struct zone *z, int64_t moment_ms)
{
    int64_t now_s = civil_div(moment_ms, 1000), end_s = now_s;
    struct shown span;

    for (int i = 0; i < ROUNDS; i++) {
        if (!span_at(q, end_s + zone_at(z, end_s).offset_s, &span))
            break;
        end_s = shown_last(z, end_s, span);
    }
    return end_s > now_s ? end_s * 1000 : -1;
}
