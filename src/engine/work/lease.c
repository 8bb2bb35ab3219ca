/* SPDX-License-Identifier: MIT */
/* Giving out ready jobs: at once, or to those who wait. */
#include "engine/work/work.h"

#include <assert.h>

#include "base/time.h"
#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/awaited.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/pushing.h"
#include "engine/place/queue.h"
#include "engine/push.h"
#include "record/name.h"
#include "record/opts.h"
#include "record/record.h"

/* How many jobs one request may pass over: it expires or defers them. After that the request finds
 * nothing, and the next request goes on. Serving parked requests may pass over as many between two
 * calls of engine_advance. After that it gives only jobs that need not be passed over. */
#define PASSED_OVER_MAX 2500
#define LOOKS_MAX       5000 /* queues that serving may look at in vain after that */

struct taker {
    int64_t for_ms;
    struct str worker;
};

static uint64_t new_token(struct engine *e)
{
    if (MUTANT(e->o.mutant, REISSUED_TOKEN))
        return ++e->work.next_token;
    return e->o.epoch << TOKEN_COUNTER | ++e->work.next_token;
}

static void count_lateness(struct engine *e, struct queue *q, int64_t late_ms)
{
    queue_pulse(e, q);
    GAUGE(e, q, lateness, late_ms);
    gauge_add(e, q, &q->gauges.pulse.lateness, &q->tenant->sums.gauges.pulse.lateness, late_ms);
    hist_add(&e->work.lateness, late_ms);
}

/* How long a worker that asks for for_ms (-1: it does not say) has the job. */
static int64_t lease_length(const struct job *j, int64_t for_ms)
{
    const struct queue_settings *s = j->queue->settings;
    struct job_opts o;

    if (queue_pushes(j->queue))
        return s->push.timeout_ms + PUSH_MARGIN_MS;
    if (for_ms >= 0)
        return for_ms;
    if (job_is_bare(j))
        return s->lease_ms;
    job_opts_get(j, &o);
    return o.lease_ms >= 0 ? o.lease_ms : s->lease_ms;
}

static int lease_one(struct engine *e, struct job *j, const struct taker *t)
{
    assert(j->state == JOB_READY && !job_is_waste(e, j));
    if (e->work.next_token + 1 >= UINT64_C(1) << TOKEN_COUNTER)
        return engine_error(e, BELFRY_FULL, "the tokens of this epoch are used up: restart");
    struct lease_record r = {
        .seq = j->seq,
        .start_ms = e->now_ms,
        .lease_ms = lease_length(j, t->for_ms),
        .late_ms = e->now_ms - j->timer.at_ms,
        .attempt = j->attempt + (j->attempt < ATTEMPT_MAX ? 1u : 0u),
        .worker = t->worker,
        .rated = queue_is_rated(j->queue) ? queue_name(j->queue) : (struct str){ 0 },
    };
    /* Maintenance deferred the job if it was ready before that ended. */
    bool deferred = !j->passing && j->timer.at_ms < tenant_reopened_ms(e, j->queue->tenant) &&
                    !MUTANT(e->o.mutant, MAINTENANCE_UNCOUNTED);
    r.until_ms = e->now_ms + r.lease_ms;
    r.token = new_token(e);
    assert(r.until_ms >= r.start_ms);
    int err = emit_lease(e, &r);
    if (!err) {
        count_lateness(e, j->queue, r.late_ms);
        COUNT(e, j->queue, picked);
        COUNT_N(e, j->queue, deferred, deferred);
    }
    return err;
}

/* The ready job of lowest rank, or NULL; in maintenance among those that pass all gates. *ret_rank
 * is set if there is one. */
static struct job *queue_head(const struct engine *e, const struct queue *q, int64_t *ret_rank)
{
    struct job *best = lanes_head(e, q);

    if (best)
        *ret_rank = job_rank(best);
    for (int i = tenant_is_shut(e, q->tenant) ? INDEX_PASSING : 0; i < CLASSES; i++) {
        const struct class *c = q->classes[i];

        if (c && !list_empty(&c->ready)) {
            struct job *j = container_of(c->ready.next, struct job, timer.link);
            int64_t rank = job_rank(j);

            if (!best || rank < *ret_rank) {
                best = j;
                *ret_rank = rank;
            }
        }
    }
    return best;
}

/* The queue of the post whose turn it is, or NULL. */
static struct queue *post_next(struct engine *e, const struct post *p)
{
    if (p->kind)
        return kind_next(e, p->kind);
    /* Queues that push serve no worker. */
    return !queue_pushes(p->queue) && queue_gives(e, p->queue) ? p->queue : NULL;
}

/* The best job among those whose turn it is. */
static struct job *best_of(struct engine *e, struct post *const *posts, size_t n, bool *ret_in_turn)
{
    struct job *best = NULL;
    int64_t best_rank = 0;

    for (size_t i = 0; i < n; i++) {
        struct queue *q = posts[i] ? post_next(e, posts[i]) : NULL;
        int64_t rank = 0;

        if (!q)
            continue;
        struct job *j = queue_head(e, q, &rank);
        if (j && (!best || rank < best_rank)) {
            best = j;
            best_rank = rank;
            *ret_in_turn = posts[i]->kind != NULL;
        }
    }
    return best;
}

/* 0: the job may be given out. 1: the job has expired, or quiet hours put it off. BUSY: the job is
 * to be passed over, but PASSED_OVER_MAX jobs were already. Otherwise an error. */
static int pass_over(struct engine *e, struct job *j, size_t *passed)
{
    bool over = job_is_over(e, j); /* its timer has not been looked at yet */
    int64_t quiet = over ? -1 : job_quiet_until(e, j);

    if (!over && quiet < 0)
        return 0;
    if (*passed >= PASSED_OVER_MAX)
        return BELFRY_BUSY;
    ++*passed;
    int err = over ? job_expire(e, j) : job_defer(e, j, quiet);
    return err ? err : 1;
}

/* A LEASE waited so long for these: counted once, and once for each queue that they are of. */
static void count_wait(struct engine *e, struct job *const *jobs, size_t n, int64_t waited_ms)
{
    if (n == 0)
        return;
    hist_add(&e->work.wait, waited_ms);
    e->work.served++;
    for (size_t i = 0; i < n; i++) {
        struct queue *q = jobs[i]->queue;

        if (q->gauges.served != e->work.served)
            GAUGE(e, q, wait, waited_ms);
        q->gauges.served = e->work.served;
    }
}

/* *passed counts the jobs that were passed over. */
static size_t lease_some(struct engine *e, struct post *const *posts, size_t n, size_t count,
                         const struct taker *t, size_t *passed, struct job **ret)
{
    size_t taken = 0, bytes = 0;
    bool in_turn = false;

    while (taken < count && bytes < LEASE_BYTES_MAX) {
        struct job *j = best_of(e, posts, n, &in_turn);

        if (!j)
            break;
        int over = pass_over(e, j, passed);

        if (over < 0)
            break;
        if (over > 0)
            continue;
        if (lease_one(e, j, t) < 0)
            break;
        queue_took(e, j->queue, in_turn);
        bytes += j->payload_len + j->opts_len;
        ret[taken++] = j;
    }
    return taken;
}

/* The post of a queue, or of the kind that `*@queue` names. NULL: there is none, or if it is to be
 * made, there is no memory. */
static struct post *post_of(struct engine *e, struct str full, bool make)
{
    struct str tenant, name;

    scope_split(full, &tenant, &name);
    if (str_eq(tenant, STR(TENANT_ALL))) {
        struct kind *k = make ? kind_obtain(e, name) : kind_find(e, name);

        return k ? &k->post : NULL;
    }
    struct queue *q = make ? queue_obtain(e, full) : queue_find(e, full);
    return q ? &q->post : NULL;
}

int engine_lease(struct engine *e, const struct lease_request *r, struct job **ret_jobs)
{
    struct post *posts[LEASE_QUEUES_MAX];
    struct taker t = { r->for_ms, r->worker };
    size_t passed = 0;

    assert(r->queue_count <= LEASE_QUEUES_MAX && r->count <= LEASE_COUNT_MAX);
    for (size_t i = 0; i < r->queue_count; i++) {
        posts[i] = post_of(e, r->queues[i], false);
        if (posts[i] && posts[i]->queue)
            queue_ask(e, posts[i]->queue);
        else if (posts[i])
            posts[i]->asked_ms = e->now_ms;
    }
    size_t n = lease_some(e, posts, r->queue_count, r->count, &t, &passed, ret_jobs);
    count_wait(e, ret_jobs, n, 0);
    return (int)n;
}

bool engine_owes(struct engine *e, const struct lease_request *r)
{
    for (size_t i = 0; i < r->queue_count; i++) {
        const struct queue *q = queue_find(e, r->queues[i]);

        if (q && queue_owes(e, q))
            return true;
    }
    return false;
}

int engine_push_lease(struct engine *e, size_t count, struct job **ret_jobs)
{
    struct kind *k = kind_find(e, STR(PUSH_KIND));
    struct post *post = k ? &k->post : NULL;
    struct taker t = { -1, STR("push") };

    return k ? (int)lease_some(e, &post, 1, count, &t, &e->work.round.passed, ret_jobs) : 0;
}

bool lease_round_is_used_up(const struct engine *e)
{
    return e->work.round.passed >= PASSED_OVER_MAX;
}

static size_t waiter_size(size_t links)
{
    return sizeof(struct waiter) + links * sizeof(struct wait_link);
}

static uint64_t waiter_bytes(const struct waiter *w)
{
    return pool_size(waiter_size(w->link_count)) + blob_str(w->worker).len;
}

/* Takes the waiter off its posts. */
static void waiter_leave(struct engine *e, struct waiter *w)
{
    wheel_remove(&w->timer);
    awaited_leave(e, w);
    if (w->tenant)
        standing_count_wait(e, w->tenant, -waiter_bytes(w));
    w->tenant = NULL;
    for (size_t i = 0; i < w->link_count; i++) {
        struct wait_link *l = &w->links[i];

        if (!l->post)
            continue;
        assert(l->waiter == w && l->post->waiters > 0);
        list_remove(&l->link);
        l->post->asked_ms = e->now_ms; /* it asked all the time */
        if (l->post->queue) {
            queue_wait(e, l->post->queue, -1);
        } else {
            l->post->waiters--;
            kind_settle(e, l->post->kind);
        }
        l->post = NULL;
    }
}

static void waiter_free(struct engine *e, struct waiter *w)
{
    waiter_leave(e, w);
    e->work.waiters -= w->link_count > 0;
    e->work.awaits -= w->link_count == 0;
    blob_free(&e->place.known.pool, w->worker);
    pool_free(&e->place.known.pool, w, waiter_size(w->link_count));
}

struct waiter *waiter_new(struct engine *e, size_t links, int64_t until_ms, void *owner)
{
    struct waiter *w = pool_alloc(&e->place.known.pool, waiter_size(links));

    if (!w)
        return NULL;
    memset(w, 0, waiter_size(links));
    list_init(&w->await);
    w->timer.at_ms = until_ms;
    w->since_ms = e->mono_ms;
    w->owner = owner;
    w->link_count = links;
    e->work.waiters += links > 0;
    e->work.awaits += links == 0;
    wheel_add(&e->wheels[WHEEL_WAITS], &w->timer);
    return w;
}

int engine_wait(struct engine *e, const struct lease_request *r, int64_t wait_ms, void *owner,
                struct waiter **ret)
{
    int err = r->queue_count > 0 ? tenant_refuses_waiter(e, tenant_of(e, NULL, r->queues[0])) : 0;
    struct waiter *w;

    if (err)
        return err;
    w = waiter_new(e, r->queue_count, e->mono_ms + wait_ms, owner);
    if (!w)
        return engine_plain(e, BELFRY_NOMEM);
    w->count = r->count;
    w->for_ms = r->for_ms;
    if (!blob_set(&e->place.known.pool, &w->worker, r->worker))
        goto failed;
    for (size_t i = 0; i < r->queue_count; i++) {
        struct post *p = NULL;

        err = tenant_refuses_wait(e, r->queues[i]);
        if (!err)
            p = post_of(e, r->queues[i], true);
        if (!p)
            goto failed;
        w->links[i].post = p;
        w->links[i].waiter = w;
        list_append(&p->waits, &w->links[i].link);
        if (p->queue)
            queue_wait(e, p->queue, 1);
        else
            p->waiters++;
        post_call(e, p);
    }
    w->tenant = w->link_count > 0 ? tenant_of(e, w->links[0].post->queue, r->queues[0]) : NULL;
    if (w->tenant)
        standing_count_wait(e, w->tenant, waiter_bytes(w));
    *ret = w;
    return 0;
failed:
    waiter_free(e, w);
    return err ? err : engine_plain(e, BELFRY_NOMEM);
}

void engine_wait_cancel(struct engine *e, struct waiter *w)
{
    waiter_free(e, w);
}

int waiter_late(struct engine *e, struct waiter *w)
{
    waiter_leave(e, w);
    list_append(&e->work.late, &w->timer.link);
    return w->link_count > 0 ? (int)w->link_count : 1;
}

bool engine_timeout(struct engine *e, void **ret_owner)
{
    struct waiter *w = list_empty(&e->work.late)
                           ? awaits_next(e)
                           : container_of(e->work.late.next, struct waiter, timer.link);

    if (!w)
        return false;
    *ret_owner = w->owner;
    waiter_free(e, w);
    return true;
}

void waiters_free(struct engine *e)
{
    struct timer *t;
    void *owner;

    while (engine_timeout(e, &owner))
        ;
    while ((t = wheel_first(&e->wheels[WHEEL_WAITS])))
        waiter_free(e, container_of(t, struct waiter, timer));
}

/* False: there was no job to give, or only jobs that are to be passed over. */
static bool serve(struct engine *e, struct waiter *w, struct delivery *ret)
{
    struct post *posts[LEASE_QUEUES_MAX];
    struct taker t = { w->for_ms, blob_str(w->worker) };

    assert(w->link_count <= LEASE_QUEUES_MAX && w->count <= LEASE_COUNT_MAX);
    for (size_t i = 0; i < w->link_count; i++)
        posts[i] = w->links[i].post;
    ret->n = lease_some(e, posts, w->link_count, w->count, &t, &e->work.round.passed, ret->jobs);
    if (ret->n == 0) {
        e->work.round.looks += lease_round_is_used_up(e) ? w->link_count : 0;
        return false;
    }
    count_wait(e, ret->jobs, ret->n, e->mono_ms - w->since_ms);
    ret->owner = w->owner;
    waiter_free(e, w);
    return true;
}

/* The post that is served now, or NULL at the end of the round. */
static struct post *post_served(struct engine *e)
{
    struct turns *t = &e->place.turns;

    if (e->work.round.looks >= LOOKS_MAX)
        return NULL;
    if (list_empty(&t->serving) && !list_empty(&t->dispatch) && !server_is_full(e))
        list_move(&t->serving, t->dispatch.next);
    return list_empty(&t->serving) ? NULL : container_of(t->serving.next, struct post, dispatch);
}

/* The post that is served now, if a worker waits there and a queue has its turn; else NULL. A post
 * whose queues are held is called again by the event that ends the hold. A post that was not served
 * because memory is short or the server is at its limit stays for the next round. */
static struct post *post_waited_for(struct engine *e)
{
    struct turns *t = &e->place.turns;
    struct post *p;

    while ((p = post_served(e))) {
        bool waits = !list_empty(&p->waits);

        if (waits && post_next(e, p))
            return p;
        if (waits && server_is_full(e))
            list_move(&t->later, &p->dispatch);
        else
            list_remove(&p->dispatch);
    }
    list_splice(&t->dispatch, &t->later);
    return NULL;
}

static struct waiter *post_waiter(const struct engine *e, const struct post *p)
{
    struct list *first = MUTANT(e->o.mutant, SERVES_ANOTHER) ? p->waits.prev : p->waits.next;

    return container_of(first, struct wait_link, link)->waiter;
}

bool engine_dispatch_next(struct engine *e, void **ret_owner)
{
    struct post *p = post_waited_for(e);

    if (p)
        *ret_owner = container_of(p->waits.next, struct wait_link, link)->waiter->owner;
    return p;
}

/* A post whose jobs are to be passed over stays, when PASSED_OVER_MAX jobs were passed over
 * already. Then engine_next_wake asks for the next round at once. */
bool engine_dispatch(struct engine *e, struct delivery *ret)
{
    struct post *p = post_waited_for(e);

    if (!p)
        return false;
    if (serve(e, post_waiter(e, p), ret))
        return true;
    list_move(&e->place.turns.later, &p->dispatch);
    return false;
}
