/* SPDX-License-Identifier: MIT */
#include "recur/scan.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "recur/civil.h"

#define ITEM_MAX 24

int scan_fail(struct scan *s, size_t at, const char *expected, const char *wrong, ...)
{
    struct rule_error *e = s->error;
    char what[120];
    va_list args;
    va_start(args, wrong);
    vsnprintf(what, sizeof what, wrong, args);
    va_end(args);
    e->offset = at;
    snprintf(e->text, sizeof e->text, "%s at offset %zu: expected %s", what, at, expected);
    return BELFRY_INVALID;
}

int scan_start(struct scan *s, struct str text, size_t max, struct rule_error *error,
               const char *expected)
{
    char most[40];

    *s = (struct scan){ text, 0, error };
    if (text.len == 0)
        return scan_fail(s, 0, expected, "nothing is there");
    if (text.len <= max)
        return 0;
    snprintf(most, sizeof(most), "at most %zu bytes", max);
    return scan_fail(s, max, most, "the text is too long");
}

bool scan_take(struct scan *s, char c)
{
    if (scan_done(s) || s->text.ptr[s->at] != c)
        return false;
    s->at++;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct str scan_word(const struct scan *s)
{
    size_t end = s->at;
    while (end < s->text.len && is_letter(s->text.ptr[end]))
        end++;
    return (struct str){ s->text.ptr + s->at, end - s->at };
}

/* Bytes that could not be shown end it as well. */
struct str scan_item(const struct scan *s, size_t from, const char *stops)
{
    size_t end = from;
    while (end < s->text.len && end - from < ITEM_MAX && s->text.ptr[end] > ' ' &&
           s->text.ptr[end] < 127 && !strchr(stops, s->text.ptr[end]))
        end++;
    return (struct str){ s->text.ptr + from, end - from };
}

int64_t scan_number(struct scan *s)
{
    int64_t v = 0;
    size_t start = s->at;
    while (is_digit(scan_peek(s))) {
        v = v > INT64_MAX / 100 ? INT64_MAX : v * 10 + (s->text.ptr[s->at] - '0');
        s->at++;
    }
    return s->at == start ? -1 : v;
}

/* Two digits or four. */
static bool take_digits(struct scan *s, size_t n, int *ret)
{
    int v = 0;
    for (size_t i = 0; i < n; i++) {
        char c = scan_peek(s);
        if (!is_digit(c))
            return false;
        v = v * 10 + (c - '0');
        s->at++;
    }
    *ret = v;
    return true;
}

int scan_moment(struct scan *s, enum scan_moment *ret_kind, int64_t *ret_s)
{
    static const char form[] = "a date as 20261115, 20261115T204300 or 20261115T204300Z";
    size_t start = s->at;
    int year, month, day, hour = 0, minute = 0, second = 0;
    enum scan_moment kind = SCAN_DATE;
    if (!take_digits(s, 4, &year) || !take_digits(s, 2, &month) || !take_digits(s, 2, &day))
        return scan_fail(s, s->at, form, "no date");
    if (scan_take(s, 'T') || scan_take(s, 't')) {
        if (!take_digits(s, 2, &hour) || !take_digits(s, 2, &minute) || !take_digits(s, 2, &second))
            return scan_fail(s, s->at, form, "the time of day is not whole");
        kind = scan_take(s, 'Z') || scan_take(s, 'z') ? SCAN_UTC : SCAN_LOCAL;
    }
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > civil_month_days(year, month))
        return scan_fail(s, start, "a date of the calendar from 19700101 to 99991231",
                         "there is no such date");
    if (hour > 23 || minute > 59 || second > 60)
        return scan_fail(s, start, "a time from 000000 to 235959", "there is no such time of day");
    *ret_kind = kind;
    second = second < 60 ? second : 59;
    *ret_s = civil_days(year, month, day) * CIVIL_DAY +
             (hour * CIVIL_HOUR + minute * CIVIL_MINUTE + second);
    return 0;
}

int scan_name(struct str word, const char *names, size_t width)
{
    if (word.len != width)
        return -1;
    for (size_t i = 0; names[i * width]; i++) {
        if (strncasecmp(word.ptr, names + i * width, width) == 0)
            return (int)i;
    }
    return -1;
}
