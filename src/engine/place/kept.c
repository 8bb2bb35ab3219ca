/* SPDX-License-Identifier: MIT */
/*
 * The bytes that are kept of a tenant: those of its jobs, ended ones too, and of its recurrences,
 * in memory and on disk. The bytes of a job follow from its image (image_bytes), so a job that goes
 * to disk or comes back leaves the sum as it is. The engine's other books are not a tenant's:
 * bulks, and the audit log.
 *
 *     0                    3/4      7/8      1     of max_bytes
 *     |---------------------|--------|-------|
 *       history is dropped to here   |       new jobs are refused
 *                                    history gives way
 *
 * Done, cancelled and expired jobs give way to new ones, oldest first: those on disk by merges
 * (engine_cut), then those in memory. Dead jobs, and jobs whose key is held, are kept.
 */
#include "engine/cold.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"

#include "record/image.h"
#include "record/name.h"

#define GREEDY_LOOKS 64 /* tenants that are looked at in a slice */

static bool kept_counts(const struct queue *q)
{
    return q->hidden == HIDDEN_NONE || q->hidden == HIDDEN_RECURRENCE;
}

void kept_add(struct engine *e, struct queue *q, int64_t bytes)
{
    if (!kept_counts(q))
        return;
    q->tenant->kept_bytes += bytes;
    e->place.kept.bytes += bytes;
    kept_settle(e, q->tenant);
}

void kept_settle(struct engine *e, struct tenant *t)
{
    int64_t most = kept_most(e, t);

    if (most == INT64_MAX || t->kept_bytes <= most - most / 8)
        list_remove(&t->greedy);
    else if (list_empty(&t->greedy))
        list_append(&e->place.kept.greedy, &t->greedy);
}

/* The bytes that the jobs of a queue on disk count for. An older version counted jobs without their
 * bytes, so those are a guess (COLD_GUESS). When such a job leaves, its exact bytes are subtracted,
 * and the sum may become too small. So each job counts for JOB_KEPT_BYTES at least. In replay
 * `jobs` may be any number, until a TALLY record sets all counts of the queue. */
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

/* ---- History gives way ---- */

/* Whether a run may have history of a tenant: its keys are in the order of queues' full names. */
static bool run_may_have(const struct cold_run *r, struct str tenant)
{
    char prefix[1 + QUEUE_MAX_BYTES + 1];
    size_t len = 0;

    if (str_eq(tenant, STR(TENANT_DEFAULT)))
        return true; /* its names have no prefix */
    prefix[len++] = FAMILY_PAST;
    memcpy(prefix + len, tenant.ptr, tenant.len);
    len += tenant.len;
    prefix[len++] = '@';
    return str_compare(r->d.last, (struct str){ prefix, len }) > 0 &&
           memcmp(r->d.first.ptr, prefix, r->d.first.len < len ? r->d.first.len : len) <= 0;
}

struct cold_run *kept_run(struct engine *e, const struct tenant *t)
{
    struct cold_run *oldest = NULL;

    list_each_of (struct cold_run, r, &e->cold.runs, link)
        if (r->d.family == FAMILY_PAST && r->d.number > t->cut_number && !r->unreadable &&
            !r->d.broken && (!oldest || r->d.number < oldest->d.number) &&
            run_may_have(r, tenant_name(t)))
            oldest = r;
    return oldest;
}

/* The next queue of the tenant in turn that has history in memory. */
static struct queue *queue_with_past(struct tenant *t, int *budget)
{
    for (; *budget > 0; --*budget) {
        struct queue *q = container_of(t->queues.next, struct queue, of_tenant);

        list_move(&t->queues, &q->of_tenant);
        if (!q->hidden && !list_empty(&q->past))
            return q;
    }
    return NULL;
}

void kept_trim(struct engine *e, int *budget)
{
    struct queue *q;

    if (e->place.batch.active) /* it has some of them */
        return;
    for (int i = 0; i<GREEDY_LOOKS && * budget> 0 && !list_empty(&e->place.kept.greedy); i++) {
        struct tenant *t = container_of(e->place.kept.greedy.next, struct tenant, greedy);

        list_move(&e->place.kept.greedy, &t->greedy);
        if (t->past_bytes == 0 || kept_run(e, t))
            continue;
        while (!list_empty(&t->greedy) && t->past_bytes > 0 && (q = queue_with_past(t, budget))) {
            COUNT(e, q, history_dropped);
            job_leave(e, container_of(q->past.next, struct trail, link)->job);
            --*budget;
        }
    }
}
