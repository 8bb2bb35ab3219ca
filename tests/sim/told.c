/* SPDX-License-Identifier: MIT */
/*
 * What the engine does of itself, between requests: it tells jobs that those they wait for have
 * ended, and recurrences make jobs. The engine chooses when it tells, so the model follows. The
 * simulator checks that the engine does nothing else, and has told all when everything is calm.
 */
#include <inttypes.h>

#include "engine/bulk.h"
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

/* Whether a bulk may have cancelled it in the same turn, when it did not wait any more. */
static bool met_by_bulk(const struct world *w, const struct model_job *job)
{
    struct model_job released = *job;

    released.state = job->due_ms > w->model.now_ms ? JOB_SCHEDULED : JOB_READY;
    return bulks_about(w, &released, BULK_CANCEL) != 0;
}

/* One that is gone. If a bulk cancelled it, the model does that later. */
static bool follow_gone(struct world *w, struct model_job *job)
{
    if (model_after_cancelled(&w->model, job, NULL, 0))
        return true;
    return !bulks_about(w, job, BULK_CANCEL) && met_by_bulk(w, job) &&
           model_after_told(&w->model, job, NULL, 0);
}

/* One of these bulks may have changed the job, and not what it waited for. */
static void doubt_bulks(struct world *w, unsigned bulks)
{
    for (size_t i = 0; i < MODEL_BULKS; i++)
        w->model.bulks[i].unsure += bulks >> i & 1;
}

/* A job that expired on disk. If it is gone, a bulk may have deleted it: its end is noted first. */
static void follow_over(struct world *w, struct model_job *job, bool gone)
{
    unsigned bulks = gone ? bulks_about(w, job, BULK_DELETE) : 0;

    model_end(&w->model, job, JOB_EXPIRED, 0);
    if (model_is_past(&w->model, job))
        doubt_bulks(w, bulks);
}

static enum told follow(struct world *w, struct model_job *job)
{
    struct look look = { .partition = w->partition };
    struct job_view v;
    int err = look_get(&look, job->id, &v);
    bool told;

    look_end(&look); /* the ids are in the view itself */
    CHECK(err == 0 || err == BELFRY_NOTFOUND, "GET answers %s", error_name(err));
    if (model_is_over(&w->model, job)) { /* on disk, before it could be told */
        if (!err && v.ended_ms == 0)
            return TOLD_NOTHING;
        follow_over(w, job, err != 0);
        return TOLD;
    }
    bool by_bulk = !err && v.state == JOB_CANCELLED && v.error.len == 0; /* since it was told */
    bool ended = err || (v.state == JOB_CANCELLED && !by_bulk);
    if (!ended && v.after_count == job->after_count)
        return TOLD_NOTHING;
    unsigned bulks = err ? bulks_about(w, job, BULK_CANCEL) : 0;
    if (err)
        told = follow_gone(w, job);
    else if (ended)
        told = model_after_cancelled(&w->model, job, v.after, v.after_count);
    else
        told = model_after_told(&w->model, job, v.after, v.after_count);
    CHECK(!err || !told || model_may_forget(&w->model, job) || job->keep_ms <= w->model.now_ms ||
              bulks_about(w, job, BULK_DELETE),
          "job %" PRIu64 " is lost when one that it waits for is", job->id.seq);
    if (told)
        doubt_bulks(w, bulks);
    return told ? TOLD : bulks ? TOLD_NOTHING : UNEXPLAINED;
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
    /* At their time, though the clock was set back. */
    judge_adopt_forgotten(w->partition, &w->model);
    model_all_told(&w->model);
    world_adopt(w); /* holds that were over meanwhile end */
}

/* Each of its nominal times is decided about once, and as it has to be. */
static void follow_recurrence(struct world *w, unsigned i)
{
    static struct recurrence_view v;
    struct look look = { .partition = w->partition };
    char tenant[TEXT_MAX], name[TEXT_MAX], why[200];
    int err = look_recurrence(&look, text_make(TEXT_TENANT, recurrence_tenant(i), tenant),
                              text_make(TEXT_RECURRENCE, 1 + i, name), &v);

    CHECK(err == 0 && !v.damaged, "recurrence %u is lost: %s", i, error_name(err));
    CHECK(model_recur_follow(&w->model, i, &v.r, why), "%s", why);
    look_end(&look);
}

/* A tenant's limit keeps occurrences from being made, and nothing else. */
struct pending {
    uint64_t before[MODEL_TENANTS];
    uint64_t limited[MODEL_TENANTS];
};

static void count_pending(const struct model *m, struct pending *ret)
{
    *ret = (struct pending){ 0 };
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        ret->before[t] = model_pending(m, t);
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        ret->limited[recurrence_tenant(i)] += m->recurrences[i].totals[LEDGER_LIMIT];
}

static void check_pending(const struct model *m, const struct pending *before)
{
    struct pending now;

    count_pending(m, &now);
    for (unsigned t = 0; t < MODEL_TENANTS; t++) {
        uint64_t most = (uint64_t)m->tenants[t].max_pending;
        CHECK(most == 0 || now.before[t] <= before->before[t] || now.before[t] <= most,
              "tenant %u has %" PRIu64 " jobs by its recurrences, and may have %" PRIu64, t,
              now.before[t], most);
        CHECK(now.limited[t] == before->limited[t] || before->before[t] >= most ||
                  now.before[t] >= most,
              "tenant %u has %" PRIu64 " jobs, may have %" PRIu64
              ", and an occurrence is skipped for that",
              t, now.before[t], most);
    }
}

static void follow_recurrences(struct world *w)
{
    struct pending before;
    size_t jobs = w->model.count;

    count_pending(&w->model, &before);
    for (unsigned t = 0; t < MODEL_TENANTS; t++) { /* recurrences went before bulks */
        if (w->bulked[t] > before.before[t])
            before.before[t] = w->bulked[t];
        w->bulked[t] = 0;
    }
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        if (w->model.recurrences[i].exists)
            follow_recurrence(w, i);
    check_pending(&w->model, &before);
    if (w->model.count > jobs)
        w->traffic.made_lsn = engine_lsn(w->engine);
}

/* Recurrences may have gone before jobs were told of ends, too. */
static void note_pending(struct world *w)
{
    for (unsigned t = 0; t < MODEL_TENANTS; t++) {
        uint64_t n = model_pending(&w->model, t);

        if (n > w->bulked[t])
            w->bulked[t] = n;
    }
}

void world_told(struct world *w)
{
    bool paused = plan_pause(w, true);
    uint64_t cold = w->traffic.cold;

    note_pending(w);
    bool any = follow_to_the_end(w);

    follow_recurrences(w);
    model_fire(&w->model);
    bulks_adopt(w); /* a slice of one is the last that is done in a turn */
    world_adopt(w); /* what it met on disk, or moved to the past, may have expired */
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

bool told_left(const struct world *w)
{
    return untold(w) > 0;
}

void told_check(struct world *w)
{
    CHECK(untold(w) == 0, "somebody is not told, and nothing is left to do");
    for (unsigned i = 0; i < MODEL_RECURRENCES; i++)
        CHECK(!model_recur_is_due(&w->model, i), "recurrence %u is due, and nothing is left to do",
              i);
}

void told_crash(const struct world *w)
{
    if (untold(w) > 0)
        cover_event(EVENT_CRASH_UNTOLD);
    if (w->traffic.told_lsn > partition_durable_lsn(w->partition))
        cover_event(EVENT_CRASH_TOLD_LOST);
    if (w->traffic.made_lsn > partition_durable_lsn(w->partition))
        cover_event(EVENT_CRASH_MADE_LOST);
}
