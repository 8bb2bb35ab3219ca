/* SPDX-License-Identifier: MIT */
/* Helpers for tests of recurrence: rules by text, zones by name, occurrences as text. */
#ifndef TESTS_RECURS_H
#define TESTS_RECURS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/time.h"
#include "recur/civil.h"
#include "recur/recur.h"
#include "recur/zonedir.h"

static inline struct zone *zone_named(const char *name)
{
    struct zone *z = NULL;
    const char *why = "";
    if (zonedir_load(ZONEDIR_DEFAULT, str_of(name), &z, &why) != 0)
        fail_msg("%s: %s", name, why);
    return z;
}

static inline int64_t moment_of(const char *text)
{
    int64_t ms = 0;
    const char *why;
    if (time_parse_moment(str_of(text), &ms, &why) != 0)
        fail_msg("%s: %s", text, why);
    return ms;
}

static inline struct recur *recur_of(enum recur_kind kind, const char *text, const struct zone *z,
                                     const char *start)
{
    struct recur_spec spec = { kind, str_of(text), z, moment_of(start), 0, { 0 }, { 0 } };
    struct rule_error error;
    struct recur *r = NULL;
    if (recur_new(&spec, &r, &error) != 0)
        fail_msg("%s: %s", text, error.text);
    return r;
}

#endif
