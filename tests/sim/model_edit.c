/* SPDX-License-Identifier: MIT */
/* What EDIT and CLONE promise. */
#include "base/error.h"
#include "sim/cover.h"
#include "sim/model_job.h"

struct model_spec model_spec_of(const struct model_job *job)
{
    return (struct model_spec){
        .queue = job->queue,
        .payload = job->payload,
        .due_ms = -1,
        .key = job->key,
        .order = job->order,
        .priority = job->priority,
        .attempts = job->attempts,
        .backoff = job->backoff,
        .lease_ms = job->lease_ms,
        .retain_ms = job->retain_ms,
        .expire_ms = job->expire_ms,
        .key_hold_ms = job->key_hold_ms,
        .labels = job->labels,
        .notify = job->notify,
        .passing = job->passing,
    };
}

#define NAME(bit, member) s->member = names & NAMES_##bit ? from->member : s->member

void model_spec_name(struct model_spec *s, const struct model_spec *from, unsigned names)
{
    NAME(PAYLOAD, payload);
    NAME(DUE, due_ms);
    NAME(PRIORITY, priority);
    NAME(ATTEMPTS, attempts);
    NAME(BACKOFF, backoff);
    NAME(LEASE, lease_ms);
    NAME(RETAIN, retain_ms);
    NAME(EXPIRE, expire_ms);
    NAME(HOLD, key_hold_ms);
    NAME(LABELS, labels);
    NAME(NOTIFY, notify);
    NAME(GATES, passing);
}

static bool spec_same(const struct model_spec *a, const struct model_spec *b)
{
    return a->payload == b->payload && a->priority == b->priority && a->attempts == b->attempts &&
           a->backoff == b->backoff && a->lease_ms == b->lease_ms && a->retain_ms == b->retain_ms &&
           a->expire_ms == b->expire_ms && a->key_hold_ms == b->key_hold_ms &&
           a->labels == b->labels && a->notify == b->notify && a->passing == b->passing;
}

/* Whether the job can be changed so: 0, or an error. */
static int edit_check(const struct model *m, const struct model_job *job, bool redrive)
{
    if (!job)
        return BELFRY_NOTFOUND;
    if (redrive)
        return job->state != JOB_DEAD ? BELFRY_STATE : model_rival(m, job) ? BELFRY_KEYEXISTS : 0;
    return job->state == JOB_SCHEDULED || job->state == JOB_READY || job->state == JOB_WAITING
               ? 0
               : BELFRY_STATE;
}

int model_edit(struct model *m, struct job_id id, const struct model_spec *s, bool redrive)
{
    struct model_job *job = model_seek(m, id);
    int err = edit_check(m, job, redrive);
    if (err)
        return err;
    struct model_spec old = model_spec_of(job);
    if (!redrive && s->due_ms < 0 && spec_same(&old, s))
        return 0;
    job->payload = s->payload;
    job->priority = s->priority;
    job->attempts = s->attempts;
    job->backoff = s->backoff;
    job->lease_ms = s->lease_ms;
    job->retain_ms = s->retain_ms;
    job->expire_ms = s->expire_ms;
    job->key_hold_ms = s->key_hold_ms;
    job->labels = s->labels;
    job->notify = s->notify;
    job->passing = s->passing;
    model_changed(m, job);
    int64_t due = s->due_ms;
    if (redrive) {
        cover_event(EVENT_EDITED_DEAD);
        job->held = false;
        job->hold_ms = 0;
        job->attempt = job->stalls = 0;
        job->deferred_ms = -1;
        due = due < 0 ? m->now_ms : due;
        model_again(m, job, due, model_at_of(m, job->order, due));
        model_after_revived(m, job);
        model_fire(m);
        return 0;
    }
    cover_event(job->state == JOB_WAITING ? EVENT_EDITED_WAITING : EVENT_EDITED);
    if (due < 0 && job->deferred_ms >= 0 && (!job->notify || job->passing))
        due = job->due_ms; /* quiet hours have no say any more */
    if (due >= 0)
        return model_reschedule(m, id, due);
    model_lose_turn(m, job->queue);
    if (job->state != JOB_WAITING) {
        job->at_ms = model_at_of(m, job->order, job->at_ms);
        job->state = JOB_SCHEDULED; /* also if the clock was set back */
        job->ahead = false;
    }
    model_fire(m);
    return 0;
}
