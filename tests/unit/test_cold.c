/* SPDX-License-Identifier: MIT */
/* Jobs on disk: a partition whose memory is for a few hundred of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/bulk.h"
#include "partition/partition.h"

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
static int chore_error; /* the last that a chore ended with */

static void deliver(void *host, void *owner, struct job *const *jobs, size_t n)
{
    (void)host, (void)owner, (void)jobs, (void)n;
}

static int read_log(struct store *s, struct str log, uint64_t from, uint64_t at,
                    store_element_fn *fn, void *arg, struct store_tail *ret)
{
    (void)s;
    if (str_eq(log, str_of(store.log)) && from == store.element)
        return store_fail(BELFRY_CORRUPT, "%s: element %d is damaged", store.log, (int)from);
    return store.inner->ops->read(store.inner, log, from, at, fn, arg, ret);
}

/* All else as the store does it. */
#define FORWARD(name, params, args)         \
    static int forward_##name params        \
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
FORWARD(scan, (struct store *s, struct str prefix, store_record_fn *fn, void *arg),
        (store.inner, prefix, fn, arg))
FORWARD(cas, (struct store *s, const struct store_cas *c), (store.inner, c))
/* clang-format on */

static void open_partition(void)
{
    struct partition_report report;
    struct partition_options o = { .segment_bytes = 64 << 10,
                                   .commit_bytes = 2000,
                                   .durable = true,
                                   .seed = 1,
                                   .memory_bytes = MEMORY,
                                   .block_bytes = 1024,
                                   .piece_bytes = 8192,
                                   .lookahead_ms = 1000,
                                   .deliver = deliver };

    assert_int_equal(partition_open(&store.base, &o, wall, mono, &p, &report), 0);
    e = partition_engine(p);
}

static int setup(void **state)
{
    (void)state;
    wall = START;
    mono = 1000;
    chore_error = 0;
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
                              .now_ms = store.inner->ops->now_ms };
    open_partition();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engine_verify(e);
    partition_close(p);
    store_close(store.inner);
    return 0;
}

/* Everything that goes on between memory and disk, until nothing does. */
static void settle(void)
{
    bool more = true;

    for (int turns = 0; more; turns++) {
        assert_true(turns < 10000);
        more = partition_work(p);
        for (int lane = 0; lane < LANES; lane++) {
            struct chore *c = partition_chore(p, (enum lane)lane);
            int err = c ? partition_chore_done(p, c, chore_run(c)) : 0;

            chore_error = err ? err : chore_error;
            more = more || c;
        }
        assert_int_equal(partition_flush(p), 0);
    }
}

static void pass(int64_t ms)
{
    wall += ms;
    mono += ms;
    engine_advance(e, wall, mono);
    settle();
}

static struct job_spec spec_of(const char *queue, int64_t in_ms)
{
    return (struct job_spec){ .queue = str_of(queue),
                              .payload = STR("forty bytes or so of payload, as they say"),
                              .due_ms = wall + in_ms,
                              .priority = 3,
                              .attempts = -1,
                              .lease_ms = -1,
                              .retain_ms = -1 };
}

static struct job_id schedule(const char *queue, int64_t in_ms)
{
    struct job_spec spec = spec_of(queue, in_ms);
    struct schedule_result r;

    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    if (partition_pressed(p))
        settle();
    return r.id;
}

/* Schedules others until this one is on disk. */
static void push_out(struct job_id id)
{
    struct job_view v;

    for (int i = 0; engine_get(e, id, &v) != BELFRY_COLD; i++) {
        assert_true(i < 10 * MANY);
        schedule("q", 2 * HOUR);
        settle();
    }
}

static struct engine_stats stats(void)
{
    struct engine_stats s;

    engine_stats(e, &s);
    return s;
}

/* What the last request needs is fetched: it is to be executed again, then end_fetch called. */
static struct fetch *fetch(void)
{
    struct fetch *f = partition_fetch(p);

    assert_non_null(f);
    assert_int_equal(partition_fetched(p, f, fetch_run(f)), 0);
    return f;
}

/* Executes until it does not answer COLD; the answer stays in `ret`. */
#define EXECUTE(ret, request)                      \
    do {                                           \
        ret = request;                             \
        for (int i = 0; ret == BELFRY_COLD; i++) { \
            struct fetch *fetch_ = fetch();        \
            assert_true(i < 10);                   \
            ret = request;                         \
            partition_fetch_end(p, fetch_);        \
        }                                          \
    } while (0)

/* Leases and completes what there is; returns how many. */
static int work(const char *queue)
{
    struct str name = str_of(queue);
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 10, .for_ms = -1 };
    struct job *jobs[10];
    int n, all = 0;

    while ((n = engine_lease(e, &r, jobs)) > 0) {
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

static void jobs_beyond_the_budget_go_to_disk_and_come_back_in_time(void **state)
{
    struct partition_stats s;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i);
    settle();
    partition_stats(p, &s);
    assert_true(s.memory_bytes < MEMORY + MEMORY / 4);
    assert_true(stats().cold_jobs > MANY / 2);
    assert_int_equal(stats().jobs[JOB_SCHEDULED], MANY);
    pass(HOUR - 1);
    assert_int_equal(work("q"), 0);
    pass(MANY);
    assert_int_equal(work("q"), MANY);
    assert_int_equal(stats().jobs[JOB_DONE], MANY);
}

static void a_restart_knows_what_is_on_disk(void **state)
{
    uint64_t before;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i);
    settle();
    before = engine_hash(e);
    partition_close(p);
    open_partition();
    assert_int_equal(engine_hash(e), before);
    pass(HOUR + MANY);
    assert_int_equal(work("q"), MANY);
}

/* The batch is in runs but no record says so: its logs are strays, its jobs in the journal. */
static void a_crash_before_the_record_of_a_batch_loses_nothing(void **state)
{
    struct chore *c;

    (void)state;
    for (int i = 0; i < MANY && !(c = partition_chore(p, LANE_FEED)); i++) {
        struct job_spec spec = spec_of("q", HOUR);
        struct schedule_result r;

        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        partition_work(p);
    }
    assert_non_null(c);
    assert_int_equal(partition_flush(p), 0);
    assert_int_equal(chore_run(c), 0);
    uint64_t all = stats().jobs[JOB_SCHEDULED];
    partition_close(p);
    open_partition();
    assert_int_equal(stats().jobs[JOB_SCHEDULED], all);
    assert_int_equal(stats().runs, 0);
    pass(HOUR);
    assert_int_equal(work("q"), all);
}

static void a_job_on_disk_is_found_moved_and_cancelled(void **state)
{
    struct job_id first = schedule("q", HOUR), second = schedule("q", HOUR);
    struct job_view v;
    int is;

    (void)state;
    push_out(first);
    push_out(second);
    assert_int_equal(engine_get(e, first, &v), BELFRY_COLD);
    EXECUTE(is, engine_get(e, first, &v));
    assert_int_equal(is, 0);
    EXECUTE(is, engine_reschedule(e, first, wall + 10));
    assert_int_equal(is, 0);
    EXECUTE(is, engine_cancel(e, second));
    assert_int_equal(is, CANCEL_CANCELLED);
    EXECUTE(is, engine_cancel(e, second));
    assert_int_equal(is, CANCEL_NOTFOUND);
    pass(10);
    assert_int_equal(work("q"), 1);
    pass(HOUR);
    assert_int_equal(work("q"), 0);
    EXECUTE(is, engine_get(e, (struct job_id){ first.due_ms, 0, 20 * MANY }, &v));
    assert_int_equal(is, BELFRY_NOTFOUND);
}

static void a_key_on_disk_is_kept_replaced_and_rejected(void **state)
{
    struct job_spec spec = spec_of("q", HOUR);
    struct schedule_result r;
    struct job_id id;
    int is;

    (void)state;
    spec.key = STR("k");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    id = r.id;
    push_out(id);
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_COLD);
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, 0);
    assert_int_equal(r.outcome, SCHEDULE_KEPT);
    assert_int_equal(r.id.seq, id.seq);
    spec.if_exists = IFEXISTS_REJECT;
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, BELFRY_KEYEXISTS);
    spec.if_exists = IFEXISTS_REPLACE;
    spec.due_ms = wall;
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(r.outcome, SCHEDULE_REPLACED);
    assert_int_equal(work("q"), 1);
}

static void a_paused_queue_that_fills_memory_starves_no_other(void **state)
{
    struct queue_settings paused = { .paused = true };

    (void)state;
    assert_int_equal(engine_queue_set(e, STR("stuck"), &paused, 1u << QUEUE_PAUSED), 0);
    for (int i = 0; i < MANY; i++)
        schedule("stuck", 0);
    settle();
    for (int i = 0; i < MANY; i++)
        schedule("free", 0);
    settle();
    assert_int_equal(work("free"), MANY);
    paused.paused = false;
    assert_int_equal(engine_queue_set(e, STR("stuck"), &paused, 1u << QUEUE_PAUSED), 0);
    assert_int_equal(work("stuck"), MANY);
}

/* The oldest of a class are in memory, the others on disk; a restart keeps the order. */
static void the_oldest_come_first_after_a_restart(void **state)
{
    struct queue_settings paused = { .paused = true };
    struct str name = STR("q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = -1 };
    int64_t last = 0;
    struct job *j;
    int n = 0;

    (void)state;
    assert_int_equal(engine_queue_set(e, name, &paused, 1u << QUEUE_PAUSED), 0);
    for (int i = 0; i < MANY; i++) {
        schedule("q", 0);
        if (i % 10 == 0)
            pass(1);
    }
    settle();
    assert_true(stats().cold_jobs > MANY / 2);
    partition_close(p);
    open_partition();
    settle();
    paused.paused = false;
    assert_int_equal(engine_queue_set(e, name, &paused, 1u << QUEUE_PAUSED), 0);
    for (; engine_lease(e, &r, &j) == 1; n++) {
        struct job_view v;

        engine_view(e, j, &v);
        assert_true(v.at_ms >= last);
        last = v.at_ms;
        assert_int_equal(engine_complete(e, v.id, v.token, STR(""), -1), 0);
        settle();
    }
    assert_int_equal(n, MANY);
}

static int name_run(void *arg, struct str name)
{
    snprintf(arg, sizeof(store.log), "%.*s", STR_ARG(name));
    return 0;
}

static void damage_in_a_run_costs_the_jobs_of_a_block_and_no_others(void **state)
{
    char log[sizeof(store.log)] = "";
    int done;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i);
    settle();
    assert_int_equal(store.inner->ops->list(store.inner, STR("p0000/run/"), name_run, log), 0);
    assert_true(log[0] != '\0');
    memcpy(store.log, log, sizeof(log)); /* the youngest */
    store.element = 1;
    pass(HOUR + MANY);
    done = work("q");
    assert_int_equal(chore_error, BELFRY_CORRUPT);
    assert_true(done < MANY);
    assert_true(done > MANY - 50);
}

/* A class of their own: those that maintenance holds, on disk before them, do not keep them there.
 */
static void passing_jobs_come_from_disk_past_those_that_are_held(void **state)
{
    struct tenant_settings s = { .maintenance = true };
    struct job_spec spec;
    struct schedule_result r;
    struct job_view v;
    int left;

    (void)state;
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 1u << TENANT_MAINTENANCE), 0);
    for (int i = 0; i < MANY; i++) {
        schedule("a@q", 0);
        spec = spec_of("a@q", 0);
        spec.passing = true;
        spec.priority = 1 + i % 5;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        settle();
    }
    assert_true(stats().cold_jobs > MANY);
    EXECUTE(left, engine_get(e, r.id, &v));
    assert_true(v.passing);
    engine_verify(e);
    partition_close(p);
    open_partition();
    settle();
    assert_int_equal(work("a@q"), MANY);
    s.maintenance = false;
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 1u << TENANT_MAINTENANCE), 0);
    settle();
    assert_int_equal(work("a@q"), MANY);
}

/* A night's work that does not fit in memory goes from one part of the disk to another. */
static void a_backlog_is_put_off_by_quiet_hours(void **state)
{
    struct tenant_settings s = { .quiet = "00:00-24:00", .tz = "UTC", .spread_ms = 1000 };
    int n = 0;

    (void)state;
    /* All of this day, which is a Sunday, and no other. */
    snprintf(s.quiet, sizeof(s.quiet), "sun 00:00-24:00");
    wall = INT64_C(1794787200000) - HOUR; /* 2026-11-15T23:00Z */
    engine_advance(e, wall, mono);
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 0xff & ~1u), 0);
    for (int i = 0; i < MANY; i++) {
        struct job_spec spec = spec_of("a@q", 0);
        struct schedule_result r;

        spec.notify = true;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        settle();
    }
    for (int i = 0; i < MANY && stats().counters.deferred < MANY; i++) {
        assert_int_equal(work("a@q"), 0);
        settle();
    }
    assert_int_equal(stats().counters.deferred, MANY);
    assert_int_equal(stats().jobs[JOB_SCHEDULED], MANY);
    pass(HOUR - 1);
    assert_int_equal(work("a@q"), 0);
    for (int i = 0; i < 5; i++) {
        pass(251);
        n += work("a@q");
    }
    assert_int_equal(n, MANY);
}

/* Only this, of all that goes on: what is near comes to memory. */
static void load_for(int64_t ms)
{
    struct chore *c;

    wall += ms;
    mono += ms;
    engine_advance(e, wall, mono);
    while ((c = partition_chore(p, LANE_LOAD)))
        assert_int_equal(partition_chore_done(p, c, chore_run(c)), 0);
    assert_int_equal(partition_flush(p), 0);
}

static void a_dry_run_counts_each_job_once_while_some_are_loaded(void **state)
{
    struct bulk_spec s = { .tenant = STR("default"),
                           .action = BULK_CANCEL,
                           .dry = true,
                           .queue = STR("q"),
                           .state = -1,
                           .from_ms = -1,
                           .to_ms = -1,
                           .due_ms = -1 };
    struct bulk_view v = { 0 };
    struct job_id id;
    uint64_t cold;
    int is, steps = 0;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i * 1000);
    pass(HOUR - 2000);
    cold = stats().cold_jobs;
    assert_int_equal(engine_bulk(e, &s, &id), 0);
    do {
        load_for(3000); /* before the walk is on disk, and behind and before where it is there */
        EXECUTE(is, engine_task(e));
        assert_true(is > 0 && steps++ < MANY);
        assert_int_equal(engine_bulk_get(e, STR("default"), id, &v), 0);
    } while (v.b.state == BULK_RUNNING);
    assert_true(cold > MANY / 2 && stats().cold_jobs < cold - 20);
    assert_int_equal(v.b.matched, MANY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_beyond_the_budget_go_to_disk_and_come_back_in_time),
        TEST(a_restart_knows_what_is_on_disk),
        TEST(a_crash_before_the_record_of_a_batch_loses_nothing),
        TEST(a_job_on_disk_is_found_moved_and_cancelled),
        TEST(a_key_on_disk_is_kept_replaced_and_rejected),
        TEST(a_paused_queue_that_fills_memory_starves_no_other),
        TEST(the_oldest_come_first_after_a_restart),
        TEST(passing_jobs_come_from_disk_past_those_that_are_held),
        TEST(a_backlog_is_put_off_by_quiet_hours),
        TEST(a_dry_run_counts_each_job_once_while_some_are_loaded),
        TEST(damage_in_a_run_costs_the_jobs_of_a_block_and_no_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
