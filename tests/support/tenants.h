/* SPDX-License-Identifier: MIT */
/* Helpers for tests of tenants: an engine under a clock that the test owns. */
#ifndef TESTS_TENANTS_H
#define TESTS_TENANTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/jobs.h"
#include "support/verify.h"

#define START  INT64_C(1794778000000)
#define DAY    INT64_C(86400000)
#define MINUTE INT64_C(60000)

extern struct engine *e;
extern struct buf journal;
extern int64_t wall, mono;
extern int64_t slow_start_ms;  /* of engines that are made, 0 at first */
extern uint64_t history_bytes; /* of engines that are made, 0 at first */
extern uint64_t tenant_bytes;  /* of engines that are made, 0 at first */
extern uint64_t memory_bytes;  /* of engines that are made, 4 GiB at first */
extern int64_t quiet_end_ms;   /* of the tenant that was last given quiet hours */
extern int zones_asked;        /* so often an engine asked for a time zone */

/* What parked workers were given. */
struct delivered {
    size_t calls;
    size_t jobs;
    void *owner;
    struct job_id id;
    uint64_t token;
    int64_t at_ms;
};

extern struct delivered delivered;

/* Called for each of them; a test may put another in its place until the next start(). */
typedef void deliver_fn(void *owner, struct job *const *jobs, size_t n);
extern deliver_fn *deliver;

void advance(void);  /* to the clocks as they are */
void dispatch(void); /* until nobody is left to be served */
int zone_named(void *arg, struct str name, const struct zone **ret, const char **ret_why);
struct engine *make(uint64_t epoch, uint64_t max_running);
void start(uint64_t max_running);
int setup(void **state);
int teardown(void **state);
/* The process ends; another one has only what was written, and writes to another segment. */
void replay(void);
void pass(int64_t ms);
struct job_id schedule(const char *queue);
void schedule_many(const char *queue, int n);
struct lease_request request_for(const struct str *queue, size_t count);
int lease_some(const char *queue, size_t count, struct job **ret);

/* Leases one job; false if none is given. */
bool lease(const char *queue, struct job_view *ret);
void complete(struct job_id id, uint64_t token);

/* A worker that waits for an hour; its name is its owner. */
struct waiter *wait_at(const char *queue, size_t count);
/* Queue q of the i-th tenant. */
void tenant_queue(int i, char ret[32]);
void set_queue(const char *queue, unsigned field, struct queue_settings s);
/* Gives a tenant quiet hours that begin now, and end in so many minutes. Now is the next full
 * minute. */
void be_quiet(const char *tenant, int64_t ms, int64_t spread_ms);
void set_tenant(const char *name, unsigned field, struct tenant_settings s);
enum hold hold_of(const char *queue);
struct tenant_view tenant(const char *name);

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
