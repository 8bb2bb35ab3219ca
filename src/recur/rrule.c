/* SPDX-License-Identifier: MIT */
/* RRULE text. One row for each part says how its value is read and in which numbers it is. */
#include "base/error.h"
#include "recur/civil.h"
#include "recur/scan.h"

#define WEEK_DAYS "MOTUWETHFRSASU"

struct part {
    const char *name;
    int (*read)(struct scan *s, const struct part *p, struct rule *r);
    int64_t max;
    int64_t min; /* 0 or 1; a list with `back` takes -max .. -min, too */
    bool back;
    const char *expected;
};

static int read_freq(struct scan *s, const struct part *p, struct rule *r)
{
    static const char *const names[] = { "SECONDLY", "MINUTELY", "HOURLY", "DAILY",
                                         "WEEKLY",   "MONTHLY",  "YEARLY" };
    struct str word = scan_word(s);
    for (int i = 0; i <= RULE_YEARLY; i++) {
        if (str_ieq(word, names[i])) {
            r->freq = (enum rule_freq)i;
            s->at += word.len;
            return 0;
        }
    }
    return scan_fail(s, s->at, p->expected, "FREQ has no value %.*s",
                     STR_ARG(scan_item(s, s->at, ";")));
}

static int read_number(struct scan *s, const struct part *p, struct rule *r)
{
    size_t start = s->at;
    int64_t v = scan_number(s);
    if (v < p->min || v > p->max)
        return scan_fail(s, start, p->expected, "%s is out of range or no number: %.*s", p->name,
                         STR_ARG(scan_item(s, start, ";")));
    if (p->name[0] == 'C')
        r->count = (uint32_t)v;
    else
        r->interval = (uint32_t)v;
    return 0;
}

static int read_until(struct scan *s, const struct part *p, struct rule *r)
{
    enum scan_moment kind;
    int err = scan_moment(s, &kind, &r->until_s);
    (void)p;
    if (err)
        return err;
    r->until_kind = kind == SCAN_UTC ? RULE_UNTIL_UTC : RULE_UNTIL_LOCAL;
    if (kind == SCAN_DATE)
        r->until_s += CIVIL_DAY - 1;
    return 0;
}

static int read_week_start(struct scan *s, const struct part *p, struct rule *r)
{
    struct str word = scan_word(s);
    int day = scan_name(word, WEEK_DAYS, 2);
    if (day < 0)
        return scan_fail(s, s->at, p->expected, "WKST has no value %.*s",
                         STR_ARG(scan_item(s, s->at, ";")));
    r->week_start = (uint8_t)day;
    s->at += word.len;
    return 0;
}

static void add_to(struct rule *r, const struct part *p, int v, bool back);

static int read_list(struct scan *s, const struct part *p, struct rule *r)
{
    do {
        size_t start = s->at;
        bool back = p->back && scan_take(s, '-');
        int64_t v;
        if (p->back && !back)
            scan_take(s, '+');
        v = scan_number(s);
        if (v < p->min || v > p->max)
            return scan_fail(s, start, p->expected, "%s is out of range or no number: %.*s",
                             p->name, STR_ARG(scan_item(s, start, ",;")));
        add_to(r, p, (int)v, back);
    } while (scan_take(s, ','));
    return 0;
}

static int read_days(struct scan *s, const struct part *p, struct rule *r)
{
    do {
        size_t start = s->at;
        bool back = scan_take(s, '-');
        bool sign = back || scan_take(s, '+');
        int64_t nth = scan_number(s);
        struct str word = scan_word(s);
        int day = scan_name(word, WEEK_DAYS, 2);
        if (day < 0 || nth == 0 || nth > 53 || (sign && nth < 0))
            return scan_fail(s, start, p->expected, "BYDAY has no day %.*s",
                             STR_ARG(scan_item(s, start, ",;")));
        s->at += word.len;
        if (nth < 0) {
            r->week_days |= (uint8_t)(1 << day);
        } else {
            (back ? r->nth_back : r->nth)[day] |= UINT64_C(1) << nth;
            r->has_nth = true;
        }
    } while (scan_take(s, ','));
    return 0;
}

static const struct part parts[] = {
    [RULE_FREQ] = { "FREQ", read_freq, 0, 0, false,
                    "SECONDLY, MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY" },
    [RULE_INTERVAL] = { "INTERVAL", read_number, RULE_INTERVAL_MAX, 1, false,
                        "a whole number from 1 to 2147483647" },
    [RULE_COUNT] = { "COUNT", read_number, RULE_COUNT_MAX, 1, false,
                     "a whole number from 1 to 1000000" },
    [RULE_UNTIL] = { "UNTIL", read_until, 0, 0, false, "" },
    [RULE_BYSECOND] = { "BYSECOND", read_list, 60, 0, false, "seconds from 0 to 60" },
    [RULE_BYMINUTE] = { "BYMINUTE", read_list, 59, 0, false, "minutes from 0 to 59" },
    [RULE_BYHOUR] = { "BYHOUR", read_list, 23, 0, false, "hours from 0 to 23" },
    [RULE_BYDAY] = { "BYDAY", read_days, 53, 1, true,
                     "days such as MO, 2TU or -1FR, the number from 1 to 53 or -53 to -1" },
    [RULE_BYMONTHDAY] = { "BYMONTHDAY", read_list, 31, 1, true,
                          "days of the month from 1 to 31 or -31 to -1" },
    [RULE_BYYEARDAY] = { "BYYEARDAY", read_list, 366, 1, true,
                         "days of the year from 1 to 366 or -366 to -1" },
    [RULE_BYWEEKNO] = { "BYWEEKNO", read_list, 53, 1, true,
                        "numbers of weeks from 1 to 53 or -53 to -1" },
    [RULE_BYMONTH] = { "BYMONTH", read_list, 12, 1, false, "months from 1 to 12" },
    [RULE_BYSETPOS] = { "BYSETPOS", read_list, 366, 1, true,
                        "positions from 1 to 366 or -366 to -1" },
    [RULE_WKST] = { "WKST", read_week_start, 0, 0, false, "MO, TU, WE, TH, FR, SA or SU" },
};
#define PARTS (sizeof parts / sizeof *parts)

static void add_to(struct rule *r, const struct part *p, int v, bool back)
{
    switch ((enum rule_part)(p - parts)) {
    case RULE_BYSECOND: r->seconds |= UINT64_C(1) << (v < 60 ? v : 59); break;
    case RULE_BYMINUTE: r->minutes |= UINT64_C(1) << v; break;
    case RULE_BYHOUR: r->hours |= 1u << v; break;
    case RULE_BYMONTHDAY: *(back ? &r->month_days_back : &r->month_days) |= 1u << v; break;
    case RULE_BYYEARDAY: bits_add(back ? &r->year_days_back : &r->year_days, v - 1); break;
    case RULE_BYWEEKNO: *(back ? &r->weeks_back : &r->weeks) |= UINT64_C(1) << v; break;
    case RULE_BYMONTH: r->months |= (uint16_t)(1u << v); break;
    case RULE_BYSETPOS: bits_add(back ? &r->positions_back : &r->positions, v - 1); break;
    default: break;
    }
}

/* What RFC 5545 forbids. A row holds for the freqs from `low` to `high`, if both parts are there.
 */
static const struct {
    enum rule_part part, with; /* `with` is `part` if there is no other */
    enum rule_freq low, high;
    bool nth_only;
    const char *wrong, *expected;
} refusals[] = {
    { RULE_COUNT, RULE_UNTIL, RULE_SECONDLY, RULE_YEARLY, false, "UNTIL and COUNT are both there",
      "one of them at most" },
    { RULE_BYWEEKNO, RULE_BYWEEKNO, RULE_SECONDLY, RULE_MONTHLY, false,
      "BYWEEKNO goes with FREQ=YEARLY only", "another part, or FREQ=YEARLY" },
    { RULE_BYYEARDAY, RULE_BYYEARDAY, RULE_DAILY, RULE_MONTHLY, false,
      "BYYEARDAY does not go with FREQ=DAILY, WEEKLY or MONTHLY", "another part, or FREQ=YEARLY" },
    { RULE_BYMONTHDAY, RULE_BYMONTHDAY, RULE_WEEKLY, RULE_WEEKLY, false,
      "BYMONTHDAY does not go with FREQ=WEEKLY", "another part, or FREQ=MONTHLY" },
    { RULE_BYDAY, RULE_BYDAY, RULE_SECONDLY, RULE_WEEKLY, true,
      "a number in BYDAY goes with FREQ=MONTHLY or YEARLY only", "days such as MO" },
    { RULE_BYDAY, RULE_BYWEEKNO, RULE_YEARLY, RULE_YEARLY, true,
      "a number in BYDAY does not go with BYWEEKNO", "days such as MO" },
};

#define BY_PARTS (((1u << RULE_BYSETPOS) - 1) & ~((1u << RULE_BYSECOND) - 1))

static int check(struct scan *s, const struct rule *r, const size_t places[PARTS])
{
    if (!rule_has(r, RULE_FREQ))
        return scan_fail(s, s->text.len, "a part such as FREQ=DAILY", "FREQ is missing");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if (rule_has(r, refusals[i].part) && rule_has(r, refusals[i].with) &&
            r->freq >= refusals[i].low && r->freq <= refusals[i].high &&
            (!refusals[i].nth_only || r->has_nth))
            return scan_fail(s, places[refusals[i].part], refusals[i].expected, "%s",
                             refusals[i].wrong);
    }
    if (rule_has(r, RULE_BYSETPOS) && !(r->given & BY_PARTS))
        return scan_fail(s, places[RULE_BYSETPOS], "another BY part, such as BYDAY=MO,TU",
                         "BYSETPOS has nothing to choose from");
    return 0;
}

static int read_part(struct scan *s, struct rule *r, size_t places[PARTS])
{
    size_t start = s->at;
    struct str name = scan_word(s);
    size_t i = 0;
    int err;
    while (i < PARTS && !str_ieq(name, parts[i].name))
        i++;
    if (i == PARTS)
        return scan_fail(s, start, "FREQ, INTERVAL, COUNT, UNTIL, WKST or a BY part of RFC 5545",
                         "a rule has no part %.*s", STR_ARG(scan_item(s, start, "=;")));
    if (rule_has(r, (enum rule_part)i))
        return scan_fail(s, start, "each part once", "%s is there twice", parts[i].name);
    s->at += name.len;
    if (!scan_take(s, '='))
        return scan_fail(s, s->at, "= and a value", "%s has no value", parts[i].name);
    places[i] = s->at;
    r->given |= 1u << i;
    err = parts[i].read(s, &parts[i], r);
    if (!err && !scan_done(s) && scan_peek(s) != ';')
        err = scan_fail(s, s->at, "; or the end", "%s goes on with %.*s", parts[i].name,
                        STR_ARG(scan_item(s, s->at, ";")));
    return err;
}

int rule_parse_rrule(struct str text, struct rule *ret, struct rule_error *ret_error)
{
    struct rule r = { .interval = 1 };
    size_t places[PARTS] = { 0 };
    struct scan s;
    int err = scan_start(&s, text, RULE_TEXT_MAX, ret_error, "a rule such as FREQ=DAILY;BYHOUR=9");
    if (!err && text.len >= 6 && strncasecmp(text.ptr, "RRULE:", 6) == 0)
        s.at = 6;
    if (err)
        return err;
    do {
        err = read_part(&s, &r, places);
    } while (!err && scan_take(&s, ';'));
    if (!err)
        err = check(&s, &r, places);
    if (!err)
        *ret = r;
    return err;
}
