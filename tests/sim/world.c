/* SPDX-License-Identifier: MIT */
#include "sim/steps.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"

uint32_t world_text(struct world *w)
{
    return ++w->texts;
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
        w->leases_told = a->told > w->leases_told ? a->told : w->leases_told;
    }
    w->answer_count = kept;
}

void world_answer_lease(struct world *w)
{
    hold(w, "LEASE", engine_offered_lsn(w->engine), w->lease_facts);
    if (rng_chance(&w->rng, 80))
        world_dispatch(w);
    world_release(w);
}

void world_answer(struct world *w, const char *verb)
{
    char why[JUDGE_TEXT];

    CHECK(judge_adopt(w->engine, &w->model, why), "%s", why);
    hold(w, verb, engine_visible_lsn(w->engine), w->model.changes);
    if (rng_chance(&w->rng, 80))
        world_dispatch(w);
    world_release(w);
}

/* ---- Leases ---- */

static void check_rank(const struct model *m, const struct model_job *job)
{
    /* Jobs that were ready before the clock was set back keep their place, whatever their time. */
    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].queue == job->queue && m->jobs[i].state == JOB_READY && m->jobs[i].ahead)
            return;
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *other = &m->jobs[i];
        CHECK(other->queue != job->queue || other->state != JOB_READY ||
                  model_rank(other) >= model_rank(job),
              "job %" PRIu64 " (rank %" PRId64 ") overtakes job %" PRIu64 " (rank %" PRId64 ")",
              job->id.seq, model_rank(job), other->id.seq, model_rank(other));
    }
}

static void leased(struct world *w, const struct wait *request, const struct job_view *v)
{
    struct model_job *job = model_find(&w->model, v->id);
    char why[JUDGE_TEXT];

    CHECK(job, "job %" PRIu64 " is leased but does not exist", v->id.seq);
    CHECK(job->state == JOB_READY, "job %" PRIu64 " is leased while %s (at %" PRId64 ")", v->id.seq,
          job_state_name(job->state), job->at_ms);
    CHECK(request->queues >> job->queue & 1, "job %" PRIu64 " is not of a queue asked for",
          v->id.seq);
    CHECK(!w->model.queues[job->queue].paused, "job %" PRIu64 " is of a paused queue", v->id.seq);
    check_rank(&w->model, job);
    if (job->ahead)
        cover_event(EVENT_READY_AHEAD);
    CHECK(v->token > w->token_max, "token %" PRIx64 " after token %" PRIx64, v->token,
          w->token_max);
    w->token_max = v->token;
    w->tokens[w->token_count++ % TOKENS_MAX] = (struct token){ v->id, v->token };
    w->leases++;
    model_lease(&w->model, job, request->for_ms, request->worker, v->token);
    CHECK(judge_job(&w->model, job, v, why), "as it is leased, %s", why);
    trace_note("  job %" PRIu64 " of q%u, attempt %u, token %" PRIx64 ", until %" PRId64,
               job->id.seq, job->queue, job->attempt, job->token, job->until_ms);
}

void world_leased(struct world *w, const struct wait *request, struct job *const *jobs, size_t n)
{
    w->lease_facts = 0;
    for (size_t i = 0; i < n; i++) {
        struct job_view v;
        engine_view(w->engine, jobs[i], &v);
        const struct model_job *job = model_find(&w->model, v.id);
        if (job && job->fact > w->lease_facts)
            w->lease_facts = job->fact;
        leased(w, request, &v);
    }
}

void world_deliver(void *host, void *owner, struct job *const *jobs, size_t n)
{
    struct world *w = host;
    struct wait *wait = owner;

    CHECK(wait->live, "a parked worker is answered twice");
    wait->live = false;
    trace_note("  worker %td gets %zu jobs", wait - w->waits, n);
    w->lease_facts = 0;
    if (n == 0) {
        CHECK(w->mono_ms >= wait->deadline_ms, "a worker's wait ends too early");
        cover_event(EVENT_PARKED_LATE);
    } else {
        cover_event(EVENT_PARKED);
        CHECK(n <= wait->count, "a worker gets more jobs than it asked for");
        world_leased(w, wait, jobs, n);
    }
    hold(w, "parked LEASE", engine_offered_lsn(w->engine), w->lease_facts);
}

void world_dispatch(struct world *w)
{
    engine_dispatch(w->engine);
    for (size_t i = 0; i < WAITS_MAX; i++) {
        const struct wait *wait = &w->waits[i];
        if (wait->live)
            CHECK(model_deliverable(&w->model, wait->queues) == 0,
                  "worker %zu waits though there is work", i);
    }
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

void world_compare(struct world *w)
{
    char why[JUDGE_TEXT];

    CHECK(judge_adopt(w->engine, &w->model, why), "%s", why);
    engine_verify(w->engine);
    CHECK(judge_same(w->engine, &w->model, why), "%s", why);
    check_waiters(w);
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

/* ---- Begin and end ---- */

static int64_t store_clock(void *arg)
{
    const struct world *w = arg;
    return w->wall_ms;
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
        .mutant = mutant,
        .deliver = world_deliver,
        .host = w,
    };
    model_init(&w->model, &w->graveyard);
    w->model.forgetful = w->options.history_bytes > 0;
    model_copy(&w->safe[0], &w->model);
    w->safe_count = 1;
    if (rng_chance(&w->rng, 30))
        step_arm(w);
    restart_open(w);
}

void world_fini(struct world *w)
{
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
    for (size_t i = 0; i < SAFE_MAX; i++)
        model_fini(&w->safe[i]);
    model_graveyard_fini(&w->graveyard);
    free(w->answers);
    free(w->lister.seen);
}
