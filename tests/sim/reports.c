/* SPDX-License-Identifier: MIT */
/* Steps in which somebody asks why a job has not run, and how many will. */
#include <inttypes.h>

#include "sim/steps.h"

#define DAY       INT64_C(86400000)
#define STEPS_MAX 20

/* ---- EXPLAIN ---- */

/* What a job of a queue that may be held back waits for, as far as the model can tell. */
static bool ready_is(const struct world *w, const struct model_job *job,
                     const struct explanation *x)
{
    const struct model *m = &w->model;
    const struct model_queue *q = &m->queues[job->queue];
    bool shut = model_is_shut(m, tenants_of(job->queue)) && !job->passing;
    int64_t quiet = model_quiet_until(m, job);

    if (job->order)
        return x->reason != REASON_ENDED && x->reason != REASON_SCHEDULED;
    if (q->paused || shut)
        return x->reason == (q->paused ? REASON_PAUSED : REASON_MAINTENANCE);
    if (quiet >= 0)
        return x->reason == REASON_QUIET_HOURS && x->until_ms == quiet;
    if (x->reason == REASON_NO_WORKER || x->reason == REASON_BEHIND ||
        (x->reason == REASON_ON_DISK && w->cold))
        return model_hold(m, job->queue, job->passing) == HOLD_NONE;
    if (x->reason == REASON_ORDERING_KEY && w->cold) /* all others of its queue have one */
        return true;
    if (x->reason == REASON_LEASED_MEMORY)
        return w->cold && model_running(m, tenants_of(job->queue)) > 0;
    return (job->passing || !model_gives(m, job->queue)) &&
           (x->reason == REASON_RUNNING_LIMIT || x->reason == REASON_RATE_LIMIT ||
            x->reason == REASON_SLOW_START || x->reason == REASON_ORDERING_KEY);
}

static bool is_explained(const struct world *w, const struct model_job *job,
                         const struct explanation *x)
{
    switch (model_shown(&w->model, job)) {
    case JOB_READY: return ready_is(w, job, x);
    case JOB_LEASED: return x->reason == REASON_RUNNING && x->until_ms == job->until_ms;
    case JOB_WAITING: return x->reason == REASON_PARENT && x->until_ms == -1;
    case JOB_SCHEDULED:
        return x->until_ms == job->at_ms && x->reason == (job->deferred_ms >= 0 ? REASON_QUIET_HOURS
                                                          : job->attempt > 0    ? REASON_BACKOFF
                                                                                : REASON_SCHEDULED);
    default: return x->reason == REASON_ENDED && x->until_ms == -1;
    }
}

void step_explain(struct world *w)
{
    struct job_id id = world_pick(w, ~0u);
    struct look look = { .partition = w->partition };
    struct explanation x;

    world_adopt(w);
    world_adopt_job(w, id);
    bool paused = plan_pause(w, true);
    const struct model_job *job = model_find(&w->model, id);
    int err = look_explain(&look, id, &x);
    look_end(&look);
    plan_pause(w, paused);
    trace_note("EXPLAIN job %" PRIu64 ": %s", id.seq,
               err ? error_name(err) : reason_name(x.reason));
    CHECK(err == (job ? 0 : BELFRY_NOTFOUND), "EXPLAIN job %" PRIu64 ": %s", id.seq,
          err ? error_name(err) : "ok");
    if (err)
        return;
    CHECK(x.state == model_shown(&w->model, job), "EXPLAIN job %" PRIu64 ": it is %s, expected %s",
          id.seq, job_state_name(x.state), job_state_name(model_shown(&w->model, job)));
    CHECK(is_explained(w, job, &x),
          "EXPLAIN job %" PRIu64 " (%s, at %" PRId64 "): %s until %" PRId64 ": %s", id.seq,
          job_state_name(x.state), job->at_ms, reason_name(x.reason), x.until_ms, x.why);
    CHECK(x.deferrals == job->deferrals, "EXPLAIN job %" PRIu64 ": %u deferrals, expected %u",
          id.seq, x.deferrals, job->deferrals);
    cover_event(job->state == JOB_READY ? EVENT_EXPLAINED_READY : EVENT_EXPLAINED);
}

/* ---- FORECAST ---- */

struct steps {
    int64_t from_ms;
    int64_t step_ms;
    size_t n;
    uint64_t is[STEPS_MAX];
};

/* Jobs in one of these states (bits) whose time is in a step and behind a moment; of a tenant, or
 * of all. */
static uint64_t expected(const struct model *m, int tenant, unsigned states, const struct steps *s,
                         size_t i, int64_t after_ms)
{
    int64_t from = s->from_ms + (int64_t)i * s->step_ms;
    uint64_t n = 0;

    for (size_t k = 0; k < m->count; k++) {
        const struct model_job *job = &m->jobs[k];
        n += (states >> job->state & 1) && !model_is_over(m, job) && job->at_ms >= from &&
             job->at_ms < from + s->step_ms && job->at_ms > after_ms &&
             (tenant < 0 || tenants_of(job->queue) == (unsigned)tenant);
    }
    return n;
}

/* Where jobs are on disk one in a backlog counts as ready a little early, and one that is behind
 * others a little late. */
static void check_forecast(const struct world *w, int tenant, const struct steps *s)
{
    unsigned states = 1u << JOB_SCHEDULED | (w->cold ? 1u << JOB_READY : 0);
    int64_t early = w->cold ? w->model.latest_ms + 2 * w->options.lookahead_ms : INT64_MIN;

    for (size_t i = 0; i < s->n; i++) {
        uint64_t least = expected(&w->model, tenant, 1u << JOB_SCHEDULED, s, i, early);
        uint64_t most = expected(&w->model, tenant, states, s, i, INT64_MIN);
        CHECK(s->is[i] >= least && s->is[i] <= most,
              "FORECAST of tenant %d, step %zu: %" PRIu64 " jobs, expected %" PRIu64 " to %" PRIu64,
              tenant, i, s->is[i], least, most);
        if (s->is[i] > 0)
            cover_event(EVENT_FORECAST);
    }
}

void step_forecast(struct world *w)
{
    struct job_id id = world_pick(w, 1u << JOB_SCHEDULED);
    const struct model_job *job = model_find(&w->model, id);
    struct steps s = { .from_ms = job && rng_chance(&w->rng, 70) ? job->at_ms : w->wall_ms,
                       .step_ms = 1 + rng_duration(&w->rng, DAY),
                       .n = (size_t)rng_between(&w->rng, 1, STEPS_MAX) };

    world_adopt(w);
    trace_note("FORECAST %zu steps of %" PRId64 " ms from %" PRId64, s.n, s.step_ms, s.from_ms);
    if (!w->cold) { /* of what is on disk it has an estimate */
        engine_forecast(w->engine, s.from_ms, s.step_ms, s.n, s.is);
        check_forecast(w, -1, &s);
    }
    for (unsigned t = 0; t < MODEL_TENANTS; t++) {
        char text[TEXT_MAX];
        int err = engine_forecast_of(w->engine, text_make(TEXT_TENANT, t, text), s.from_ms,
                                     s.step_ms, s.n, s.is);

        CHECK(err == 0 || (w->cold && err == BELFRY_STATE), "FORECAST of tenant %u: %s", t,
              error_name(err));
        if (!err)
            check_forecast(w, (int)t, &s);
    }
}
