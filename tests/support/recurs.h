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

struct zone *zone_named(const char *name);
int64_t moment_of(const char *text);
struct recur *recur_of(enum recur_kind kind, const char *text, const struct zone *z,
                       const char *start);

#endif
