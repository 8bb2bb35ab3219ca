/* SPDX-License-Identifier: MIT */
/* For tests of jobs on disk: a partition whose memory is for a few hundred of them. */
#ifndef TESTS_SPILLED_H
#define TESTS_SPILLED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/drive.h"
#include "support/verify.h"

#define START  INT64_C(1794778000000)
#define HOUR   INT64_C(3600000)
#define MEMORY (64u << 10)
#define MANY   2000

/* The memory store, but for one element that cannot be read. */
struct rotten {
    struct store base;
    struct store *inner;
    char log[64];
    uint64_t element;
};

static struct rotten store;
static struct store_ops ops;
static struct partition *p;
static struct engine *e;
static int64_t wall, mono;
static int slice_jobs; /* the slice of partitions that are opened; 0: as usual */
static struct hash_key secret = { 1, 2 };
static int chore_error; /* the last that a chore ended with */

static inline int read_log(struct store *s, struct str log, uint64_t from, uint64_t at,
                           store_element_fn *fn, void *arg, struct store_tail *ret)
{
    (void)s;
    if (str_eq(log, str_of(store.log)) && from == store.element)
        return store_fail(BELFRY_CORRUPT, "%s: element %d is damaged", store.log, (int)from);
    return store.inner->ops->read(store.inner, log, from, at, fn, arg, ret);
}

/* All else as the store does it. */
#define FORWARD(name, params, args)         \
    static inline int forward_##name params \
    {                                       \
        (void)s;                            \
        return store.inner->ops->name args; \
    }
/* clang-format off */
FORWARD(append, (struct store *s, const struct store_append *a), (store.inner, a))
FORWARD(sync, (struct store *s, struct str log), (store.inner, log))
FORWARD(list, (struct store *s, struct str prefix, store_name_fn *fn, void *arg),
        (store.inner, prefix, fn, arg))
FORWARD(remove, (struct store *s, struct str log), (store.inner, log))
FORWARD(scan, (struct store *s, struct str prefix, store_cell_fn *fn, void *arg),
        (store.inner, prefix, fn, arg))
FORWARD(cas, (struct store *s, const struct store_cas *c), (store.inner, c))
/* clang-format on */

static unsigned cooled; /* logs */

static inline void cool_log(struct store *s, struct str log)
{
    (void)s;
    (void)log;
    cooled++;
}

static inline int64_t wall_now(struct store *s)
{
    (void)s;
    return wall;
}

static inline void open_partition(void)
{
    struct partition_report report;
    struct partition_options o = { .segment_bytes = 64 << 10,
                                   .commit_bytes = 2000,
                                   .durable = true,
                                   .seed = 1,
                                   .secret = secret,
                                   .memory_bytes = MEMORY,
                                   .block_bytes = 1024,
                                   .piece_bytes = 8192,
                                   .lookahead_ms = 1000,
                                   .slice_jobs = slice_jobs };

    assert_int_equal(partition_open(&store.base, &o, wall, mono, &p, &report), 0);
    e = partition_engine(p);
}

static inline int setup(void **state)
{
    (void)state;
    wall = START;
    mono = 1000;
    chore_error = 0;
    cooled = 0;
    slice_jobs = 0;
    store = (struct rotten){ .base.ops = &ops };
    if (store_open("memory:", NULL, &store.inner) < 0)
        return -1;
    ops = (struct store_ops){ .append = forward_append,
                              .sync = forward_sync,
                              .read = read_log,
                              .list = forward_list,
                              .remove = forward_remove,
                              .scan = forward_scan,
                              .cas = forward_cas,
                              .cool = cool_log,
                              .now_ms = wall_now };
    open_partition();
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    engine_verify(e);
    partition_close(p);
    store_close(store.inner);
    return 0;
}

static inline void keep_error(void *arg, const char *name, int err)
{
    (void)arg, (void)name;
    chore_error = err ? err : chore_error;
}

/* Everything that goes on between memory and disk, until nothing does. */
static inline void settle(void)
{
    assert_int_equal(drive_settle(p, 10000, keep_error, NULL), 0);
}

static inline void advance(int64_t ms)
{
    wall += ms;
    mono += ms;
    engine_advance(e, wall, mono);
}

static inline void pass(int64_t ms)
{
    advance(ms);
    settle();
}

static inline struct job_spec spec_of(const char *queue, int64_t in_ms)
{
    return (struct job_spec){ .queue = str_of(queue),
                              .payload = STR("forty bytes or so of payload, as they say"),
                              .due_ms = wall + in_ms,
                              .priority = 3,
                              .attempts = -1,
                              .lease_ms = -1,
                              .retain_ms = -1 };
}

static inline struct job_id schedule(const char *queue, int64_t in_ms)
{
    struct job_spec spec = spec_of(queue, in_ms);
    struct schedule_result r;

    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    if (partition_pressed(p))
        settle();
    return r.id;
}

/* Schedules others until this one is on disk. */
static inline void push_out(struct job_id id)
{
    struct job_view v;

    for (int i = 0; engine_get(e, id, &v) != BELFRY_COLD; i++) {
        assert_true(i < 10 * MANY);
        schedule("q", 2 * HOUR);
        settle();
    }
}

static inline struct engine_stats stats(void)
{
    struct engine_stats s;

    engine_stats(e, &s);
    return s;
}

/* What the last request needs is fetched: it is to be executed again, then end_fetch called. */
static inline struct fetch *fetch(void)
{
    struct fetch *f = partition_fetch(p);

    assert_non_null(f);
    assert_int_equal(partition_fetched(p, f, fetch_run(f)), 0);
    return f;
}

/* Executes until it does not answer COLD; the answer stays in `ret`. */
#define EXECUTE(ret, request)                                \
    do {                                                     \
        ret = request;                                       \
        for (int tries_ = 0; ret == BELFRY_COLD; tries_++) { \
            struct fetch *fetch_ = fetch();                  \
            assert_true(tries_ < 10);                        \
            ret = request;                                   \
            partition_fetch_end(p, fetch_);                  \
        }                                                    \
    } while (0)

/* Leases and completes what there is; returns how many. */
static inline int work(const char *queue)
{
    struct str name = str_of(queue);
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 10, .for_ms = -1 };
    struct job *jobs[10];
    int n, all = 0;

    /* A worker that finds nothing waits for jobs on disk. */
    while ((n = engine_lease(e, &r, jobs)) > 0 || engine_owes(e, &r)) {
        struct job_view v[10];

        for (int i = 0; i < n; i++)
            engine_view(e, jobs[i], &v[i]);
        for (int i = 0; i < n; i++)
            assert_int_equal(engine_complete(e, v[i].id, v[i].token, STR(""), -1), 0);
        all += n;
        settle();
    }
    return all;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
