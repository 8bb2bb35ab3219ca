/* SPDX-License-Identifier: MIT */
/* Jobs that wait for others. When those have ended the engine may tell them any time; the judge
 * says when it has. */
#include "base/error.h"
#include "sim/cover.h"
#include "sim/model_job.h"

static bool same_id(struct job_id a, struct job_id b)
{
    return a.seq == b.seq && a.due_ms == b.due_ms && a.partition == b.partition;
}

/* A job to wait for. In the middle of a batch also one that has expired and is forgotten since it
 * began. */
static const struct model_job *parent_of(const struct model *m, struct job_id id)
{
    const struct model_job *job = model_find(m, id);

    for (size_t i = m->whole ? m->whole - 1 : m->graveyard->count; i < m->graveyard->count; i++)
        if (!job && same_id(m->graveyard->graves[i].job.id, id) &&
            m->graveyard->graves[i].job.state == JOB_EXPIRED)
            job = &m->graveyard->graves[i].job;
    return job;
}

int model_after_check(const struct model *m, const struct model_spec *spec)
{
    for (size_t i = 0; i < spec->after_count; i++)
        for (size_t k = 0; k < i; k++)
            if (spec->after[k].seq == spec->after[i].seq)
                return BELFRY_INVALID;
    for (size_t i = 0; i < spec->after_count; i++) {
        const struct model_job *parent = parent_of(m, spec->after[i]);
        if (!parent || tenants_of(parent->queue) != tenants_of(spec->queue))
            return BELFRY_NOTFOUND;
    }
    return 0;
}

void model_after_begin(struct model *m, const struct model_spec *spec)
{
    struct model_job *job = &m->jobs[m->count - 1];
    bool lost = false;

    job->after_fail = spec->after_fail;
    for (size_t i = 0; i < spec->after_count; i++) {
        const struct model_job *parent = parent_of(m, spec->after[i]);
        if (!model_ended(parent)) {
            job->after[job->after_count++] = (struct model_parent){ .id = parent->id };
            cover_event(parent->state == JOB_LEASED ? EVENT_WAITS_LEASED : EVENT_WAITS);
            continue;
        }
        cover_event(parent->state == JOB_DONE ? EVENT_WAITS_DONE : EVENT_WAITS_LOST);
        lost = lost || (parent->state != JOB_DONE && spec->after_fail == AFTERFAIL_CANCEL);
    }
    if (lost) {
        job->error = ERROR_OF_ENGINE;
        model_end(m, job, JOB_CANCELLED, 0);
        return;
    }
    for (size_t i = 0; i < job->after_count; i++)
        model_find(m, job->after[i].id)->listeners++;
    if (job->after_count > 0) {
        job->state = JOB_WAITING;
        job->at_ms = job->due_ms;
    }
}

void model_after_ended(struct model *m, const struct model_job *job)
{
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *child = &m->jobs[i];
        for (size_t k = 0; k < child->after_count && child->state == JOB_WAITING; k++) {
            if (!same_id(child->after[k].id, job->id))
                continue;
            child->after[k].ended = true;
            child->after[k].done = job->state == JOB_DONE;
        }
    }
}

void model_after_revived(struct model *m, struct model_job *job)
{
    if (job->telling)
        cover_event(EVENT_REVIVED);
    job->telling = false;
    model_recur_ended(m, job, false);
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *child = &m->jobs[i];
        for (size_t k = 0; k < child->after_count && child->state == JOB_WAITING; k++)
            if (same_id(child->after[k].id, job->id))
                child->after[k].ended = false;
    }
}

/* One that it waits for has ended otherwise than done, and that matters. */
static bool has_lost_one(const struct model_job *job)
{
    for (size_t i = 0; i < job->after_count; i++)
        if (job->after[i].ended && !job->after[i].done && job->after_fail == AFTERFAIL_CANCEL)
            return true;
    return false;
}

static bool is_among(struct job_id id, const struct job_id *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (same_id(ids[i], id))
            return true;
    return false;
}

/* Forgets those that are not among these; false, with nothing changed, if it has to wait for one
 * of them. */
static bool keep_only(struct model_job *job, const struct job_id *left, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < job->after_count; i++) {
        const struct model_parent *p = &job->after[i];
        if (!is_among(p->id, left, n) &&
            (!p->ended || (!p->done && job->after_fail == AFTERFAIL_CANCEL)))
            return false;
    }
    for (size_t i = 0; i < job->after_count; i++) {
        if (is_among(job->after[i].id, left, n))
            job->after[kept++] = job->after[i];
        else if (!job->after[i].done)
            cover_event(EVENT_TOLD_RUN);
    }
    job->after_count = kept;
    return kept == n;
}

bool model_after_told(struct model *m, struct model_job *job, const struct job_id *left, size_t n)
{
    if (!keep_only(job, left, n))
        return false;
    model_changed(m, job);
    if (n > 0)
        return true;
    cover_event(EVENT_TOLD_LAST);
    job->state = JOB_SCHEDULED;
    job->at_ms = job->due_ms > m->now_ms || job->order ? job->due_ms : m->now_ms;
    return true;
}

bool model_after_cancelled(struct model *m, struct model_job *job, const struct job_id *left,
                           size_t n)
{
    if (!has_lost_one(job) || (left && !keep_only(job, left, n)))
        return false;
    cover_event(EVENT_TOLD_LOST);
    if (job->listeners > 0)
        cover_event(EVENT_TOLD_CHAIN);
    job->error = ERROR_OF_ENGINE;
    model_end(m, job, JOB_CANCELLED, 0);
    return true;
}

void model_all_told(struct model *m)
{
    for (size_t i = 0; i < m->count;) {
        struct model_job *job = &m->jobs[i];
        bool kept = job->keep_ms > job->ended_ms || job->hold_ms > job->ended_ms;
        if (job->telling && !kept) { /* whatever the clock says by now */
            model_forget(m, i);
            continue;
        }
        job->lapsed |= job->telling && job->hold_ms <= m->latest_ms;
        job->telling = false;
        i++;
    }
    model_fire(m);
}
