/* SPDX-License-Identifier: MIT */
/* The limits of tenants for new jobs. turn.c has the limits for giving out jobs. */
#include "engine/work/work.h"

#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/name.h"
#include "record/opts.h"

struct tenant *tenant_of(const struct engine *e, const struct queue *q, struct str full)
{
    struct str tenant, queue;

    if (q)
        return q->tenant;
    scope_split(full, &tenant, &queue);
    return tenant_find(e, tenant);
}

static int refuse_queues(struct engine *e, const struct tenant *t, const char *why)
{
    return engine_error(e, BELFRY_LIMIT, "max_queues of %.*s is %lld%s", STR_ARG(tenant_name(t)),
                        (long long)t->settings.max_queues, why);
}

/* LIMIT if the tenant has its share of memory for queues and waiting requests. The tenant may
 * be NULL.
 */
static int refuse_standing(struct engine *e, const struct tenant *t)
{
    if (!t || !standing_is_full(e, t))
        return 0;
    return engine_error(
        e, BELFRY_LIMIT,
        "queues and waiting requests of %.*s take %llu bytes of memory, and its share "
        "is %llu",
        STR_ARG(tenant_name(t)), (unsigned long long)standing_bytes(t),
        (unsigned long long)standing_share(e, t));
}

/* The queue is not there yet, or counts for nothing. */
static bool is_new(const struct queue *q)
{
    return !q || q->use == QUEUE_IDLE;
}

int tenant_refuses_queue(struct engine *e, const struct queue *q, struct str full)
{
    const struct tenant *t = tenant_of(e, q, full);
    uint64_t others = t ? t->uses[QUEUE_USED] + (uint64_t)t->promised_queues : 0;

    if (!t || (q && q->use == QUEUE_USED))
        return 0;
    if (t->settings.max_queues > 0 && others >= (uint64_t)t->settings.max_queues)
        return refuse_queues(e, t, "");
    return is_new(q) ? refuse_standing(e, t) : 0;
}

int tenant_refuses_wait(struct engine *e, struct str full)
{
    const struct queue *q = queue_find(e, full);
    const struct tenant *t = tenant_of(e, q, full);

    if (!t || (q && q->use >= QUEUE_WAITED))
        return 0;
    if (t->settings.max_queues > 0 && t->uses[QUEUE_WAITED] >= (uint64_t)t->settings.max_queues)
        return refuse_queues(e, t, ", and workers wait at as many that have no jobs");
    return is_new(q) ? refuse_standing(e, t) : 0;
}

int tenant_refuses_waiter(struct engine *e, const struct tenant *t)
{
    return refuse_standing(e, t);
}

int tenant_refuses_class(struct engine *e, const struct queue *q, const struct job_spec *s)
{
    unsigned index = s->order.len > 0 ? INDEX_ORDERED
                     : s->passing     ? INDEX_PASSING
                                      : (unsigned)s->priority - 1;

    return is_new(q) || q->classes[index] ? 0 : refuse_standing(e, q->tenant);
}

int tenant_refuses_job(struct engine *e, const struct tenant *t)
{
    if (t && t->settings.max_pending > 0 && t->pending + t->promised >= t->settings.max_pending)
        return engine_error(e, BELFRY_LIMIT, "max_pending of %.*s is %lld", STR_ARG(tenant_name(t)),
                            (long long)t->settings.max_pending);
    return 0;
}

int tenant_refuses(struct engine *e, const struct queue *q, struct str full)
{
    int err = tenant_refuses_job(e, tenant_of(e, q, full));

    return err || (q && q->use == QUEUE_USED) ? err : tenant_refuses_queue(e, q, full);
}

int64_t image_needs(const struct job_image *image)
{
    struct job_opts o = { 0 };

    if (!opts_are_bare(image->opts))
        job_opts_read(image->opts, image->born_ms, &o);
    return (int64_t)image_bytes(image) + (o.expire_ms > 0 ? (int64_t)TRAIL_KEPT_BYTES : 0);
}

int64_t replace_needs(const struct job *j, struct str payload)
{
    int64_t before =
        j->state == JOB_LEASED ? (int64_t)blob_str(j->trail->pending).len : (int64_t)j->payload_len;

    return (int64_t)payload.len - before;
}

int leased_refuses(struct engine *e, const struct job *j, struct str payload)
{
    const struct tenant *t = j->queue->tenant;

    if (replace_needs(j, payload) <= 0 || e->work.checked || !leased_is_full(e, t))
        return 0;
    return engine_error(e, BELFRY_LIMIT,
                        "leased jobs of the tenant take %llu bytes of memory, as many as they may, "
                        "and the replacement of a leased job would take more",
                        (unsigned long long)t->leased_bytes);
}

int tenant_refuses_bytes(struct engine *e, const struct tenant *t, int64_t needs)
{
    int64_t most = kept_most(e, t), kept = t ? t->kept_bytes + t->promised_bytes : 0;

    if (needs <= 0 || most == INT64_MAX || e->work.checked || needs <= most - kept ||
        MUTANT(e->o.mutant, BYTES_IGNORED))
        return 0;
    e->place.kept.refusals++;
    if (t && t->settings.max_bytes > 0)
        return engine_error(e, BELFRY_LIMIT,
                            "max_bytes of %.*s is %lld: %lld are kept, and the job takes %lld more",
                            STR_ARG(tenant_name(t)), (long long)most, (long long)kept,
                            (long long)needs);
    return engine_error(e, BELFRY_LIMIT,
                        "tenant_bytes of the server is %lld: %lld of the tenant are kept, and the "
                        "job takes %lld more",
                        (long long)most, (long long)kept, (long long)needs);
}
