/* SPDX-License-Identifier: MIT */
/* Looking at queues, tenants and the engine's figures without changing anything. */

#include "engine/audit.h"
#include "engine/leased.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "engine/views/look.h"
#include "engine/work/work.h"

static const struct hist none;

static const struct hist *hist_or_none(const struct hist *h)
{
    return h ? h : &none;
}

static void queue_view_of(const struct engine *e, const struct queue *q, struct queue_view *ret)
{
    *ret = (struct queue_view){
        .name = queue_name(q),
        .settings = q->settings,
        .waiters = q->post.waiters,
        .hold = queue_hold(e, q, false),
        .counters = &q->counters,
        .lateness = hist_or_none(q->gauges.lateness),
        .runtime = hist_or_none(q->gauges.runtime),
        .wait = hist_or_none(q->gauges.wait),
        .oldest_ms = -1,
        .success_ms = q->gauges.success_ms,
    };
    memcpy(ret->jobs, q->jobs, sizeof(ret->jobs));
    for (int i = 0; i < COLD_SLOTS; i++)
        ret->jobs[cold_state((enum cold_slot)i)] += (uint64_t)q->cold[i];
    if (ret->jobs[JOB_READY] > 0)
        ret->oldest_ms = queue_oldest_ms(q);
    ret->asked_ms = queue_asked_ms(e, q);
}

int engine_queue_get(const struct engine *e, struct str name, struct queue_view *ret)
{
    const struct queue *q = queue_find(e, name);

    if (!q)
        return BELFRY_NOTFOUND;
    queue_view_of(e, q, ret);
    return 0;
}

/* A walk over queues, or over tenants, up to a limit. */
struct view_walk {
    const struct engine *e;
    bool all; /* queues of all tenants: the nodes are others than those of one tenant */
    size_t left;
    int (*queue)(void *arg, const struct queue_view *v);
    int (*tenant)(void *arg, const struct tenant_view *v);
    void *arg;
};

static int visit_queue(void *arg, struct tree_node *n)
{
    struct view_walk *w = arg;
    struct queue_view v;

    if (w->left-- == 0)
        return 1;
    queue_view_of(w->e,
                  w->all ? container_of(n, const struct queue, sorted[0])
                         : container_of(n, const struct queue, sorted[1]),
                  &v);
    return w->queue(w->arg, &v);
}

int engine_queues(const struct engine *e, struct str tenant, struct str after, size_t limit,
                  int (*fn)(void *arg, const struct queue_view *v), void *arg)
{
    bool all = str_eq(tenant, STR(TENANT_ALL));
    const struct tenant *t = all ? NULL : tenant_find(e, tenant);
    struct view_walk w = { .e = e, .all = all, .left = limit, .queue = fn, .arg = arg };
    int answer = 0;

    if (all || t)
        answer =
            tree_walk(all ? &e->place.known.queues : &t->sorted_queues, after, visit_queue, &w);
    return answer < 0 ? answer : 0;
}

static void tenant_view_of(const struct engine *e, struct tenant *t, struct tenant_view *ret)
{
    *ret = (struct tenant_view){
        .name = tenant_name(t),
        .settings = &t->settings,
        .pending = (uint64_t)t->pending,
        .running = t->running,
        .leased_bytes = t->leased_bytes,
        .queue_bytes = standing_bytes(t),
        .queue_share = standing_share(e, t),
        .kept_bytes = (uint64_t)t->kept_bytes,
        .queues = t->queue_total,
        .used_queues = t->uses[QUEUE_USED],
        .recurrences = tenant_recurrences(e, tenant_name(t)),
        .quiet_until_ms = tenant_quiet_until(e, t),
        .shut = tenant_is_shut(e, t),
        .shut_until_ms = -1,
    };
    if (ret->shut && t->settings.maintenance_until_ms > 0)
        ret->shut_until_ms = t->settings.maintenance_until_ms;
}

int engine_tenant_get(const struct engine *e, struct str name, struct tenant_view *ret)
{
    struct tenant *t = tenant_find(e, name);

    if (!t)
        return BELFRY_NOTFOUND;
    tenant_view_of(e, t, ret);
    return 0;
}

static int visit_tenant(void *arg, struct tree_node *n)
{
    struct view_walk *w = arg;
    struct tenant_view v;

    if (w->left-- == 0)
        return 1;
    tenant_view_of(w->e, container_of(n, struct tenant, sorted), &v);
    return w->tenant(w->arg, &v);
}

int engine_tenants(const struct engine *e, struct str after, size_t limit,
                   int (*fn)(void *arg, const struct tenant_view *v), void *arg)
{
    struct view_walk w = { .e = e, .left = limit, .tenant = fn, .arg = arg };
    int answer = tree_walk(&e->place.known.tenants, after, visit_tenant, &w);

    return answer < 0 ? answer : 0;
}

void engine_tenant_stats(const struct engine *e, struct str tenant, struct tenant_stats *ret)
{
    const struct tenant *t = tenant_find(e, tenant);
    struct sums empty = { 0 };
    const struct sums *s = t ? &t->sums : &empty;

    *ret = (struct tenant_stats){
        .queues = t ? t->queue_total : 0,
        .waiters = s->waiters,
        .kept_bytes = t ? (uint64_t)t->kept_bytes : 0,
        .counters = s->counters,
        .lateness = hist_or_none(s->gauges.lateness),
        .runtime = hist_or_none(s->gauges.runtime),
        .wait = hist_or_none(s->gauges.wait),
    };
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        ret->jobs[i] = (uint64_t)s->jobs[i];
}

void engine_leased(const struct engine *e, struct leased_view *ret)
{
    const struct leases *l = &e->place.leases;

    *ret = (struct leased_view){
        .bytes = e->place.bytes[WHERE_LEASED],
        .holds = l->holds,
        .full = leases_fill_memory(e),
    };
    const struct list *waiting = list_empty(&l->laden) ? &l->capped : &l->laden;
    if (list_empty(waiting))
        return;
    const struct tenant *t = container_of(waiting->prev, const struct tenant, laden);
    ret->tenant = tenant_name(t);
    ret->tenant_bytes = t->leased_bytes;
    ret->share_bytes = leased_share(e, t);
    ret->capped = leased_is_capped(e, t);
}

void engine_stats(const struct engine *e, struct engine_stats *ret)
{
    uint64_t on_disk;

    memcpy(ret->jobs, e->place.states, sizeof(ret->jobs));
    ret->cold_jobs = 0;
    for (int i = 0; i < COLD_SLOTS; i++) {
        uint64_t n = (uint64_t)(e->cold.counts[i] - e->cold.hidden_counts[i]);

        ret->jobs[cold_state((enum cold_slot)i)] += n;
        ret->cold_jobs += n;
    }
    ret->hot_jobs = e->place.jobs.count - e->place.hidden_jobs;
    ret->runs = ret->run_bytes = 0;
    list_each_of (const struct cold_run, r, &e->cold.runs, link) {
        ret->runs++;
        ret->run_bytes += r->d.bytes;
    }
    ret->queues = e->place.queue_total - e->place.hidden_total;
    ret->tenants = e->place.tenant_total;
    ret->waiters = e->work.waiters;
    ret->awaits = e->work.awaits;
    ret->memory_bytes = engine_memory(e);
    ret->live_bytes = e->place.live_bytes;
    ret->kept_bytes = (uint64_t)e->place.kept.bytes;
    ret->kept_refusals = e->place.kept.refusals;
    ret->leased_bytes = e->place.bytes[WHERE_LEASED];
    ret->laden = e->place.leases.waiting;
    ret->leased_holds = e->place.leases.holds;
    ret->untold = e->place.untold;
    ret->queues_forgotten = e->place.known.queues_forgotten;
    ret->audit_entries = engine_audit_count(e, &on_disk);
    ret->audit_dropped = e->tasks.audit_dropped;
    ret->tenants_forgotten = e->place.known.tenants_forgotten;
    ret->counters = e->counters;
    ret->lateness = &e->work.lateness;
    ret->runtime = &e->work.runtime;
    ret->wait = &e->work.wait;
}
