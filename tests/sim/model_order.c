/* SPDX-License-Identifier: MIT */
/* What is promised of ordering keys. */
#include "sim/model_job.h"

static bool same_lane(const struct model_job *a, const struct model_job *b)
{
    return a->order && a->order == b->order && a->queue == b->queue;
}

static bool due_before(const struct model_job *a, const struct model_job *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->id.seq < b->id.seq;
}

const struct model_job *model_ahead(const struct model *m, const struct model_job *job)
{
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *other = &m->jobs[i];
        if (other == job || !same_lane(job, other) || model_ended(other))
            continue;
        if (other->state == JOB_LEASED || other->holding)
            return other;
        if (other->state == JOB_READY && !job->holding && due_before(other, job))
            return other;
    }
    return NULL;
}

bool model_can_go(const struct model *m, const struct model_job *job)
{
    return job->state == JOB_READY && !model_ahead(m, job);
}

/* One with an ordering key is ready while it is due, and not if it was once. */
void model_rewind(struct model *m)
{
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        if (!job->order || job->holding || job->state != JOB_READY || job->at_ms <= m->now_ms)
            continue;
        job->state = JOB_SCHEDULED;
        job->ahead = false;
        job->moved = m->steps;
    }
}
