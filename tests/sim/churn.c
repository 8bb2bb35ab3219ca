/* SPDX-License-Identifier: MIT */
/*
 * Hours of steady work in seconds: jobs come, run, fail, run again and are forgotten, while some
 * wait for months and have to be copied forward all the time. The journal must stay within a small
 * multiple of what lives, restarts included, and a herd of jobs due at one moment must all run. All
 * this with memory for everything, and once more with little.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/drive.h"
#include "sim/rng.h"
#include "sim/run.h"
#include "sim/trace.h"
#include "sim/world.h"
#include "support/verify.h"

#define HOURS         6
#define TICK_MS       100
#define SEGMENT_BYTES (32u << 10)
#define SLEEPERS      200
#define NAMES         5000  /* names of queues */
#define NAMES_KEPT    1100  /* idle queues that may be remembered */
#define HERD          50000 /* more than the engine fires at once */
#define RESTART_TICKS 60000
#define LEASED_MAX    64
#define CROWD         3000         /* tenants of one kind */
#define CROWD_JOBS    4            /* jobs of each of these tenants */
#define CHURN_MEMORY  (256u << 10) /* memory of a second run, with most jobs on disk */

struct churn {
    struct rng rng;
    struct store *store;
    struct partition *partition;
    struct engine *engine;
    int64_t wall_ms;
    int64_t mono_ms;
    struct job_id leased[LEASED_MAX];
    uint64_t tokens[LEASED_MAX];
    size_t leased_count;
    uint64_t scheduled;
    uint64_t completed;
    uint64_t journal_max;
    double ratio_max;
    uint64_t memory_bytes; /* the budget; 0: as much as is wanted */
    uint64_t memory_max;
};

static void churn_open(struct churn *c)
{
    struct partition_report report;
    struct partition_options o = {
        .segment_bytes = SEGMENT_BYTES,
        .slice_bytes = 4096,
        .durable = true,
        .memory_bytes = c->memory_bytes,
        .seed = rng_next(&c->rng),
        .host = c,
    };

    o.secret = (struct hash_key){ o.seed | 1, 7 };
    int err = partition_open(c->store, &o, c->wall_ms, c->mono_ms, &c->partition, &report);

    CHECK(err == 0, "open: %s: %s", error_name(err), store_detail());
    c->engine = partition_engine(c->partition);
}

static void commit(struct churn *c)
{
    int err = partition_flush(c->partition);

    CHECK(err == 0, "write: %s", error_name(err));
}

static void advance(struct churn *c, int64_t ms)
{
    int64_t wall, mono;

    c->wall_ms += ms;
    c->mono_ms += ms;
    do {
        engine_advance(c->engine, c->wall_ms, c->mono_ms);
        engine_next_wake(c->engine, &wall, &mono);
    } while (wall <= c->wall_ms || mono <= c->mono_ms);
    CHECK(!engine_dispatch(c->engine, &(struct delivery){ 0 }), "nobody waits, and is served");
}

static void schedule(struct churn *c, int64_t due_ms, size_t bytes)
{
    static const char payload[1000];
    struct schedule_result result;
    struct job_spec spec = {
        .queue = STR("churn"),
        .payload = { payload, bytes },
        .due_ms = due_ms,
        .priority = 3,
        .attempts = -1,
        .lease_ms = -1,
        .retain_ms = -1,
    };
    int err = engine_schedule(c->engine, &spec, &result);

    CHECK(err == 0, "SCHEDULE: %s", error_name(err));
}

static void lease(struct churn *c, size_t count)
{
    struct str queue = STR("churn");
    struct job *jobs[LEASED_MAX];
    struct lease_request r = { .queues = &queue, .queue_count = 1, .for_ms = -1 };

    r.count = LEASED_MAX - c->leased_count < count ? LEASED_MAX - c->leased_count : count;
    int n = r.count ? engine_lease(c->engine, &r, jobs) : 0;
    for (int i = 0; i < n; i++) {
        struct job_view v;
        engine_view(c->engine, jobs[i], &v);
        c->leased[c->leased_count] = v.id;
        c->tokens[c->leased_count++] = v.token;
    }
}

/* Ends all leases but a few; most well. */
static void finish(struct churn *c, unsigned fail_percent)
{
    size_t keep = 0;

    for (size_t i = 0; i < c->leased_count; i++) {
        struct fail_result failed;
        int err;
        if (rng_chance(&c->rng, 10) && fail_percent) {
            c->leased[keep] = c->leased[i];
            c->tokens[keep++] = c->tokens[i];
            continue;
        }
        if (rng_chance(&c->rng, fail_percent))
            err = engine_fail(c->engine, c->leased[i], c->tokens[i], STR("no"), -1, false, &failed);
        else
            err = engine_complete(c->engine, c->leased[i], c->tokens[i], STR("yes"), -1);
        CHECK(err == 0 || err == BELFRY_STALE || err == BELFRY_NOTFOUND || err == BELFRY_COLD,
              "COMPLETE: %s", error_name(err));
        c->completed += err == 0;
    }
    c->leased_count = keep;
}

static void chore_ended(void *arg, const char *name, int err)
{
    (void)arg;
    CHECK(err == 0, "%s: %s: %s", name, error_name(err), store_detail());
}

/* The budget holds at any time, but for a batch on its way and what is gathered meanwhile. */
static void check_memory(struct churn *c)
{
    struct partition_stats s;

    partition_stats(c->partition, &s);
    if (s.memory_bytes > c->memory_max)
        c->memory_max = s.memory_bytes;
    CHECK(!c->memory_bytes || s.memory_bytes <= c->memory_bytes + c->memory_bytes / 2,
          "memory is at %" PRIu64 " bytes, the budget is %" PRIu64, s.memory_bytes,
          c->memory_bytes);
}

static void check_journal(struct churn *c)
{
    struct partition_stats s;
    uint64_t live = engine_live_bytes(c->engine);

    check_memory(c);
    partition_stats(c->partition, &s);
    double ratio = (double)s.journal_bytes / (double)live;
    CHECK(s.journal_bytes <= 3 * live + 8 * (uint64_t)SEGMENT_BYTES,
          "the journal has %" PRIu64 " bytes for %" PRIu64 " that live", s.journal_bytes, live);
    if (s.journal_bytes > c->journal_max)
        c->journal_max = s.journal_bytes;
    if (live > SEGMENT_BYTES && ratio > c->ratio_max)
        c->ratio_max = ratio;
}

static void restart(struct churn *c)
{
    commit(c);
    uint64_t before = engine_hash(c->engine);
    partition_close(c->partition);
    churn_open(c);
    advance(c, 0);
    CHECK(engine_hash(c->engine) == before, "the hash is another after a restart");
    engine_verify(c->engine);
}

static uint64_t memory(const struct churn *c)
{
    struct engine_stats stats;
    engine_stats(c->engine, &stats);
    return stats.memory_bytes;
}

static void steady(struct churn *c)
{
    uint64_t first = 0;

    for (int64_t tick = 0; tick < HOURS * INT64_C(3600000) / TICK_MS; tick++) {
        for (uint64_t n = rng_below(&c->rng, 5); n > 0; n--, c->scheduled++)
            schedule(c, c->wall_ms + rng_duration(&c->rng, 60000), rng_below(&c->rng, 300));
        advance(c, TICK_MS);
        lease(c, 8);
        finish(c, 20);
        commit(c);
        drive_round(c->partition, chore_ended, NULL);
        check_journal(c);
        if (tick % RESTART_TICKS == RESTART_TICKS - 1)
            restart(c);
        if (tick == RESTART_TICKS / 10)
            first = memory(c);
        /* Just before a restart would clear it up: nothing is left behind by jobs that are gone. */
        if (tick % RESTART_TICKS == RESTART_TICKS - 2 && !c->memory_bytes)
            CHECK(memory(c) < first + first / 2,
                  "memory grew from %" PRIu64 " to %" PRIu64 " bytes", first, memory(c));
    }
}

static uint64_t waiting(const struct engine_stats *s)
{
    return s->jobs[JOB_SCHEDULED] + s->jobs[JOB_READY];
}

/* Many jobs due at one moment. */
static void herd(struct churn *c)
{
    struct engine_stats before, after;
    int64_t due;

    advance(c, 2 * 3600000); /* leases of before end now, and their jobs are retried */
    advance(c, 2 * 3600000); /* these retries are due, so that the herd's clock may stand still */
    due = c->wall_ms + 1000;
    engine_stats(c->engine, &before);
    for (int i = 0; i < HERD; i++) {
        schedule(c, due, 10);
        if (c->memory_bytes && i % 100 == 0) {
            commit(c);
            drive_round(c->partition, chore_ended, NULL);
            check_memory(c);
        }
    }
    commit(c);
    advance(c, 999);
    engine_stats(c->engine, &after);
    CHECK(c->memory_bytes || after.jobs[JOB_READY] == before.jobs[JOB_READY], "the herd is early");
    advance(c, 1);
    engine_stats(c->engine, &after);
    CHECK(waiting(&after) == waiting(&before) + HERD, "the herd is not complete");
    CHECK(c->memory_bytes || after.jobs[JOB_READY] == before.jobs[JOB_READY] + HERD,
          "the herd is late");
    restart(c);
    for (int i = 0; waiting(&after) + after.jobs[JOB_LEASED] > SLEEPERS; i++) {
        CHECK(i < 100 * HERD, "the herd never ends");
        lease(c, LEASED_MAX);
        finish(c, 0);
        commit(c);
        drive_round(c->partition, chore_ended, NULL);
        check_memory(c);
        engine_stats(c->engine, &after);
    }
}

/* Queues come and go with their jobs, and tenants with their queues. */
static void names(struct churn *c)
{
    struct engine_stats stats;

    for (int i = 0; i < NAMES; i++) {
        char name[32];
        int n = i % 2 ? snprintf(name, sizeof(name), "name-%d", i)
                      : snprintf(name, sizeof(name), "t-%d@name-%d", i / 4, i % 100);
        struct job_spec spec = {
            .queue = { name, (size_t)n },
            .due_ms = -1,
            .priority = 3,
            .attempts = -1,
            .lease_ms = -1,
            .retain_ms = 0,
        };
        struct schedule_result result;
        int err = engine_schedule(c->engine, &spec, &result);
        CHECK(err == 0 && engine_cancel(c->engine, result.id) == CANCEL_CANCELLED, "a queue fails");
        if (i % 50 == 0)
            commit(c);
        if (i % 500 == 0)
            engine_verify(c->engine);
    }
    engine_stats(c->engine, &stats);
    CHECK(stats.queues <= NAMES_KEPT, "%" PRIu64 " queues without use are kept", stats.queues);
    CHECK(stats.tenants <= NAMES_KEPT, "%" PRIu64 " tenants without use are kept", stats.tenants);
    restart(c);
}

static void crowd_schedule(struct churn *c, int tenant)
{
    char name[32];
    struct schedule_result result;
    struct job_spec spec = {
        .queue = { name, (size_t)snprintf(name, sizeof(name), "c-%d@crowd", tenant) },
        .due_ms = -1,
        .priority = 3,
        .attempts = -1,
        .lease_ms = -1,
        .retain_ms = 0,
    };
    int err = engine_schedule(c->engine, &spec, &result);

    CHECK(err == 0, "SCHEDULE: %s", error_name(err));
}

/* Of these, one in three gives nothing, and one in three may have one running. */
static void crowd_limit(struct churn *c, int tenant)
{
    char name[32];
    struct str n = { name, (size_t)snprintf(name, sizeof(name), "c-%d", tenant) };
    struct tenant_settings s = { .maintenance = tenant % 3 == 1, .max_running = tenant % 3 == 2 };

    CHECK(engine_tenant_set(c->engine, n, &s,
                            1u << TENANT_MAINTENANCE | 1u << TENANT_MAX_RUNNING) == 0,
          "TENANT fails");
}

/* Gives all that may be given by `*@crowd`; returns how many, and how many of each tenant. */
static int crowd_lease(struct churn *c, struct job_id *ids, uint64_t *tokens, int *counts)
{
    struct str queue = STR("*@crowd");
    struct job *jobs[LEASED_MAX];
    struct lease_request r = { &queue, 1, LEASED_MAX, -1, STR("w") };
    int all = 0, n;

    memset(counts, 0, CROWD * sizeof(*counts));
    while ((n = engine_lease(c->engine, &r, jobs)) > 0)
        for (int i = 0; i < n; i++) {
            struct job_view v;
            char tenant[32];
            engine_view(c->engine, jobs[i], &v);
            ids[all] = v.id;
            tokens[all++] = v.token;
            snprintf(tenant, sizeof(tenant), "%.*s", STR_ARG(v.tenant));
            counts[atoi(tenant + 2)]++;
        }
    return all;
}

/* Many tenants of one kind: each gets its turn, and those that give nothing cost nothing. */
static void crowd(struct churn *c)
{
    static struct job_id ids[CROWD * CROWD_JOBS];
    static uint64_t tokens[CROWD * CROWD_JOBS];
    static int counts[CROWD];
    uint64_t before, leases = 0;
    int n, left = CROWD / 3 * 2 * CROWD_JOBS;

    for (int i = 0; i < CROWD * CROWD_JOBS; i++) {
        if (i < CROWD)
            crowd_limit(c, i);
        crowd_schedule(c, i % CROWD);
    }
    commit(c);
    before = engine_pick_steps(c->engine);
    for (int round = 0; (n = crowd_lease(c, ids, tokens, counts)) > 0; round++) {
        for (int i = 0; i < CROWD; i++) {
            int expected = i % 3 == 1 ? 0 : i % 3 == 2 ? 1 : round == 0 ? CROWD_JOBS : 0;
            CHECK(counts[i] == expected, "tenant %d gives %d jobs, expected %d", i, counts[i],
                  expected);
        }
        for (int i = 0; i < n; i++)
            CHECK(engine_complete(c->engine, ids[i], tokens[i], STR(""), -1) == 0,
                  "COMPLETE fails");
        leases += (uint64_t)n;
        left -= n;
        commit(c);
    }
    uint64_t steps = engine_pick_steps(c->engine) - before;
    CHECK(left == 0, "%d jobs of a crowd are left", left);
    CHECK(steps <= 3 * leases + CROWD, "%" PRIu64 " queues were looked at for %" PRIu64 " leases",
          steps, leases);
    engine_verify(c->engine);
    printf("crowd: %d tenants, %" PRIu64 " leases, %" PRIu64 " looks\n", CROWD, leases, steps);
}

static void churn(uint64_t seed, uint64_t memory_bytes)
{
    struct churn c = {
        .rng = { seed }, .wall_ms = YEAR_2026, .mono_ms = 1000, .memory_bytes = memory_bytes
    };
    struct queue_settings short_memory = { .retain_ms = 60000, .retain_dead_ms = 600000 };
    struct partition_stats s;
    struct engine_stats e;

    CHECK(store_open("memory:", &(struct store_options){ 0 }, &c.store) == 0, "no store");
    churn_open(&c);
    int err = engine_queue_set(c.engine, STR("churn"), &short_memory,
                               1u << QUEUE_RETAIN | 1u << QUEUE_RETAIN_DEAD);
    CHECK(err == 0, "QUEUE: %s", error_name(err));
    for (int i = 0; i < SLEEPERS; i++)
        schedule(&c, c.wall_ms + INT64_C(90) * 86400000, 200);
    steady(&c);
    partition_stats(c.partition, &s);
    printf("churn: %d hours, %" PRIu64 " jobs scheduled, %" PRIu64 " attempts ended, journal at "
           "most %" PRIu64 " KiB and %.1f times the live state\n",
           HOURS, c.scheduled, c.completed, c.journal_max >> 10, c.ratio_max);
    names(&c);
    herd(&c);
    engine_stats(c.engine, &e);
    CHECK(waiting(&e) == SLEEPERS, "%" PRIu64 " jobs sleep, expected %d", waiting(&e), SLEEPERS);
    for (int i = 0; i < 10000; i++) { /* the herd's history goes, and its journal with it */
        advance(&c, 1000);
        schedule(&c, -1, 300);
        lease(&c, 8);
        finish(&c, 0);
        commit(&c);
        drive_round(c.partition, chore_ended, NULL);
        drive_round(c.partition, chore_ended, NULL);
    }
    check_journal(&c);
    partition_stats(c.partition, &s);
    engine_stats(c.engine, &e);
    printf("herd: %d jobs at one moment; then the journal has %" PRIu64 " KiB in %u segments\n"
           "memory: at most %" PRIu64 " KiB; %" PRIu64 " batches fed, %" PRIu64
           " jobs loaded, %" PRIu64 " runs merged, %" PRIu64 " left\n",
           HERD, s.journal_bytes >> 10, s.segments, c.memory_max >> 10, s.fed_batches,
           s.loaded_jobs, s.merged_runs, e.runs);
    if (!memory_bytes)
        crowd(&c);
    partition_close(c.partition);
    store_close(c.store);
}

void run_churn(uint64_t seed)
{
    churn(seed, 0);
    churn(seed, CHURN_MEMORY);
}
