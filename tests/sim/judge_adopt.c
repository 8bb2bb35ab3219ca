/* SPDX-License-Identifier: MIT */
/* What the engine was free to choose, and what it remembers once more after its clock was set back.
 */
#include "sim/judge.h"

#include <inttypes.h>
#include <stdio.h>

#include "sim/cover.h"
#include "sim/look.h"
#include "sim/model_job.h"
#include "sim/text.h"
#include "sim/trace.h"

/* ---- Gaps ---- */

static bool adopt_at(struct model_job *job, const struct job_view *v, char ret[JUDGE_TEXT])
{
    if (v->at_ms < job->at_low || v->at_ms > job->at_high) {
        snprintf(ret, JUDGE_TEXT,
                 "job %" PRIu64 ": its retry is at %" PRId64 ", not within %" PRId64 "..%" PRId64,
                 v->id.seq, v->at_ms, job->at_low, job->at_high);
        return false;
    }
    job->at_ms = v->at_ms;
    job->at_open = false;
    return true;
}

/* True if the job at i was forgotten. */
static bool adopt_forgotten(struct partition *p, struct model *m, size_t i)
{
    const struct model_job *job = &m->jobs[i];
    char why[JUDGE_TEXT];

    if (!model_may_forget(m, job) || look_has(p, job->id))
        return false;
    if (job->keep_ms > m->latest_ms || job->hold_ms > m->latest_ms)
        CHECK(judge_trimmed(p, m, job, why), "%s", why);
    cover_event(EVENT_TRIMMED);
    model_forget(m, i);
    return true;
}

void judge_adopt_forgotten(struct partition *p, struct model *m)
{
    for (size_t i = 0; i < m->count;)
        if (!adopt_forgotten(p, m, i))
            i++;
}

/* A job on disk ends by expiry when it comes to memory, because the engine finds out only then. The
 * engine may forget the job at once. Then GET asks the disk, so this function reads the disk. True:
 * the job has ended. */
static bool adopt_expired(struct partition *p, struct model *m, struct model_job *job)
{
    struct look look = { .partition = p };
    struct job_view v;
    bool ended = look_get(&look, job->id, &v) != 0 || v.ended_ms > 0;

    if (ended)
        model_end(m, job, JOB_EXPIRED, 0);
    else
        cover_event(EVENT_EXPIRED_ON_DISK);
    look_end(&look);
    return ended;
}

void judge_adopt_job(struct partition *p, struct model *m, struct job_id id)
{
    struct model_job *job = model_find(m, id);

    if (job && model_is_over(m, job)) {
        adopt_expired(p, m, job);
        model_fire(m);
        job = model_find(m, id);
    }
    if (job)
        adopt_forgotten(p, m, (size_t)(job - m->jobs));
    else if (model_ghost(m, id) && look_has(p, id))
        *model_add(m) = *model_ghost(m, id);
}

/* A job that was ready when the clock was set back: still, if it was in memory. */
static void adopt_state(struct model_job *job, const struct job_view *v)
{
    if (v->state == JOB_SCHEDULED) {
        job->state = JOB_SCHEDULED;
        job->ahead = false;
    }
}

bool judge_adopt(struct partition *p, struct model *m, char ret[JUDGE_TEXT])
{
    struct look look = { .partition = p };
    bool filled = false;

    if ((m->forgetful || m->bytes_bite) && !m->cold)
        judge_adopt_forgotten(p, m);
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        bool ahead = m->cold && job->ahead && job->state == JOB_READY;
        struct job_view v;

        if (model_is_over(m, job)) {
            adopt_expired(p, m, job);
            filled = true;
            continue;
        }
        if (!job->at_open && !ahead)
            continue;
        if (look_get(&look, job->id, &v)) {
            snprintf(ret, JUDGE_TEXT, "job %" PRIu64 " is lost", job->id.seq);
            look_end(&look);
            return false;
        }
        if (ahead)
            adopt_state(job, &v);
        else if (!adopt_at(job, &v, ret))
            return false;
        filled = true;
    }
    look_end(&look);
    if (filled)
        model_fire(m);
    return true;
}

bool judge_adopt_met(struct partition *p, struct model *m, char ret[JUDGE_TEXT])
{
    struct engine *e = partition_engine(p);

    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        struct job_view v;

        if (model_is_over(m, job) && adopt_expired(p, m, job))
            continue;
        /* One on disk was not met. */
        if (job->state != JOB_READY || !job->notify || engine_get(e, job->id, &v) ||
            v.deferrals == job->deferrals)
            continue;
        if (v.deferrals != job->deferrals + 1 || !model_defer(m, job, v.deferred_ms)) {
            snprintf(ret, JUDGE_TEXT,
                     "job %" PRIu64 " was deferred to %" PRId64 ", but it is quiet until %" PRId64,
                     v.id.seq, v.deferred_ms, model_quiet_until(m, job));
            return false;
        }
        cover_event(EVENT_DEFERRED);
    }
    model_fire(m);
    return true;
}

/* ---- A clock set back ---- */

static bool has_grave(const struct model *m, const struct model_job *job)
{
    for (size_t i = 0; i < m->graveyard->count; i++) {
        const struct model_job *dead = &m->graveyard->graves[i].job;
        if (dead->id.seq == job->id.seq && dead->ended_ms == job->ended_ms)
            return true;
    }
    return false;
}

void judge_bury(struct partition *p, struct model *m)
{
    for (size_t i = 0; i < m->count;) {
        if (model_ended(&m->jobs[i]) && has_grave(m, &m->jobs[i]) && !look_has(p, m->jobs[i].id))
            model_forget(m, i);
        else
            i++;
    }
}

size_t judge_resurrect(struct partition *p, struct model *m)
{
    struct look look = { .partition = p };
    size_t n = 0;

    for (size_t i = m->graveyard->count; i-- > 0;) { /* newest first: one may have died twice */
        const struct model_grave *g = &m->graveyard->graves[i];
        if (g->changes > m->changes ||
            (g->job.keep_ms <= m->now_ms && g->job.hold_ms <= m->now_ms) ||
            model_find(m, g->job.id) || !look_has(p, g->job.id))
            continue;
        struct model_job *job = model_add(m);
        *job = g->job;
        job->held = false; /* see below */
        cover_event(EVENT_REMEMBERED);
        n++;
    }
    /* A hold that was over may be on again, unless another job has taken the key. */
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        char queue[TEXT_MAX], order[TEXT_MAX], key[TEXT_MAX];
        struct job_id id;

        if (model_ended(job) && job->key && !job->held && job->hold_ms > m->now_ms &&
            !look_key(&look, text_make(TEXT_QUEUE, job->queue, queue),
                      text_make(TEXT_ORDER, job->order, order), text_make(TEXT_KEY, job->key, key),
                      &id) &&
            id.seq == job->id.seq)
            job->held = true;
    }
    look_end(&look);
    return n;
}
