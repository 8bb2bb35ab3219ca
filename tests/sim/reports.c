/* SPDX-License-Identifier: MIT */
/* Steps in which a reader asks why a job has not run, and how many will run. */
#include <inttypes.h>

#include "engine/census.h"
#include "record/name.h"
#include "sim/model_job.h"
#include "sim/steps.h"

#define DAY       INT64_C(86400000)
#define STEPS_MAX 20

/* ---- EXPLAIN ---- */

void step_explain(struct world *w)
{
    struct job_id id = world_pick(w, ~0u);
    struct look look = { .partition = w->partition };
    struct explanation x;
    char wrong[200];

    world_adopt(w);
    world_adopt_job(w, id);
    bool paused = plan_pause(w, true);
    const struct model_job *job = model_find(&w->model, id);
    int err = look_explain(&look, id, &x);
    look_end(&look); /* the error is in its memory */
    plan_pause(w, paused);
    trace_note("EXPLAIN job %" PRIu64 ": %s", id.seq,
               err ? error_name(err) : reason_name(x.reason));
    CHECK(err == (job ? 0 : BELFRY_NOTFOUND), "EXPLAIN job %" PRIu64 ": %s", id.seq,
          err ? error_name(err) : "ok");
    if (err)
        return;
    CHECK(x.state == model_shown(&w->model, job), "EXPLAIN job %" PRIu64 ": it is %s, expected %s",
          id.seq, job_state_name(x.state), job_state_name(model_shown(&w->model, job)));
    CHECK(explained_right(w, job, &x, wrong), "EXPLAIN job %" PRIu64 " (%s, at %" PRId64 "): %s",
          id.seq, job_state_name(x.state), job->at_ms, wrong);
    CHECK(x.deferrals == job->deferrals, "EXPLAIN job %" PRIu64 ": %u deferrals, expected %u",
          id.seq, x.deferrals, job->deferrals);
    cover_event(job->state == JOB_READY ? EVENT_EXPLAINED_READY : EVENT_EXPLAINED);
    if (x.cause_count > 1)
        cover_event(EVENT_EXPLAINED_TWICE);
}

/* ---- FORECAST ---- */

#define TIMES_MAX  20000 /* of a rule, that the model goes through */
#define ROUNDS_MAX 100000

struct bounds {
    uint64_t least, most;
};

struct forecast {
    int tenant; /* -1: all */
    int queue;  /* -1: all */
    struct census_ask ask;
    struct forecast_view is;
    struct bounds jobs[STEPS_MAX];
    struct bounds times[STEPS_MAX];
    bool too_many; /* the model does not know the times */
};

static bool is_asked(const struct forecast *f, unsigned queue)
{
    return (f->tenant < 0 || tenants_of(queue) == (unsigned)f->tenant) &&
           (f->queue < 0 || queue == (unsigned)f->queue);
}

static void widen(struct bounds *b, struct bounds by)
{
    b->least = by.least < b->least ? by.least : b->least;
    b->most = by.most > b->most ? by.most : b->most;
}

/* Where jobs are on disk one in a backlog counts as ready a little early, and one that is behind
 * others a little late. */
static void expect_jobs(const struct world *w, const struct forecast *f, struct bounds *ret)
{
    const struct model *m = &w->model;
    unsigned states = 1u << JOB_SCHEDULED | (w->cold ? 1u << JOB_READY : 0);
    int64_t early = w->cold ? m->latest_ms + 2 * w->options.lookahead_ms : INT64_MIN;

    for (size_t k = 0; k < m->count; k++) {
        const struct model_job *job = &m->jobs[k];
        size_t step = census_step(&f->ask, job->at_ms);

        bool over = model_is_over(m, job); /* on disk it may count until it comes to memory */

        if (step == f->ask.n || (over && !w->cold) || !is_asked(f, job->queue))
            continue;
        ret[step].least += job->state == JOB_SCHEDULED && job->at_ms > early && !over;
        ret[step].most += states >> job->state & 1;
    }
}

/* A time that has come may be decided about meanwhile. */
static void expect_times(const struct world *w, struct forecast *f, struct bounds *ret)
{
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++) {
        const struct model_recurrence *r = &w->model.recurrences[i];
        int64_t at = r->next_ms;
        int n = 0;

        if (!r->exists || r->paused || !is_asked(f, r->said.queue))
            continue;
        for (; at >= 0 && at < f->ask.to_ms; at = model_rule_after(&r->said, at)) {
            size_t step = census_step(&f->ask, at);

            if (n++ == TIMES_MAX) {
                f->too_many = true;
                break;
            }
            if (step == f->ask.n || at <= r->skip_ms)
                continue;
            ret[step].least += at > w->model.latest_ms;
            ret[step].most++;
        }
    }
}

/* The model is asked before and after: telling and firing go on meanwhile. */
static void expect(const struct world *w, struct forecast *f, bool first)
{
    struct bounds jobs[STEPS_MAX] = { 0 }, times[STEPS_MAX] = { 0 };

    expect_jobs(w, f, jobs);
    expect_times(w, f, times);
    for (size_t i = 0; i < f->ask.n; i++) {
        if (first) {
            f->jobs[i] = jobs[i];
            f->times[i] = times[i];
        }
        widen(&f->jobs[i], jobs[i]);
        widen(&f->times[i], times[i]);
    }
}

/* Jobs move between memory and disk while they are counted, some times in all. */
static void stir(struct world *w, int *left)
{
    if (*left == 0 || !rng_chance(&w->rng, 40))
        return;
    --*left;
    if (rng_chance(&w->rng, 50))
        lanes_work(w);
    if (rng_chance(&w->rng, 30))
        step_chores(w);
    for (int n = (int)rng_below(&w->rng, 6); n > 0; n--)
        step_chore(w);
}

static int forecast(struct world *w, struct forecast *f)
{
    struct fetch *fetch = NULL, *next;
    int err, rounds = 0, stirs = w->cold ? 6 : 1;

    while ((err = engine_forecast(w->engine, &f->ask, &f->is)) == BELFRY_COLD) {
        CHECK(rounds++ < ROUNDS_MAX, "FORECAST never ends");
        next = partition_fetch(w->partition);
        CHECK(next, "there is no memory to fetch");
        if (fetch)
            partition_fetch_end(w->partition, fetch);
        fetch = next;
        stir(w, &stirs);
        int result = fetch_run(fetch);
        stir(w, &stirs);
        CHECK(partition_fetched(w->partition, fetch, result) == 0, "a fetch fails: %s",
              store_detail());
    }
    if (fetch)
        partition_fetch_end(w->partition, fetch);
    if (rounds > 3)
        cover_event(EVENT_FORECAST_ROUNDS);
    return err;
}

static void check_forecast(const struct forecast *f)
{
    for (size_t i = 0; i < f->ask.n; i++) {
        CHECK(f->is.jobs[i] >= f->jobs[i].least && f->is.jobs[i] <= f->jobs[i].most,
              "FORECAST of tenant %d, step %zu: %" PRIu64 " jobs, expected %" PRIu64 " to %" PRIu64,
              f->tenant, i, f->is.jobs[i], f->jobs[i].least, f->jobs[i].most);
        CHECK(
            f->too_many || i >= f->is.partial ||
                (f->is.recurring[i] >= f->times[i].least && f->is.recurring[i] <= f->times[i].most),
            "FORECAST of tenant %d, step %zu: %" PRIu64 " times, expected %" PRIu64 " to %" PRIu64,
            f->tenant, i, f->is.recurring[i], f->times[i].least, f->times[i].most);
        if (f->is.jobs[i] > 0)
            cover_event(EVENT_FORECAST);
        if (f->is.recurring[i] > 0 && !f->too_many)
            cover_event(EVENT_FORECAST_TIMES);
    }
}

void step_forecast(struct world *w)
{
    struct job_id id = world_pick(w, 1u << JOB_SCHEDULED);
    const struct model_job *job = model_find(&w->model, id);
    char tenant[TEXT_MAX], queue[TEXT_MAX];
    struct str none;
    struct forecast f = {
        .tenant = rng_chance(&w->rng, 50) ? -1 : (int)rng_below(&w->rng, MODEL_TENANTS),
        .queue = rng_chance(&w->rng, 70) ? -1 : (int)rng_below(&w->rng, MODEL_QUEUES),
        .ask = { .from_ms = job && rng_chance(&w->rng, 70) ? job->at_ms : w->wall_ms,
                 .step_ms = 1 + rng_duration(&w->rng, DAY),
                 .n = (size_t)rng_between(&w->rng, 1, STEPS_MAX) },
    };

    if (f.queue >= 0) {
        f.tenant = (int)tenants_of((unsigned)f.queue);
        scope_split(text_make(TEXT_QUEUE, (uint32_t)f.queue, queue), &none, &f.ask.queue);
    }
    f.ask.tenant = f.tenant < 0 ? STR("*") : text_make(TEXT_TENANT, (uint32_t)f.tenant, tenant);
    f.ask.to_ms = f.ask.from_ms + (int64_t)f.ask.n * f.ask.step_ms -
                  (int64_t)rng_below(&w->rng, (uint64_t)f.ask.step_ms);
    trace_note("FORECAST %zu steps of %" PRId64 " ms from %" PRId64 " of tenant %d queue %d",
               f.ask.n, f.ask.step_ms, f.ask.from_ms, f.tenant, f.queue);
    bool paused = plan_pause(w, true);
    world_adopt(w);
    expect(w, &f, true);
    int err = forecast(w, &f);
    CHECK(err == 0, "FORECAST: %s", error_name(err));
    world_adopt(w);
    plan_pause(w, paused);
    expect(w, &f, false);
    check_forecast(&f);
}
