/* SPDX-License-Identifier: MIT */
/*
 * The partition with real threads, as a server runs it. One thread writes commits, one does the
 * chores of each kind, and some fetch. The main thread schedules, looks, moves, cancels and works.
 * Nothing is judged but that each job runs once in the end; what it is for is the thread sanitizer.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "sim/rng.h"
#include "sim/run.h"
#include "sim/trace.h"
#include "sim/world.h"
#include "support/verify.h"

#define TURNS    30000
#define FETCHERS 2
#define HELPERS  (CHORE_KINDS + FETCHERS + 1)
#define WRITER   (CHORE_KINDS + FETCHERS)
#define MEMORY   (128u << 10)
#define JOBS_MAX 3000
#define QUEUES   3
#define KNOWN    512
#define KEYS     100000
#define TURN_MS  20
#define DAY      INT64_C(86400000)
#define LEASES   16

/* A thread that is given one thing at a time. */
struct helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    enum { IDLE, GIVEN, DONE, QUIT } state;
    struct chore *chore;
    struct fetch *fetch;
    struct commit *commit;
    int result;
};

/* A request: what a client wants to know or to change. */
struct question {
    enum kind_of_question { LOOK, FIND, MOVE, CANCEL } kind;
    struct job_id id;
    int64_t due_ms;
    int key;
};

struct busy {
    struct rng rng;
    struct store *store;
    struct partition *p;
    struct engine *e;
    int64_t wall_ms;
    int64_t mono_ms;
    struct helper helpers[HELPERS];
    struct question asked[FETCHERS];
    struct job_id known[KNOWN];
    uint64_t scheduled;
    uint64_t done;
    uint64_t cancelled;
};

static void *help(void *arg)
{
    struct helper *h = arg;

    pthread_mutex_lock(&h->lock);
    while (h->state != QUIT) {
        if (h->state != GIVEN) {
            pthread_cond_wait(&h->change, &h->lock);
            continue;
        }
        pthread_mutex_unlock(&h->lock);
        int result = h->chore   ? chore_run(h->chore)
                     : h->fetch ? fetch_run(h->fetch)
                                : commit_write(h->commit);
        pthread_mutex_lock(&h->lock);
        h->result = result;
        h->state = DONE;
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void give(struct helper *h, struct chore *chore, struct fetch *fetch, struct commit *commit)
{
    pthread_mutex_lock(&h->lock);
    h->chore = chore;
    h->fetch = fetch;
    h->commit = commit;
    h->state = GIVEN;
    pthread_cond_signal(&h->change);
    pthread_mutex_unlock(&h->lock);
}

/* True once it has done what it was given. */
static bool is_done(struct helper *h)
{
    pthread_mutex_lock(&h->lock);
    bool done = h->state == DONE;
    if (done)
        h->state = IDLE;
    pthread_mutex_unlock(&h->lock);
    return done;
}

static bool is_idle(struct helper *h)
{
    pthread_mutex_lock(&h->lock);
    bool idle = h->state == IDLE;
    pthread_mutex_unlock(&h->lock);
    return idle;
}

/* ---- Requests ---- */

static int ask(struct busy *b, const struct question *q)
{
    struct job_view v;
    struct job_id id;
    char key[16];
    int n, outcome;

    switch (q->kind) {
    case LOOK: return engine_get(b->e, q->id, &v);
    case MOVE: return engine_reschedule(b->e, q->id, q->due_ms);
    case FIND:
        n = snprintf(key, sizeof(key), "k%d", q->key);
        return engine_find_key(b->e, STR("a"), (struct str){ 0 }, (struct str){ key, (size_t)n },
                               &id);
    default:
        outcome = engine_cancel(b->e, q->id);
        b->cancelled += outcome == CANCEL_CANCELLED;
        return outcome;
    }
}

static void look_or_change(struct busy *b)
{
    static const enum kind_of_question kinds[] = {
        LOOK, LOOK, LOOK, FIND, FIND, MOVE, MOVE, CANCEL
    };
    struct question q = {
        .kind = kinds[rng_below(&b->rng, sizeof(kinds) / sizeof(kinds[0]))],
        .id = b->known[rng_below(&b->rng, KNOWN)],
        .due_ms = b->wall_ms + rng_duration(&b->rng, DAY),
        .key = (int)rng_below(&b->rng, KEYS),
    };

    for (int i = 0; i < FETCHERS; i++) {
        struct helper *h = &b->helpers[CHORE_KINDS + i];

        if (!is_idle(h))
            continue;
        if (ask(b, &q) == BELFRY_COLD) {
            b->asked[i] = q;
            give(h, NULL, partition_fetch(b->p), NULL);
        }
        return;
    }
}

static void fetched(struct busy *b, int i)
{
    struct helper *h = &b->helpers[CHORE_KINDS + i];
    int err = partition_fetched(b->p, h->fetch, h->result);

    CHECK(err == 0 || err == BELFRY_COLD, "a fetch fails: %s", error_name(err));
    if (err == BELFRY_COLD) {
        give(h, NULL, h->fetch, NULL);
        return;
    }
    err = ask(b, &b->asked[i]);
    partition_fetch_end(b->p, h->fetch);
    if (err == BELFRY_COLD)
        give(h, NULL, partition_fetch(b->p), NULL);
}

static void schedule(struct busy *b)
{
    static const char payload[200];
    static const char *const queues[QUEUES] = { "a", "b", "c" };
    char key[16];
    struct job_spec spec = {
        .queue = str_of(queues[rng_below(&b->rng, QUEUES)]),
        .payload = { payload, rng_below(&b->rng, sizeof(payload)) },
        .due_ms = b->wall_ms + (rng_chance(&b->rng, 50) ? 0 : rng_duration(&b->rng, 10 * DAY)),
        .priority = (int)rng_between(&b->rng, 2, 4),
        .attempts = -1,
        .lease_ms = -1,
        .retain_ms = rng_chance(&b->rng, 50) ? 0 : 60000,
    };
    struct schedule_result r;

    if (rng_chance(&b->rng, 20)) {
        int n = snprintf(key, sizeof(key), "k%d", (int)rng_below(&b->rng, KEYS));
        spec.key = (struct str){ key, (size_t)n };
    }
    int err = engine_schedule(b->e, &spec, &r);
    if (err == BELFRY_COLD)
        return;
    CHECK(err == 0, "SCHEDULE: %s", error_name(err));
    b->scheduled += r.outcome == SCHEDULE_CREATED;
    b->known[rng_below(&b->rng, KNOWN)] = r.id;
}

static void work(struct busy *b)
{
    struct str queues[QUEUES] = { STR("a"), STR("b"), STR("c") };
    struct lease_request r = {
        .queues = queues, .queue_count = QUEUES, .count = LEASES, .for_ms = -1
    };
    struct job *jobs[LEASES];
    struct job_view v[LEASES];
    int n = engine_lease(b->e, &r, jobs);

    for (int i = 0; i < n; i++)
        engine_view(b->e, jobs[i], &v[i]);
    for (int i = 0; i < n; i++) {
        CHECK(engine_complete(b->e, v[i].id, v[i].token, STR(""), -1) == 0, "COMPLETE fails");
        b->done++;
    }
}

/* ---- Turns ---- */

/* What helpers have done, and something new for them; true if one is at something. */
static bool turn(struct busy *b)
{
    struct helper *writer = &b->helpers[WRITER];
    bool any = partition_work(b->p, INT64_MAX);
    struct commit *commit;

    for (int lane = 0; lane < CHORE_KINDS; lane++) {
        struct helper *h = &b->helpers[lane];
        struct chore *chore;

        if (is_done(h)) {
            int err = partition_chore_done(b->p, h->chore, h->result);
            CHECK(err == 0, "a chore fails: %s: %s", error_name(err), store_detail());
        }
        if (is_idle(h) && (chore = partition_chore(b->p, (enum chore_kind)lane)))
            give(h, chore, NULL, NULL);
        any = any || !is_idle(h);
    }
    for (int i = 0; i < FETCHERS; i++) {
        if (is_done(&b->helpers[CHORE_KINDS + i]))
            fetched(b, i);
        any = any || !is_idle(&b->helpers[CHORE_KINDS + i]);
    }
    if (is_done(writer)) {
        CHECK(writer->result == 0, "a commit fails: %s", error_name(writer->result));
        partition_settle(b->p, writer->commit);
    }
    if (is_idle(writer) && (commit = partition_take(b->p)))
        give(writer, NULL, NULL, commit);
    return any || !is_idle(writer);
}

static void pass(struct busy *b, int64_t ms)
{
    b->wall_ms += ms;
    b->mono_ms += ms;
    engine_advance(b->e, b->wall_ms, b->mono_ms);
}

static uint64_t waiting(struct busy *b)
{
    struct engine_stats s;

    engine_stats(b->e, &s);
    return s.jobs[JOB_SCHEDULED] + s.jobs[JOB_READY];
}

static void drain(struct busy *b)
{
    while (waiting(b) > 0) {
        pass(b, 60 * TURN_MS);
        work(b);
        for (int i = 0; i < 50 && turn(b); i++)
            ;
        if (rng_chance(&b->rng, 5))
            pass(b, DAY / 50);
    }
    while (turn(b))
        ;
}

static void helpers_start(struct busy *b)
{
    for (int i = 0; i < HELPERS; i++) {
        struct helper *h = &b->helpers[i];

        pthread_mutex_init(&h->lock, NULL);
        pthread_cond_init(&h->change, NULL);
        CHECK(pthread_create(&h->thread, NULL, help, h) == 0, "no thread");
    }
}

static void helpers_stop(struct busy *b)
{
    for (int i = 0; i < HELPERS; i++) {
        struct helper *h = &b->helpers[i];

        pthread_mutex_lock(&h->lock);
        h->state = QUIT;
        pthread_cond_signal(&h->change);
        pthread_mutex_unlock(&h->lock);
        pthread_join(h->thread, NULL);
        pthread_cond_destroy(&h->change);
        pthread_mutex_destroy(&h->lock);
    }
}

void run_threads(uint64_t seed)
{
    struct busy b = { .rng = { seed }, .wall_ms = YEAR_2026, .mono_ms = 1000 };
    struct partition_options o = {
        .segment_bytes = 64 << 10,
        .durable = true,
        .memory_bytes = MEMORY,
        .block_bytes = 1024,
        .piece_bytes = 8192,
        .merge_runs = 3,
        .lookahead_ms = 2000,
    };
    struct partition_report report;
    struct partition_stats s;

    CHECK(store_open("memory:", &(struct store_options){ 0 }, &b.store) == 0, "no store");
    CHECK(partition_open(b.store, &o, b.wall_ms, b.mono_ms, &b.p, &report) == 0, "no partition");
    b.e = partition_engine(b.p);
    helpers_start(&b);
    for (int i = 0; i < TURNS; i++) {
        if (!partition_pressed(b.p) && waiting(&b) < JOBS_MAX)
            schedule(&b);
        look_or_change(&b);
        if (i % 4 == 0)
            work(&b);
        if (i % 8 == 0)
            pass(&b, TURN_MS);
        turn(&b);
    }
    drain(&b);
    helpers_stop(&b);
    engine_verify(b.e);
    partition_stats(b.p, &s);
    CHECK(b.done + b.cancelled == b.scheduled,
          "%" PRIu64 " jobs, but %" PRIu64 " ran and %" PRIu64 " were cancelled", b.scheduled,
          b.done, b.cancelled);
    printf("threads: %" PRIu64 " jobs, %" PRIu64 " batches fed, %" PRIu64 " jobs loaded, %" PRIu64
           " runs merged, %" PRIu64 " fetches\n",
           b.scheduled, s.fed_batches, s.loaded_jobs, s.merged_runs, s.fetches);
    partition_close(b.p);
    store_close(b.store);
}
