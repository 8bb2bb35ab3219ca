/* SPDX-License-Identifier: MIT */
/* Helpers for tests of recurrences. Most of them are about one that is called r. */
#ifndef TESTS_RECURRING_H
#define TESTS_RECURRING_H

#include "support/waits.h"

struct recurrence_spec every(const char *period);
struct recurrence_spec rrule(const char *rule);
void recur(const struct recurrence_spec *s);
int refused(const struct recurrence_spec *s);
struct recurrence_view *view_named(const char *name);
struct recurrence *view(void);
uint64_t total(enum ledger_outcome o);

/* All nominal times that were decided about. */
uint64_t decided(void);
void set_paused(bool paused);

/* The newest entry of the ledger. */
struct ledger_entry entry(void);
void check_entry(struct ledger_entry x, enum ledger_outcome o, int64_t from, int64_t upto,
                 uint64_t n);

/* Runs one occurrence: its nominal time, or -1 if there is none. */
int64_t run_one(void);

#endif
