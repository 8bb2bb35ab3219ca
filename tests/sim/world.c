/* SPDX-License-Identifier: MIT */
#include "sim/steps.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "engine/cold.h"
#include "partition/internal.h"
#include "support/verify.h"

#define DAY         INT64_C(86400000)
#define SPRING_2026 INT64_C(1774746000000) /* clocks in Berlin are set forward, */
#define AUTUMN_2026 INT64_C(1792890000000) /* and back */

uint32_t world_text(struct world *w)
{
    return ++w->texts;
}

uint64_t world_cold_jobs(const struct world *w)
{
    struct engine_stats s;

    engine_stats(w->engine, &s);
    return s.cold_jobs;
}

/* ---- Answers ---- */

/* An answer that leaves when `lsn` is durable, and has seen the first `changes` facts. */
static void hold(struct world *w, const char *verb, uint64_t lsn, uint64_t changes)
{
    bool strict = w->mono_ms < w->strict_until_ms;
    if (w->answer_count == w->answer_cap) {
        w->answer_cap = w->answer_cap ? w->answer_cap * 2 : 64;
        w->answers = realloc(w->answers, w->answer_cap * sizeof(*w->answers));
        CHECK(w->answers, "the simulator is out of memory");
    }
    if (strict && w->model.leases > w->safe[w->safe_count - 1].leases)
        cover_event(EVENT_LEASE_WAITED);
    if (w->write == WRITE_TAKEN)
        cover_event(EVENT_SLOW_COMMIT);
    w->answers[w->answer_count++] = (struct answer){
        .verb = verb,
        .lsn = lsn,
        .changes = changes,
        .leases = strict ? w->model.leases : 0,
        .told = w->model.leases,
        .rated = w->model.rated,
    };
}

void world_release(struct world *w)
{
    const struct model *settled = &w->safe[w->safe_count - 1];
    uint64_t durable = partition_durable_lsn(w->partition);
    size_t kept = 0;

    for (size_t i = 0; i < w->answer_count; i++) {
        const struct answer *a = &w->answers[i];
        if (a->lsn > durable) {
            w->answers[kept++] = *a;
            continue;
        }
        CHECK(a->changes <= settled->changes,
              "the answer to %s leaves before what it saw is durable", a->verb);
        CHECK(a->leases <= settled->leases,
              "the answer to %s leaves before a lease is durable, soon after a crash", a->verb);
        CHECK(a->rated <= settled->rated,
              "the answer to %s leaves before a lease that a rate counted is durable", a->verb);
        w->leases_told = a->told > w->leases_told ? a->told : w->leases_told;
    }
    w->answer_count = kept;
}

void world_hold_lease(struct world *w, const char *verb)
{
    hold(w, verb, engine_offered_lsn(w->engine), w->lease_facts);
}

/* The rest of a turn of the host's loop. What was fetched for a request is over with it: from here
 * on jobs may go to disk, and it knows nothing of those. */
static void end_turn(struct world *w)
{
    engine_answer(w->engine, NULL);
    model_turns(&w->model);
    lanes_note(w);
    if (rng_chance(&w->rng, 80))
        world_dispatch(w);
    if (rng_chance(&w->rng, 60))
        lanes_work(w);
    world_release(w);
}

void world_answer_lease(struct world *w)
{
    world_hold_lease(w, "LEASE");
    end_turn(w);
}

void world_adopt(struct world *w)
{
    char why[JUDGE_TEXT];
    bool paused = plan_pause(w, true);

    world_advance(w); /* what expired and came to memory ends */
    CHECK(judge_adopt(w->partition, &w->model, why), "%s", why);
    plan_pause(w, paused);
}

void world_adopt_met(struct world *w)
{
    char why[JUDGE_TEXT];
    bool paused = plan_pause(w, true);

    CHECK(judge_adopt_met(w->partition, &w->model, why), "%s", why);
    plan_pause(w, paused);
}

void world_adopt_job(struct world *w, struct job_id id)
{
    bool paused = plan_pause(w, true);

    judge_adopt_job(w->partition, &w->model, id);
    plan_pause(w, paused);
}

void world_answer(struct world *w, const char *verb)
{
    world_adopt(w);
    hold(w, verb, engine_visible_lsn(w->engine), w->model.changes);
    end_turn(w);
}

static void check_waiters(const struct world *w)
{
    struct engine_stats stats;
    size_t all = 0;

    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        char text[TEXT_MAX];
        struct queue_view v = { 0 };
        size_t waiting = 0;
        for (size_t i = 0; i < WAITS_MAX; i++)
            waiting += w->waits[i].live && (w->waits[i].queues >> q & 1);
        engine_queue_get(w->engine, text_make(TEXT_QUEUE, q, text), &v);
        CHECK(v.waiters == waiting, "%zu workers wait at q%u, expected %zu", v.waiters, q, waiting);
    }
    for (size_t i = 0; i < WAITS_MAX; i++)
        all += w->waits[i].live;
    engine_stats(w->engine, &stats);
    CHECK(stats.waiters == all, "%" PRIu64 " workers wait, expected %zu", stats.waiters, all);
}

static void note_class(void *arg, const struct class_floors *c)
{
    (void)arg;
    if (c->class == CLASS_ORDERED)
        cover_event(EVENT_LANE_COLD);
}

/* Memory of a batch that is no more must not pass for jobs. */
static void check_batch(const struct world *w)
{
    const struct feed *f = &w->partition->chores[CHORE_FEED].feed;

    CHECK(f->state != FEED_IDLE || f->batch.cap <= w->partition->o.memory_bytes / 4,
          "%zu bytes are kept for a batch, of %" PRIu64 " in all", f->batch.cap,
          w->partition->o.memory_bytes);
}

void world_compare(struct world *w)
{
    char why[JUDGE_TEXT];
    bool paused = plan_pause(w, true);

    world_adopt(w);
    judge_adopt_forgotten(w->partition, &w->model);
    engine_verify(w->engine);
    figures_compare(w);
    CHECK(judge_same(w->partition, &w->model, why), "%s", why);
    watch_compare(w);
    check_waiters(w);
    check_batch(w);
    engine_classes_on_disk(w->engine, &(struct str){ 0 }, SIZE_MAX, note_class, NULL);
    if (!engine_aside_is_empty(w->engine))
        cover_event(EVENT_LANE_ASIDE);
    plan_pause(w, paused);
}

struct job_id world_pick(struct world *w, unsigned states)
{
    const struct model *m = &w->model;
    size_t matching = 0;

    if (rng_chance(&w->rng, 3))
        return (struct job_id){ w->wall_ms, w->options.number, 1 + rng_below(&w->rng, 200) };
    if (w->graveyard.count > 0 && rng_chance(&w->rng, 3))
        return w->graveyard.graves[rng_below(&w->rng, w->graveyard.count)].job.id;
    if (rng_chance(&w->rng, 10))
        states = ~0u;
    for (size_t i = 0; i < m->count; i++)
        matching += states >> m->jobs[i].state & 1;
    if (matching == 0)
        return (struct job_id){ w->wall_ms, w->options.number, 0 };
    uint64_t nth = rng_below(&w->rng, matching);
    for (size_t i = 0;; i++)
        if ((states >> m->jobs[i].state & 1) && nth-- == 0)
            return m->jobs[i].id;
}

unsigned world_scope(struct world *w, struct job_id id)
{
    const struct model_job *job = model_find(&w->model, id);

    if (rng_chance(&w->rng, 50))
        return SCOPE_ALL;
    if (job && rng_chance(&w->rng, 60))
        return 1 + tenants_of(job->queue);
    return 1 + (unsigned)rng_below(&w->rng, SCOPE_NOBODY);
}

/* ---- Begin and end ---- */

static int64_t store_clock(void *arg)
{
    const struct world *w = arg;
    return w->wall_ms;
}

/* Memory for a few dozen jobs, and everything else as small as that. */
static void make_cold(struct world *w)
{
    struct rng *r = &w->rng;
    struct partition_options *o = &w->options;

    w->cold = w->model.cold = true;
    w->jobs_max = (size_t)rng_between(r, 30, rng_chance(r, 70) ? 120 : 300);
    o->memory_bytes = UINT64_C(16000) << rng_below(r, 4);
    o->lookahead_ms = rng_chance(r, 80) ? rng_between(r, 50, 2000) : rng_between(r, 2000, 90000);
    o->block_bytes = (size_t)256 << rng_below(r, 3);
    o->piece_bytes = (uint64_t)rng_between(r, 200, 5000);
    o->merge_runs = (unsigned)rng_between(r, 2, 8);
    o->slice_jobs = rng_chance(r, 60) ? (int)rng_between(r, 1, rng_chance(r, 70) ? 8 : 40) : 0;
    o->history_disk_bytes = rng_chance(r, 15) ? (uint64_t)rng_between(r, 2000, 20000) : 0;
    if (o->history_disk_bytes)
        w->model.forgetful = true;
}

void world_refuse(struct world *w, bool refuse)
{
    engine_refuse_new(w->engine, refuse);
    w->model.refusing = refuse;
    if (refuse && w->options.history_bytes) /* it may have to go, as it cannot go to disk */
        w->model.forgetful = true;
}

void world_init(struct world *w, uint64_t seed, unsigned mutant)
{
    *w = (struct world){
        .seed = seed,
        .rng = { seed * UINT64_C(0x2545f4914f6cdd1d) },
        .mutant = mutant,
        .wall_ms = YEAR_2026,
    };
    w->mono_ms = rng_between(&w->rng, 0, 1000000);
    w->jobs_max = (size_t)rng_between(&w->rng, 5, rng_chance(&w->rng, 50) ? 25 : 120);
    w->keys = rng_between(&w->rng, 1, MODEL_KEYS);
    CHECK(store_open("memory:", &(struct store_options){ 0 }, &w->memory) == 0, "no store");
    memory_set_clock(w->memory, store_clock, w);
    CHECK(fault_new(w->memory, seed, plan_decide, w, &w->store) == 0, "no store with faults");
    w->options = (struct partition_options){
        .number = 0,
        .segment_bytes = UINT64_C(512) << rng_below(&w->rng, 4),
        .commit_bytes = UINT64_MAX, /* one take is one commit: the judge counts on it */
        .slice_bytes = UINT64_C(64) << rng_below(&w->rng, 6),
        .durable = rng_chance(&w->rng, 75),
        .seed = seed,
        .history_bytes = rng_chance(&w->rng, 15) ? (uint64_t)rng_between(&w->rng, 500, 5000) : 0,
        .audit_max = seed % 3 ? 1 + seed / 3 % 40 : 0,
        .idle_queues = seed % 2, /* so that queues are forgotten */
        .bulk_page = (size_t)rng_between(&w->rng, 1, rng_chance(&w->rng, 50) ? 4 : 40),
        .mutant = mutant,
        .event = watch_event,
        .listen = true,
        .host = w,
    };
    model_init(&w->model, &w->graveyard);
    w->model.history_bytes = w->options.history_bytes;
    w->limits = rng_chance(&w->rng, 60);
    w->recurs = rng_chance(&w->rng, 50);
    if (w->recurs && rng_chance(&w->rng, 60)) /* shortly before clocks change */
        w->wall_ms =
            (rng_chance(&w->rng, 50) ? SPRING_2026 : AUTUMN_2026) - rng_duration(&w->rng, 3 * DAY);
    w->expire_percent = rng_chance(&w->rng, 40) ? 0 : rng_chance(&w->rng, 30) ? 60 : 15;
    w->after_percent = rng_chance(&w->rng, 30) ? 0 : rng_chance(&w->rng, 30) ? 60 : 20;
    if (w->limits && rng_chance(&w->rng, 30))
        w->model.max_running = w->options.max_running = (uint64_t)rng_between(&w->rng, 1, 8);
    if (w->limits && rng_chance(&w->rng, 30))
        w->model.slow_start_ms = w->options.slow_start_ms = 1 + rng_duration(&w->rng, 3600000);
    w->gates = rng_chance(&w->rng, 60);
    if (rng_chance(&w->rng, 70))
        make_cold(w);
    w->order_percent = rng_chance(&w->rng, 30) ? 0 : rng_chance(&w->rng, 70) ? 40 : 100;
    model_copy(&w->safe[0], &w->model);
    w->safe_count = 1;
    if (rng_chance(&w->rng, 30))
        step_arm(w);
    else if (rng_chance(&w->rng, 3)) /* only here a record is looked for that is not there */
        w->plan.trap =
            (struct trap){ .armed = true, .point = FAULT_SCAN_AFTER, .action = FAULT_CRASH };
    restart_open(w);
}

void world_fini(struct world *w)
{
    plan_pause(w, true);
    requests_finish(w);
    lanes_finish(w);
    world_drain(w);
    while (!cycle_all(w))
        ;
    CHECK(w->answer_count == 0, "an answer (%s) is never given", w->answers[0].verb);
    world_compare(w);
    step_close(w);
    partition_close(w->partition);
    store_close(w->store);
    store_close(w->memory);
    model_fini(&w->model);
    model_fini(&w->taken);
    model_fini(&w->trial);
    model_fini(&w->found);
    for (size_t i = 0; i < SAFE_MAX; i++)
        model_fini(&w->safe[i]);
    model_graveyard_fini(&w->graveyard);
    free(w->answers);
    free(w->lister.seen);
    free(w->lister.there);
    free(w->watch.jobs);
}
