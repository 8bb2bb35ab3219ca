/* SPDX-License-Identifier: MIT */
/* cron's five fields, as the days and times of a daily rule. */
#include "base/error.h"
#include "recur/scan.h"

struct field {
    const char *name;
    int min, max;
    const char *names; /* three letters each, or NULL */
    int names_min;     /* the number of the first name */
    const char *expected;
};

enum { MINUTE, HOUR, MONTH_DAY, MONTH, WEEK_DAY, FIELDS };

static const struct field fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, NULL, 0, "*, 0 to 59, 0-29, */15, H or a list of such" },
    [HOUR] = { "hour", 0, 23, NULL, 0, "*, 0 to 23, 9-17, */2, H or a list of such" },
    [MONTH_DAY] = { "day of month", 1, 31, NULL, 0, "*, 1 to 31, 1-7, */2, H or a list of such" },
    [MONTH] = { "month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 1,
                "*, 1 to 12, JAN to DEC, JAN-MAR, */3, H or a list of such" },
    [WEEK_DAY] = { "day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT", 0,
                   "*, 0 to 7, SUN to SAT, MON-FRI, H or a list of such" },
};

static const struct {
    const char *name, *fields;
} nicknames[] = {
    { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },   { "@midnight", "0 0 * * *" },
    { "@weekly", "0 0 * * 0" },   { "@monthly", "0 0 1 * *" }, { "@yearly", "0 0 1 1 *" },
    { "@annually", "0 0 1 1 *" },
};

/* One item of a field's list: first, first + step, ... last. */
struct item {
    int first, last, step;
};

struct cron {
    struct scan s;
    uint64_t seed;
    uint64_t sets[FIELDS];
    bool stars[FIELDS];
};

/* Spreads a seed over the fields (splitmix64's finish): equal names would meet in every field. */
static int spread(uint64_t seed, int field, int values)
{
    uint64_t x = seed + (uint64_t)(field + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)((x ^ (x >> 31)) % (uint64_t)values);
}

static int refuse(struct cron *c, size_t at, int field)
{
    return scan_fail(&c->s, at, fields[field].expected, "no %s in field %d: %.*s",
                     fields[field].name, field + 1, STR_ARG(scan_item(&c->s, at, ",")));
}

/* A number or a name; -1 if it is none of this field. */
static int take_value(struct scan *s, const struct field *f)
{
    struct str word = scan_word(s);
    int64_t v;
    if (word.len > 0) {
        int i = f->names ? scan_name(word, f->names, 3) : -1;
        s->at += i < 0 ? 0 : word.len;
        return i < 0 ? -1 : i + f->names_min;
    }
    v = scan_number(s);
    return v < f->min || v > f->max ? -1 : (int)v;
}

/* "7", "MON-FRI", also within H(): last is -1 if there is no range. */
static bool take_range(struct scan *s, const struct field *f, struct item *ret)
{
    ret->first = take_value(s, f);
    ret->last = -1;
    if (ret->first < 0)
        return false;
    if (scan_take(s, '-')) {
        ret->last = take_value(s, f);
        if (f == &fields[WEEK_DAY] && ret->last == 0 && ret->first > 0)
            ret->last = 7; /* FRI-SUN */
        return ret->last >= ret->first;
    }
    return true;
}

static int last_of(int field)
{
    return field == WEEK_DAY ? 6 : fields[field].max; /* 0 and 7 are one day */
}

/* The step stays 0 if there is none. */
static bool take_step(struct scan *s, int field, struct item *ret)
{
    int64_t v;
    if (!scan_take(s, '/'))
        return true;
    v = scan_number(s);
    if (v < 1 || v > fields[field].max)
        return false;
    if (ret->last < 0)
        ret->last = last_of(field); /* 5/15 */
    ret->step = (int)v;
    return true;
}

/* H, H/15, H(0-29), H(0-29)/10: the H is already taken. */
static bool take_hash(struct cron *c, int field, struct item *ret)
{
    const struct field *f = &fields[field];
    struct item range = { f->min, last_of(field), 0 };
    bool ranged = scan_take(&c->s, '(');
    int values;
    if (ranged && (!take_range(&c->s, f, &range) || range.last < 0 || !scan_take(&c->s, ')')))
        return false;
    if (!take_step(&c->s, field, &range))
        return false;
    if (!range.step && !ranged && field == MONTH_DAY)
        range.last = 28;
    values = range.last - range.first + 1;
    if (range.step && range.step < values)
        values = range.step;
    ret->first = range.first + spread(c->seed, field, values);
    ret->step = range.step;
    ret->last = range.step ? range.last : ret->first;
    return true;
}

static int take_item(struct cron *c, int field)
{
    const struct field *f = &fields[field];
    size_t start = c->s.at;
    struct item it = { f->min, last_of(field), 0 };
    struct str word = scan_word(&c->s);
    bool ok;
    if (scan_take(&c->s, '*')) {
        ok = take_step(&c->s, field, &it);
    } else if (str_ieq(word, "H")) {
        c->s.at++;
        ok = take_hash(c, field, &it);
    } else {
        ok = take_range(&c->s, f, &it) && take_step(&c->s, field, &it);
    }
    if (!ok)
        return refuse(c, start, field);
    if (it.last < 0)
        it.last = it.first;
    for (int v = it.first; v <= it.last; v += it.step ? it.step : 1)
        c->sets[field] |= UINT64_C(1) << v;
    return 0;
}

static bool take_blanks(struct scan *s)
{
    size_t start = s->at;
    while (scan_peek(s) == ' ' || scan_peek(s) == '\t')
        s->at++;
    return s->at > start;
}

static int take_field(struct cron *c, int field)
{
    size_t start = c->s.at;
    bool star = scan_peek(&c->s) == '*';
    if (scan_done(&c->s))
        return scan_fail(&c->s, start, "five fields: minute hour day-of-month month day-of-week",
                         "only %d of the fields are there", field);
    do {
        int err = take_item(c, field);
        if (err)
            return err;
    } while (scan_take(&c->s, ','));
    c->stars[field] = star;
    if (!take_blanks(&c->s) && !scan_done(&c->s))
        return refuse(c, start, field);
    return 0;
}

#define ALL_MONTHS     0x1ffeu
#define ALL_MONTH_DAYS 0xfffffffeu
#define ALL_WEEK_DAYS  0x7fu

/* A set that has everything says nothing. */
static struct rule rule_of(const struct cron *c)
{
    uint64_t week_days = c->sets[WEEK_DAY] | c->sets[WEEK_DAY] >> 7; /* 7 is Sunday, too */
    struct rule r = {
        .freq = RULE_DAILY,
        .interval = 1,
        .seconds = 1,
        .minutes = c->sets[MINUTE],
        .hours = (uint32_t)c->sets[HOUR],
        .months = (uint16_t)c->sets[MONTH],
        .month_days = (uint32_t)c->sets[MONTH_DAY],
        /* From Sunday first to Monday first. */
        .week_days = (uint8_t)((week_days >> 1 & 0x3f) | (week_days & 1) << 6),
        .either_day = !c->stars[MONTH_DAY] && !c->stars[WEEK_DAY],
    };
    if (r.months == ALL_MONTHS)
        r.months = 0;
    if (r.month_days == ALL_MONTH_DAYS || r.week_days == ALL_WEEK_DAYS) {
        bool any = r.either_day;
        r.month_days = any || r.month_days == ALL_MONTH_DAYS ? 0 : r.month_days;
        r.week_days = any || r.week_days == ALL_WEEK_DAYS ? 0 : r.week_days;
        r.either_day = false;
    }
    return r;
}

static int parse_nickname(struct scan *s, struct str *ret)
{
    struct str text = s->text;
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    for (size_t i = 0; i < sizeof nicknames / sizeof *nicknames; i++) {
        if (str_ieq((struct str){ text.ptr + s->at, text.len - s->at }, nicknames[i].name)) {
            *ret = str_of(nicknames[i].fields);
            return 0;
        }
    }
    return scan_fail(s, s->at, "@hourly, @daily, @midnight, @weekly, @monthly or @yearly",
                     "there is no %.*s", STR_ARG(scan_item(s, s->at, "")));
}

int rule_parse_cron(struct str text, uint64_t seed, struct rule *ret, struct rule_error *ret_error)
{
    struct cron c = { .seed = seed };
    int err = scan_start(&c.s, text, RULE_TEXT_MAX, ret_error,
                         "cron's five fields, such as 30 9 * * MON-FRI");
    if (err)
        return err;
    take_blanks(&c.s);
    if (scan_peek(&c.s) == '@') {
        err = parse_nickname(&c.s, &text);
        if (err)
            return err;
        c.s.text = text;
        c.s.at = 0;
    }
    for (int field = 0; field < FIELDS && !err; field++)
        err = take_field(&c, field);
    if (!err && !scan_done(&c.s))
        err = scan_fail(&c.s, c.s.at, "the end: cron has five fields, without seconds",
                        "there is more: %.*s", STR_ARG(scan_item(&c.s, c.s.at, "")));
    if (!err)
        *ret = rule_of(&c);
    return err;
}
