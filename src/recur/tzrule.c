/* SPDX-License-Identifier: MIT */
#include "recur/tzrule.h"

#include "base/error.h"
#include "recur/civil.h"

#define OFFSET_HOURS_MAX 25  /* what RFC 9636 asks of readers is less */
#define TIME_HOURS_MAX   167 /* a week less an hour */

static bool take_char(struct str *s, char c)
{
    if (s->len == 0 || s->ptr[0] != c)
        return false;
    *s = (struct str){ s->ptr + 1, s->len - 1 };
    return true;
}

static bool take_number(struct str *s, int min, int max, int *ret)
{
    int v = 0;
    size_t n = 0;
    for (; n < s->len && n < 3 && s->ptr[n] >= '0' && s->ptr[n] <= '9'; n++)
        v = v * 10 + (s->ptr[n] - '0');
    if (n == 0 || v < min || v > max)
        return false;
    *s = (struct str){ s->ptr + n, s->len - n };
    *ret = v;
    return true;
}

static bool is_name_char(char c, bool quoted)
{
    bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return letter || (quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
}

/* "CET" or "<+0530>". */
static bool take_name(struct str *s, char ret[ZONE_ABBREVIATION])
{
    bool quoted = take_char(s, '<');
    size_t n = 0;
    while (n < s->len && is_name_char(s->ptr[n], quoted))
        n++;
    if (n == 0 || n >= ZONE_ABBREVIATION)
        return false;
    memcpy(ret, s->ptr, n);
    ret[n] = '\0';
    *s = (struct str){ s->ptr + n, s->len - n };
    return !quoted || take_char(s, '>');
}

/* "-5:30", "02", "+1:00:30". */
static bool take_time(struct str *s, int hours_max, int32_t *ret_s)
{
    int hours, minutes = 0, seconds = 0;
    bool negative = take_char(s, '-');
    if (!negative)
        take_char(s, '+');
    if (!take_number(s, 0, hours_max, &hours))
        return false;
    if (take_char(s, ':')) {
        if (!take_number(s, 0, 59, &minutes))
            return false;
        if (take_char(s, ':') && !take_number(s, 0, 59, &seconds))
            return false;
    }
    *ret_s = (negative ? -1 : 1) * (hours * CIVIL_HOUR + minutes * CIVIL_MINUTE + seconds);
    return true;
}

static bool take_change(struct str *s, struct tzrule_change *ret)
{
    *ret = (struct tzrule_change){ .time_s = 2 * CIVIL_HOUR };
    if (!take_char(s, ','))
        return false;
    if (take_char(s, 'M')) {
        ret->kind = TZRULE_WEEKDAY;
        if (!take_number(s, 1, 12, &ret->month) || !take_char(s, '.') ||
            !take_number(s, 1, 5, &ret->week) || !take_char(s, '.') ||
            !take_number(s, 0, 6, &ret->day))
            return false;
    } else if (take_char(s, 'J')) {
        ret->kind = TZRULE_JULIAN;
        if (!take_number(s, 1, 365, &ret->day))
            return false;
    } else {
        ret->kind = TZRULE_YEAR_DAY;
        if (!take_number(s, 0, 365, &ret->day))
            return false;
    }
    return !take_char(s, '/') || take_time(s, TIME_HOURS_MAX, &ret->time_s);
}

/* POSIX counts offsets to the west. */
static bool take_rule(struct str s, struct tzrule *ret)
{
    int32_t west;
    if (!take_name(&s, ret->standard.abbreviation) || !take_time(&s, OFFSET_HOURS_MAX, &west))
        return false;
    ret->standard.offset_s = -west;
    if (s.len == 0)
        return true;
    ret->has_dst = true;
    ret->dst.is_dst = true;
    west -= CIVIL_HOUR;
    if (!take_name(&s, ret->dst.abbreviation))
        return false;
    if (s.len > 0 && s.ptr[0] != ',' && !take_time(&s, OFFSET_HOURS_MAX, &west))
        return false;
    ret->dst.offset_s = -west;
    return take_change(&s, &ret->to_dst) && take_change(&s, &ret->to_standard) && s.len == 0;
}

int tzrule_parse(struct str text, struct tzrule *ret)
{
    struct tzrule r = { 0 };
    if (!take_rule(text, &r))
        return BELFRY_CORRUPT;
    *ret = r;
    return 0;
}

static int64_t change_day(const struct tzrule_change *c, int64_t year)
{
    int64_t first;
    int ahead;
    switch (c->kind) {
    case TZRULE_JULIAN:
        return civil_days(year, 1, 1) + c->day - 1 + (c->day >= 60 && civil_is_leap(year));
    case TZRULE_YEAR_DAY: return civil_days(year, 1, 1) + c->day;
    case TZRULE_WEEKDAY: break;
    }
    first = civil_days(year, c->month, 1);
    ahead = (c->day + 6 - civil_weekday(first)) % 7 + (c->week - 1) * 7;
    if (ahead >= civil_month_days(year, c->month))
        ahead -= 7;
    return first + ahead;
}

void tzrule_turns(const struct tzrule *r, int64_t near_s, struct tzrule_turn ret[TZRULE_CHANGES])
{
    int64_t year = civil_date(civil_div(near_s, CIVIL_DAY)).year - 2;
    for (int n = 0; n < TZRULE_CHANGES; n++) {
        bool to_dst = n % 2 == 0;
        const struct tzrule_change *c = to_dst ? &r->to_dst : &r->to_standard;
        struct tzrule_turn turn = {
            change_day(c, year + n / 2) * CIVIL_DAY + c->time_s -
                (to_dst ? r->standard.offset_s : r->dst.offset_s),
            to_dst ? &r->dst : &r->standard,
        };
        /* Equal ones stay as they are: DST all year round ends when it begins. */
        int i = n;
        for (; i > 0 && ret[i - 1].at_s > turn.at_s; i--)
            ret[i] = ret[i - 1];
        ret[i] = turn;
    }
}
