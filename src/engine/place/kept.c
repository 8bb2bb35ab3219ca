/* SPDX-License-Identifier: MIT */
/*
 * The bytes that are kept of a tenant: those of its jobs, ended ones too, and of its recurrences,
 * in memory and on disk. The bytes of a job follow from its image (image_bytes), so a job that goes
 * to disk or comes back leaves the sum as it is. The engine's other books are not a tenant's:
 * bulks, and the audit log.
 */
#include "engine/place/queue.h"

#include "record/image.h"

static bool kept_counts(const struct queue *q)
{
    return q->hidden == HIDDEN_NONE || q->hidden == HIDDEN_RECURRENCE;
}

void kept_add(struct engine *e, struct queue *q, int64_t bytes)
{
    if (!kept_counts(q))
        return;
    q->tenant->kept_bytes += bytes;
    e->place.kept_bytes += bytes;
}

/* What the jobs of a queue on disk count for. If an older version has counted some of them, their
 * bytes are a guess, and exact figures are taken from it: then each job has its least at least. In
 * replay the number may be anything, until a record says all counts of the queue. */
static int64_t cold_part(const struct queue *q, int64_t jobs)
{
    int64_t least = jobs * (int64_t)JOB_KEPT_BYTES;

    return jobs > 0 && q->cold_bytes < least ? least : q->cold_bytes;
}

void kept_add_cold(struct engine *e, struct queue *q, int64_t bytes)
{
    int64_t jobs = 0, before = q->cold_kept;

    for (int i = 0; i < COLD_SLOTS; i++)
        jobs += q->cold[i];
    q->cold_bytes = jobs == 0 ? 0 : q->cold_bytes + bytes; /* a guess ends with the last job */
    q->cold_kept = cold_part(q, jobs);
    kept_add(e, q, q->cold_kept - before);
}

int64_t kept_most(const struct engine *e, const struct tenant *t)
{
    int64_t own = t ? t->settings.max_bytes : 0;

    return own > 0 ? own : e->o.tenant_bytes > 0 ? (int64_t)e->o.tenant_bytes : INT64_MAX;
}
