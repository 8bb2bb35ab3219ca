/* SPDX-License-Identifier: MIT */
/* Giving out ready jobs: at once, or to those who wait. */
#include "engine/internal.h"

#include <stdlib.h>

#include "base/time.h"

struct taker {
    int64_t for_ms;
    struct str worker;
};

static uint64_t new_token(struct engine *e)
{
    if (MUTANT(e->o.mutant, REISSUED_TOKEN))
        return ++e->next_token;
    return e->o.epoch << TOKEN_COUNTER | ++e->next_token;
}

static void count_lateness(struct engine *e, struct queue *q, int64_t late_ms)
{
    if (!q->lateness)
        q->lateness = calloc(1, sizeof(*q->lateness));
    if (!q->runtime)
        q->runtime = calloc(1, sizeof(*q->runtime));
    if (q->lateness) /* a figure may be missing when memory is short; jobs go on */
        hist_add(q->lateness, late_ms);
    hist_add(&e->lateness, late_ms);
}

static int lease_one(struct engine *e, struct job *j, const struct taker *t)
{
    struct job_opts o;
    struct lease_record r;
    int err;

    if (e->next_token + 1 >= UINT64_C(1) << TOKEN_COUNTER)
        return engine_error(e, BELFRY_FULL, "the tokens of this epoch are used up: restart");
    job_opts_get(j, &o);
    r = (struct lease_record){
        .seq = j->seq,
        .start_ms = e->now_ms,
        .lease_ms = t->for_ms >= 0    ? t->for_ms
                    : o.lease_ms >= 0 ? o.lease_ms
                                      : j->queue->settings.lease_ms,
        .late_ms = e->now_ms - j->timer.at_ms,
        .attempt = j->attempt + (j->attempt < ATTEMPT_MAX ? 1u : 0u),
        .worker = t->worker,
    };
    r.until_ms = e->now_ms + r.lease_ms;
    r.token = new_token(e);
    err = emit_lease(e, &r);
    if (!err) {
        count_lateness(e, j->queue, r.late_ms);
        COUNT(e, j->queue, picked);
    }
    return err;
}

/* The best job among some queues. */
static struct job *best_of(const struct engine *e, struct queue *const *queues, size_t n)
{
    struct job *best = NULL;
    int64_t best_rank = 0;

    for (size_t i = 0; i < n; i++) {
        struct job *j;
        int64_t rank;

        if (!queues[i] || (queues[i]->settings.paused && !MUTANT(e->o.mutant, PAUSE_IGNORED)))
            continue;
        j = queue_head(queues[i], &rank);
        if (j && (!best || rank < best_rank)) {
            best = j;
            best_rank = rank;
        }
    }
    return best;
}

static size_t lease_some(struct engine *e, struct queue *const *queues, size_t n, size_t count,
                         const struct taker *t, struct job **ret)
{
    size_t taken = 0;
    size_t bytes = 0;

    /* What is leased must stay in memory, so there is an end to it. */
    while (taken < count && bytes < LEASE_BYTES_MAX &&
           e->bytes[WHERE_LEASED] < e->o.memory_bytes / 2) {
        struct job *j = best_of(e, queues, n);

        if (!j || lease_one(e, j, t) < 0)
            break;
        bytes += j->payload_len;
        ret[taken++] = j;
    }
    return taken;
}

int engine_lease(struct engine *e, const struct lease_request *r, struct job **ret_jobs)
{
    struct queue *queues[LEASE_QUEUES_MAX];
    struct taker t = { r->for_ms, r->worker };

    for (size_t i = 0; i < r->queue_count; i++)
        queues[i] = queue_find(e, r->queues[i]);
    return (int)lease_some(e, queues, r->queue_count, r->count, &t, ret_jobs);
}

static void waiter_free(struct engine *e, struct waiter *w)
{
    wheel_remove(&w->timer);
    for (size_t i = 0; i < w->queue_count; i++) {
        struct wait_link *l = &w->links[i];

        if (l->queue) {
            list_remove(&l->link);
            l->queue->waiters--;
            queue_settle(e, l->queue);
        }
    }
    blob_free(&e->pool, w->worker);
    free(w);
    e->waiters--;
}

int engine_wait(struct engine *e, const struct lease_request *r, int64_t wait_ms, void *owner,
                struct waiter **ret)
{
    struct waiter *w = calloc(1, sizeof(*w) + r->queue_count * sizeof(w->links[0]));

    if (!w)
        return engine_plain(e, BELFRY_NOMEM);
    w->timer.at_ms = e->mono_ms + wait_ms;
    w->owner = owner;
    w->count = r->count;
    w->for_ms = r->for_ms;
    w->queue_count = r->queue_count;
    e->waiters++;
    wheel_add(&e->waits, &w->timer);
    if (!blob_set(&e->pool, &w->worker, r->worker))
        goto nomem;
    for (size_t i = 0; i < r->queue_count; i++) {
        struct queue *q = queue_obtain(e, r->queues[i]);

        if (!q)
            goto nomem;
        w->links[i].queue = q;
        w->links[i].waiter = w;
        list_append(&q->waits, &w->links[i].link);
        q->waiters++;
        queue_settle(e, q);
        if (queue_has_work(q))
            queue_offer(e, q);
    }
    *ret = w;
    return 0;
nomem:
    waiter_free(e, w);
    return engine_plain(e, BELFRY_NOMEM);
}

void engine_wait_cancel(struct engine *e, struct waiter *w)
{
    waiter_free(e, w);
}

void waiter_timeout(struct engine *e, struct waiter *w)
{
    void *owner = w->owner;

    waiter_free(e, w);
    e->o.deliver(e->o.host, owner, NULL, 0);
}

void waiters_free(struct engine *e)
{
    struct timer *t;

    while ((t = wheel_pop(&e->waits, INT64_MAX)))
        waiter_free(e, container_of(t, struct waiter, timer));
}

/* False if there was nothing to give. */
static bool serve(struct engine *e, struct waiter *w)
{
    struct queue *queues[LEASE_QUEUES_MAX];
    struct job *jobs[LEASE_COUNT_MAX];
    struct taker t = { w->for_ms, blob_str(w->worker) };
    void *owner = w->owner;
    size_t n;

    for (size_t i = 0; i < w->queue_count; i++)
        queues[i] = w->links[i].queue;
    n = lease_some(e, queues, w->queue_count, w->count, &t, jobs);
    if (n == 0)
        return false;
    waiter_free(e, w);
    e->o.deliver(e->o.host, owner, jobs, n);
    return true;
}

void engine_dispatch(struct engine *e)
{
    while (!list_empty(&e->dispatch)) {
        struct queue *q = container_of(e->dispatch.next, struct queue, dispatch);

        list_remove(&q->dispatch);
        while (queue_has_work(q) && !list_empty(&q->waits)) {
            struct wait_link *l = container_of(q->waits.next, struct wait_link, link);

            if (!serve(e, l->waiter)) { /* out of memory: again at the next call */
                list_append(&e->dispatch, &q->dispatch);
                return;
            }
        }
    }
}
