/* SPDX-License-Identifier: MIT */
/* Helpers for tests of jobs that wait for others and of recurrences: an engine under a clock that
 * the test owns, and every place at which a crash could cut its journal. */
#ifndef TESTS_WAITS_H
#define TESTS_WAITS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/recurrence.h"
#include "recur/zonecache.h"
#include "support/jobs.h"
#include "support/verify.h"

#define START    INT64_C(1794778020000) /* a whole minute */
#define SECOND   INT64_C(1000)
#define MINUTE   INT64_C(60000)
#define HOUR     (60 * MINUTE)
#define DAY      (24 * HOUR)
#define LOGS_MAX 16

extern struct engine *e;
extern struct buf logs[LOGS_MAX]; /* one for each process */
extern int64_t wall, mono;
extern struct zonecache zones;
extern bool zones_gone; /* from the system */

extern size_t cut_count; /* places at which the journal may end */
extern bool cutting;     /* they are noted */

int setup(void **state);

/* Another process, some time later. */
void restart(int64_t down_ms);

/* The engine at a cut, as another process would find it; it writes nowhere that counts. */
struct engine *at_cut(size_t i);
int teardown(void **state);

/* The engine's own work, until there is none. */
void work(void);
void pass(int64_t ms);
struct job_id schedule(const struct job_spec *spec);

/* The state of a job; JOB_STATE_COUNT if there is none. */
enum job_state state_of(struct job_id id);

/* Leases one job; false if none is given. */
bool lease(const char *queue, struct job_view *ret);
void complete(const struct job_view *v);
void end_dead(const struct job_view *v);

/* Runs what there is; how many jobs that were. */
int run_all(const char *queue);
struct engine_stats stats(void);

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
