/* SPDX-License-Identifier: MIT */
/* A place in a text that is being parsed, and the error that ends it. */
#ifndef RECUR_SCAN_H
#define RECUR_SCAN_H

#include "recur/rule.h"

struct scan {
    struct str text;
    size_t at;
    struct rule_error *error;
};

/* A date as iCalendar writes it: 20261115, 20261115T204300 or 20261115T204300Z. */
enum scan_moment { SCAN_DATE, SCAN_LOCAL, SCAN_UTC };

/* Fills the error in: "<mistake> at offset N: expected <text>". Always INVALID. */
int scan_fail(struct scan *s, size_t at, const char *expected, const char *wrong, ...)
    __attribute__((format(printf, 4, 5)));

/* INVALID unless the text has 1 .. max bytes. */
int scan_start(struct scan *s, struct str text, size_t max, struct rule_error *error,
               const char *expected);

static inline bool scan_done(const struct scan *s)
{
    return s->at == s->text.len;
}

static inline char scan_peek(const struct scan *s)
{
    return scan_done(s) ? '\0' : s->text.ptr[s->at];
}

bool scan_take(struct scan *s, char c);

/* The letters from here on, as many as there are; does not go on. */
struct str scan_word(const struct scan *s);

/* The text from `from` up to the next of `stops`, cut to what fits an error. */
struct str scan_item(const struct scan *s, size_t from, const char *stops);

/* Digits; -1 if there is none here, INT64_MAX if they are too many. */
int64_t scan_number(struct scan *s);

/* The seconds are since 1970, in UTC or local; those of a date at its midnight. */
int scan_moment(struct scan *s, enum scan_moment *ret_kind, int64_t *ret_s);

/* The index of a name of three or two letters in a list such as "MOTUWETHFRSASU", or -1. */
int scan_name(struct str word, const char *names, size_t width);

#endif
