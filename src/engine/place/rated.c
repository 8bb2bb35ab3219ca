/* SPDX-License-Identifier: MIT */
/*
 * What the rates of queues and tenants have counted, over restarts, too.
 *
 * The record of the settings has the log of the rate, and each LEASE record names its queue if a
 * rate counts it. So the log is that of the newest settings record, and the leases behind it. The
 * settings are copied forward before their segment goes, so these leases are all there. The answer
 * to such a LEASE waits for its record (emit_lease): a crash leaves no job uncounted.
 */
#include "engine/place/queue.h"
#include "record/name.h"

size_t rated_bytes(const struct rated *x)
{
    return x->log ? pool_size(sizeof(*x->log)) : 0;
}

int rated_settle(struct engine *e, struct rated *x, const struct rate *r)
{
    if (r->count == 0) {
        rated_fini(e, x);
        return 0;
    }
    if (!x->log && (x->log = pool_alloc(&e->place.known.pool, sizeof(*x->log))))
        x->log->total = x->log->parts = 0;
    return x->log ? 0 : BELFRY_NOMEM;
}

void rated_fini(struct engine *e, struct rated *x)
{
    wheel_remove(&x->timer);
    pool_free(&e->place.known.pool, x->log, sizeof(*x->log));
    x->log = NULL;
}

void rated_take(const struct engine *e, struct str name, int64_t wall_ms)
{
    const struct queue *q = queue_find(e, name);
    struct str tenant, kind;
    const struct tenant *t;
    int64_t at_ms = e->started ? e->mono_ms : wall_ms;

    scope_split(name, &tenant, &kind);
    t = tenant_find(e, tenant);
    if (q && q->rated.log)
        rate_count(q->rated.log, &q->settings->rate, at_ms);
    if (t && t->rated.log)
        rate_count(t->rated.log, &t->settings.rate, at_ms);
}

void rated_taken(const struct engine *e, const struct rated *x, const struct rate *r,
                 struct rate_log *ret)
{
    ret->total = ret->parts = 0;
    if (!x->log || MUTANT(e->o.mutant, RATE_UNCOPIED))
        return;
    *ret = *x->log;
    rate_shift(ret, r, e->mono_ms, e->now_ms);
}

/* The clock of the log of a start is the monotonic one. */
static void rated_begin(const struct engine *e, const struct rated *x, const struct rate *r)
{
    if (x->log)
        rate_shift(x->log, r, e->now_ms, e->mono_ms);
    if (x->log && MUTANT(e->o.mutant, RATE_FORGOTTEN))
        x->log->total = x->log->parts = 0;
}

void rates_begin(struct engine *e)
{
    list_each_of (const struct queue, q, &e->place.queues, link)
        rated_begin(e, &q->rated, &q->settings->rate);
    list_each_of (const struct tenant, t, &e->place.tenant_list, link)
        rated_begin(e, &t->rated, &t->settings.rate);
}
