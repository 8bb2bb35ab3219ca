/* SPDX-License-Identifier: MIT */
/*
 * What the engine does of itself, between requests: it tells jobs that those they wait for have
 * ended. When it does is its own choice, so the model follows; that it does nothing else, and that
 * it does it once everything is calm, is checked.
 */
#include <inttypes.h>

#include "sim/model_job.h"
#include "sim/steps.h"

static uint64_t untold(const struct world *w)
{
    struct engine_stats s;

    engine_stats(w->engine, &s);
    return s.untold;
}

static bool may_be_told(const struct model_job *job)
{
    for (size_t i = 0; i < job->after_count; i++)
        if (job->after[i].ended)
            return job->state == JOB_WAITING;
    return false;
}

enum told { TOLD_NOTHING, TOLD, UNEXPLAINED };

static enum told follow(struct world *w, struct model_job *job)
{
    struct look look = { .partition = w->partition };
    struct job_view v;
    int err = look_get(&look, job->id, &v);
    bool told;

    look_end(&look); /* the ids are in the view itself */
    CHECK(err == 0 || err == BELFRY_NOTFOUND, "GET answers %s", error_name(err));
    if (!err && v.state != JOB_CANCELLED && v.after_count == job->after_count)
        return TOLD_NOTHING;
    if (err || v.state == JOB_CANCELLED)
        told = model_after_cancelled(&w->model, job, err ? NULL : v.after, err ? 0 : v.after_count);
    else
        told = model_after_told(&w->model, job, v.after, v.after_count);
    CHECK(!err || !told || model_may_forget(&w->model, job) || job->keep_ms <= w->model.now_ms,
          "job %" PRIu64 " is lost when one that it waits for is", job->id.seq);
    return told ? TOLD : UNEXPLAINED;
}

/* Those that are told may end by that, and then others are told: what is not explained yet is by
 * what is found later. */
static bool follow_all(struct world *w, struct job_id *ret_unexplained)
{
    bool any = false;

    for (size_t i = 0; i < w->model.count; i++) {
        struct model_job *job = &w->model.jobs[i];
        uint64_t since = job->placed;
        enum told told = may_be_told(job) ? follow(w, job) : TOLD_NOTHING;
        if (told == UNEXPLAINED)
            *ret_unexplained = job->id;
        if (told != TOLD)
            continue;
        trace_note("  job %" PRIu64 " is told: %s", job->id.seq, job_state_name(job->state));
        cover_event(since == w->model.steps ? EVENT_TOLD : EVENT_TOLD_LATER);
        any = true;
    }
    return any;
}

static bool follow_to_the_end(struct world *w)
{
    struct job_id unexplained;
    bool any = false, more;

    do {
        unexplained = (struct job_id){ 0 };
        more = follow_all(w, &unexplained);
        any = any || more;
    } while (more);
    CHECK(unexplained.seq == 0, "job %" PRIu64 " does not wait any more for one that is not done",
          unexplained.seq);
    return any;
}

static void check_all_told(struct world *w)
{
    for (size_t i = 0; i < w->model.count; i++)
        CHECK(!may_be_told(&w->model.jobs[i]), "job %" PRIu64 " waits for one that has ended",
              w->model.jobs[i].id.seq);
    engine_advance(w->engine, w->wall_ms, w->mono_ms); /* holds that were over meanwhile end, */
    model_expire(&w->model);                           /* and what else time does now */
    model_all_told(&w->model);
}

void world_told(struct world *w)
{
    bool paused = plan_pause(w, true);
    uint64_t cold = w->traffic.cold;
    bool any = follow_to_the_end(w);

    if (any && world_cold_jobs(w) < cold)
        cover_event(EVENT_TOLD_COLD);
    if (any)
        w->traffic.told_lsn = engine_lsn(w->engine);
    if (untold(w) == 0)
        check_all_told(w);
    else
        model_fire(&w->model);
    plan_pause(w, paused);
}

void told_check(struct world *w)
{
    CHECK(untold(w) == 0, "somebody is not told, and nothing is left to do");
}

void told_crash(const struct world *w)
{
    if (untold(w) > 0)
        cover_event(EVENT_CRASH_UNTOLD);
    if (w->traffic.told_lsn > partition_durable_lsn(w->partition))
        cover_event(EVENT_CRASH_TOLD_LOST);
}
