/* SPDX-License-Identifier: MIT */
/* Looking at queues, tenants and the engine's figures without changing anything. */
#include <stdlib.h>

#include "engine/place/queue.h"
#include "engine/work/work.h"

static void queue_view_of(const struct engine *e, const struct queue *q, struct queue_view *ret)
{
    static const struct hist none;

    *ret = (struct queue_view){
        .name = queue_name(q),
        .settings = &q->settings,
        .waiters = q->post.waiters,
        .hold = queue_hold(e, q, false),
        .counters = &q->counters,
        .lateness = q->gauges.lateness ? q->gauges.lateness : &none,
        .runtime = q->gauges.runtime ? q->gauges.runtime : &none,
        .wait = q->gauges.wait ? q->gauges.wait : &none,
    };
    memcpy(ret->jobs, q->jobs, sizeof(ret->jobs));
    for (int i = 0; i < COLD_SLOTS; i++)
        ret->jobs[cold_state((enum cold_slot)i)] += (uint64_t)q->cold[i];
}

int engine_queue_get(const struct engine *e, struct str name, struct queue_view *ret)
{
    const struct queue *q = queue_find(e, name);

    if (!q)
        return BELFRY_NOTFOUND;
    queue_view_of(e, q, ret);
    return 0;
}

int engine_queues(const struct engine *e, struct str tenant, struct str after, size_t limit,
                  int (*fn)(void *arg, const struct queue_view *v), void *arg)
{
    const struct named **all = malloc((e->place.queue_total + 1) * sizeof(*all));
    size_t n = 0;
    int answer = 0;

    if (!all)
        return BELFRY_NOMEM;
    for (const struct queue *q = NULL; (q = queue_next(e, q));)
        if (!q->hidden && queue_is_of(q, tenant) && str_compare(queue_name(q), after) > 0)
            all[n++] = &q->by_name;
    named_sort(all, n);
    for (size_t i = 0; i < n && i < limit && answer == 0; i++) {
        struct queue_view v;

        queue_view_of(e, container_of(all[i], const struct queue, by_name), &v);
        answer = fn(arg, &v);
    }
    free(all);
    return answer;
}

static void tenant_view_of(const struct engine *e, struct tenant *t, struct tenant_view *ret)
{
    *ret = (struct tenant_view){
        .name = tenant_name(t),
        .settings = &t->settings,
        .pending = (uint64_t)t->pending,
        .running = t->running,
        .queues = t->queue_total,
        .quiet_until_ms = tenant_quiet_until(e, t),
    };
}

int engine_tenant_get(const struct engine *e, struct str name, struct tenant_view *ret)
{
    struct tenant *t = tenant_find(e, name);

    if (!t)
        return BELFRY_NOTFOUND;
    tenant_view_of(e, t, ret);
    return 0;
}

int engine_tenants(const struct engine *e, struct str after, size_t limit,
                   int (*fn)(void *arg, const struct tenant_view *v), void *arg)
{
    const struct named **all = malloc((e->place.tenant_total + 1) * sizeof(*all));
    size_t n = 0;
    int answer = 0;

    if (!all)
        return BELFRY_NOMEM;
    list_each_of (struct tenant, t, &e->place.tenant_list, link)
        if (str_compare(tenant_name(t), after) > 0)
            all[n++] = &t->by_name;
    named_sort(all, n);
    for (size_t i = 0; i < n && i < limit && answer == 0; i++) {
        struct tenant_view v;

        tenant_view_of(e, container_of(all[i], struct tenant, by_name), &v);
        answer = fn(arg, &v);
    }
    free(all);
    return answer;
}

void engine_tenant_stats(const struct engine *e, struct str tenant, struct tenant_stats *ret)
{
    const struct tenant *t = tenant_find(e, tenant);

    *ret = (struct tenant_stats){ 0 };
    if (!t)
        return;
    list_each_of (const struct queue, q, &t->queues, of_tenant) {
        struct queue_view v;

        if (q->hidden)
            continue;
        queue_view_of(e, q, &v);
        ret->queues++;
        ret->waiters += v.waiters;
        for (int i = 0; i < JOB_STATE_COUNT; i++)
            ret->jobs[i] += v.jobs[i];
#define ADD(name, help) ret->counters.name += v.counters->name;
        ENGINE_COUNTERS(ADD)
#undef ADD
        hist_merge(&ret->lateness, v.lateness);
        hist_merge(&ret->runtime, v.runtime);
        hist_merge(&ret->wait, v.wait);
    }
}

void engine_stats(const struct engine *e, struct engine_stats *ret)
{
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
    ret->memory_bytes = engine_memory(e);
    ret->live_bytes = e->place.live_bytes;
    ret->untold = list_length(&e->place.telling);
    ret->counters = e->counters;
    ret->lateness = &e->work.lateness;
    ret->runtime = &e->work.runtime;
    ret->wait = &e->work.wait;
}
