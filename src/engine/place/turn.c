/* SPDX-License-Identifier: MIT */
/*
 * Turns: which queue is served next.
 *
 * A queue belongs to a tenant, and to a kind: the queues of one name of all tenants. A worker asks
 * one queue, or a kind. In a kind, the tenants take turns.
 *
 *     kind mail ---> ring: acme@mail, mail, zeta@mail ...   have ready jobs; the first is served
 *     tenant acme -> parked: acme@mail, acme@sms            have ready jobs, but a limit, the pause
 *                                                           or the maintenance of the tenant holds
 *                                                           them
 *
 * The engine looks at the hold of a queue (enum hold) when the turn of the queue comes, not when
 * the hold begins. A held queue leaves the ring, and the event that ends the hold brings it back.
 * So picking never walks over queues that cannot give, and a queue that waits costs nothing.
 *
 * Queues that push give in one ring, to one taker. A limit of a tenant may hold many of them. If
 * all came back together, the first would take what the limit allows, and the others would be
 * parked again. So one queue comes back, and the next comes back when that queue has been looked
 * at.
 */
#include "engine/place/queue.h"

#include <assert.h>

#include "engine/place/budget.h"
#include "engine/place/pushing.h"

/* ---- Rates ---- */

/* The millisecond in which the rate has room for a job that has `ahead` others before it; 0: now.
 */
static int64_t rated_wait_behind(const struct engine *e, const struct rated *x,
                                 const struct rate *r, uint64_t ahead)
{
    if (r->count == 0 || MUTANT(e->o.mutant, RATE_IGNORED))
        return 0;
    return rate_moment_behind(x->log, r, e->mono_ms, ahead);
}

static int64_t rated_wait(const struct engine *e, const struct rated *x, const struct rate *r)
{
    return rated_wait_behind(e, x, r, 0);
}

/* The queue is called again when the rate has room. */
static void rated_arm(struct engine *e, struct rated *x, int64_t at_ms)
{
    assert(at_ms > e->mono_ms);
    wheel_remove(&x->timer);
    x->timer.at_ms = at_ms;
    wheel_add(&e->wheels[WHEEL_RATES], &x->timer);
}

void rates_fire(struct engine *e, int *budget)
{
    struct timer *t;

    for (; *budget > 0 && (t = wheel_pop(&e->wheels[WHEEL_RATES], e->mono_ms)); --*budget) {
        struct rated *x = container_of(t, struct rated, timer);

        list_init(&t->link);
        if (x->queue)
            queue_offer(e, x->queue);
        else
            tenant_unpark(e, x->tenant);
    }
}

/* ---- Queues that may give ---- */

#define SLOW_RUNNING 1000 /* what slow start leads to if there is no limit */

/* Slow start: the number that may run grows evenly, from a tenth to all. */
struct slope {
    uint64_t least;
    uint64_t rise;
    int64_t passed_ms; /* of slow_start_ms; that or more: it is over */
};

static struct slope slow_start(const struct engine *e)
{
    uint64_t all = e->o.max_running > 0 ? e->o.max_running : SLOW_RUNNING;
    uint64_t least = all < 20 ? 1 : all / 10;

    return (struct slope){ least, all - least, e->mono_ms - e->start_ms };
}

static uint64_t server_limit(const struct engine *e)
{
    struct slope s = slow_start(e);

    if (s.passed_ms >= e->o.slow_start_ms)
        return e->o.max_running > 0 ? e->o.max_running : UINT64_MAX;
    return s.least + s.rise * (uint64_t)s.passed_ms / (uint64_t)e->o.slow_start_ms;
}

static bool runs_enough(const struct engine *e)
{
    return e->place.states[JOB_LEASED] >= server_limit(e);
}

bool server_is_full(const struct engine *e)
{
    return runs_enough(e) || leases_fill_memory(e);
}

int64_t slow_start_wake(const struct engine *e)
{
    struct slope s = slow_start(e);
    uint64_t more = e->place.states[JOB_LEASED] + 1 - s.least;

    if (!runs_enough(e) || s.passed_ms >= e->o.slow_start_ms)
        return INT64_MAX;
    if (more > s.rise)
        return e->o.max_running > 0 ? INT64_MAX : e->start_ms + e->o.slow_start_ms;
    return e->start_ms + (int64_t)((more * (uint64_t)e->o.slow_start_ms + s.rise - 1) / s.rise);
}

const char *hold_text(enum hold h)
{
    static const char *const texts[] = {
#define TEXT(name, text) [HOLD_##name] = text,
        HOLDS(TEXT)
#undef TEXT
    };
    return texts[h];
}

bool tenant_is_shut(const struct engine *e, const struct tenant *t)
{
    int64_t until_ms = t->settings.maintenance_until_ms;

    return t->settings.maintenance && !MUTANT(e->o.mutant, MAINTENANCE_IGNORED) &&
           (until_ms == 0 || e->now_ms < until_ms || MUTANT(e->o.mutant, UNTIL_IGNORED));
}

int64_t tenant_reopened_ms(const struct engine *e, const struct tenant *t)
{
    if (tenant_is_shut(e, t))
        return 0;
    return t->settings.maintenance ? t->settings.maintenance_until_ms : t->reopened_ms;
}

void gate_arm(struct engine *e, struct tenant *t)
{
    wheel_remove(&t->gate);
    t->gate.at_ms = t->settings.maintenance_until_ms;
    if (t->settings.maintenance && t->gate.at_ms > 0)
        wheel_add(&e->wheels[WHEEL_GATES], &t->gate);
}

void gates_fire(struct engine *e, int *budget)
{
    struct timer *x;

    for (; *budget > 0 && (x = wheel_pop(&e->wheels[WHEEL_GATES], e->now_ms)); --*budget) {
        list_init(&x->link);
        tenant_unpark(e, container_of(x, struct tenant, gate));
    }
}

static bool queue_runs_enough(const struct engine *e, const struct queue *q)
{
    if (queue_pushes(q) && q->jobs[JOB_LEASED] >= (uint64_t)q->settings->push.concurrency)
        return true;
    return q->settings->max_running > 0 && !MUTANT(e->o.mutant, LIMIT_IGNORED) &&
           q->jobs[JOB_LEASED] >= (uint64_t)q->settings->max_running;
}

/* The first test that holds is the answer. A hold of `passed` (bits) is as if it were none. */
static inline enum hold hold_beyond(const struct engine *e, const struct queue *q, bool passing,
                                    unsigned passed)
{
    const struct tenant *t = q->tenant;

#define HOLDS_IF(hold, test)             \
    if (!(passed >> (hold)&1) && (test)) \
        return hold;
    HOLDS_IF(HOLD_PAUSED, q->settings->paused && !MUTANT(e->o.mutant, PAUSE_IGNORED))
    HOLDS_IF(HOLD_TENANT_PAUSED, t->settings.paused && !MUTANT(e->o.mutant, TENANT_PAUSE_IGNORED))
    HOLDS_IF(HOLD_MAINTENANCE, tenant_is_shut(e, t) && (!passing || MUTANT(e->o.mutant, PASS_HELD)))
    HOLDS_IF(HOLD_QUEUE_RUNNING, queue_runs_enough(e, q))
    HOLDS_IF(HOLD_TENANT_RUNNING, t->settings.max_running > 0 &&
                                      !MUTANT(e->o.mutant, LIMIT_IGNORED) &&
                                      t->running >= (uint64_t)t->settings.max_running)
    HOLDS_IF(HOLD_QUEUE_RATE, rated_wait(e, &q->rated, &q->settings->rate) > 0)
    HOLDS_IF(HOLD_TENANT_RATE, rated_wait(e, &t->rated, &t->settings.rate) > 0)
    HOLDS_IF(HOLD_SERVER_RUNNING, runs_enough(e) && e->o.max_running > 0 &&
                                      e->place.states[JOB_LEASED] >= e->o.max_running)
    HOLDS_IF(HOLD_SLOW_START, !(passed >> HOLD_SERVER_RUNNING & 1) && runs_enough(e))
    HOLDS_IF(HOLD_TENANT_MAX_LEASED, leased_is_full(e, t) && leased_is_capped(e, t))
    HOLDS_IF(HOLD_TENANT_LEASED, leased_is_full(e, t) && !leased_is_capped(e, t))
    HOLDS_IF(HOLD_SERVER_LEASED, leases_fill_memory(e))
    HOLDS_IF(HOLD_LANES, q->first_count > 0 && q->first_count == q->offered && lanes_are_full(e, t))
    HOLDS_IF(HOLD_ENDPOINT, queue_endpoint_until(e, q) >= 0)
    HOLDS_IF(HOLD_TENANT_PUSHES, queue_pushes(q) && t->pushes_full)
#undef HOLDS_IF
    return HOLD_NONE;
}

enum hold queue_hold(const struct engine *e, const struct queue *q, bool passing)
{
    return hold_beyond(e, q, passing, 0);
}

enum hold queue_hold_beyond(const struct engine *e, const struct queue *q, bool passing,
                            unsigned passed)
{
    return hold_beyond(e, q, passing, passed);
}

int64_t hold_pause_ms(const struct engine *e, const struct queue *q, enum hold h, uint64_t ahead)
{
    int64_t until = 0, open_ms = q->tenant->settings.maintenance_until_ms;

    if (h == HOLD_MAINTENANCE && open_ms > 0)
        until = e->mono_ms + (open_ms - e->now_ms);
    else if (h == HOLD_QUEUE_RATE)
        until = rated_wait_behind(e, &q->rated, &q->settings->rate, ahead);
    else if (h == HOLD_TENANT_RATE)
        until = rated_wait_behind(e, &q->tenant->rated, &q->tenant->settings.rate, ahead);
    else if (h == HOLD_SLOW_START && slow_start_wake(e) != INT64_MAX)
        until = slow_start_wake(e);
    else if (h == HOLD_ENDPOINT && (until = queue_endpoint_until(e, q)) <= e->mono_ms)
        until = e->mono_ms + ENDPOINT_LOOK_MS;
    return until > e->mono_ms ? until - e->mono_ms : 0;
}

/* Whether all queues of a tenant have this hold, if they push and have no hold of their own. */
static bool hold_is_shared(enum hold h)
{
    return h == HOLD_TENANT_RUNNING || h == HOLD_TENANT_RATE || h == HOLD_TENANT_PUSHES ||
           h == HOLD_TENANT_LEASED || h == HOLD_TENANT_MAX_LEASED;
}

static bool gives_to_pushes(const struct queue *q)
{
    return q->serves != q->kind;
}

/* Brings the next parked queue of the tenant that pushes back into the ring. */
static void unpark_pushing(struct engine *e, struct tenant *t)
{
    while (!list_empty(&t->parked_pushing)) {
        struct queue *q = container_of(t->parked_pushing.next, struct queue, turn);

        list_remove(&q->turn);
        queue_offer(e, q);
        if (!list_empty(&q->turn))
            break;
    }
}

void queue_quits_ring(struct engine *e, struct queue *q)
{
    list_remove(&q->turn);
    if (gives_to_pushes(q))
        unpark_pushing(e, q->tenant); /* q may be the queue that came back for the others */
}

bool queue_gives(struct engine *e, struct queue *q)
{
    bool full = q->first_count > 0 && lanes_are_full(e, q->tenant);
    const struct class *own = q->classes[INDEX_PASSING];
    bool passing = (own && !list_empty(&own->ready)) || q->retries[true].root ||
                   (q->firsts[true].root && !full);
    enum hold hold = q->offered > 0 ? queue_hold(e, q, passing) : HOLD_NONE;

    e->place.turns.pick_steps++;
    if (q->offered > 0 && hold == HOLD_NONE) {
        if (gives_to_pushes(q))
            unpark_pushing(e, q->tenant);
        return true;
    }
    if (hold == HOLD_SERVER_RUNNING || hold == HOLD_SLOW_START || hold == HOLD_SERVER_LEASED)
        return false; /* the queue keeps its turn: this hold ends with any lease, or soon */
    list_remove(&q->turn);
    if (full && list_empty(&q->lull))
        list_append(&e->place.turns.lulls, &q->lull);
    if (hold == HOLD_TENANT_PAUSED || hold == HOLD_MAINTENANCE || hold_is_shared(hold)) {
        bool pushing = gives_to_pushes(q) && hold_is_shared(hold);

        list_append(pushing ? &q->tenant->parked_pushing : &q->tenant->parked, &q->turn);
        q->parked = true;
    } else if (gives_to_pushes(q)) {
        unpark_pushing(e, q->tenant);
    }
    if (hold == HOLD_MAINTENANCE && list_empty(&q->tenant->gate.link))
        gate_arm(e, q->tenant); /* its timer may have fired before the clock was set back */
    if (hold == HOLD_TENANT_LEASED || hold == HOLD_TENANT_MAX_LEASED)
        leased_wait(e, q->tenant);
    if (hold == HOLD_ENDPOINT)
        queue_wait_for_endpoint(e, q);
    if (hold == HOLD_QUEUE_RATE)
        rated_arm(e, &q->rated, rated_wait(e, &q->rated, &q->settings->rate));
    if (hold == HOLD_TENANT_RATE)
        rated_arm(e, &q->tenant->rated,
                  rated_wait(e, &q->tenant->rated, &q->tenant->settings.rate));
    return false;
}

void queue_offer(struct engine *e, struct queue *q)
{
    if (q->offered == 0)
        return;
    assert(q->tenant && q->serves);
    if (list_empty(&q->turn)) {
        q->parked = false;
        q->credit = q->tenant->settings.weight;
        list_append(&q->serves->ring, &q->turn);
    }
    post_call(e, &q->post);
    post_call(e, &q->serves->post);
}

void queue_unpark(struct engine *e, struct queue *q)
{
    if (q->parked)
        list_remove(&q->turn);
    queue_offer(e, q);
}

void tenant_unpark(struct engine *e, struct tenant *t)
{
    while (!list_empty(&t->parked)) {
        struct queue *q = container_of(t->parked.next, struct queue, turn);

        list_remove(&q->turn);
        queue_offer(e, q);
    }
    unpark_pushing(e, t);
}

void lulls_end(struct engine *e, const struct tenant *t)
{
    if (lanes_are_full(e, t) && e->place.bytes[WHERE_OWNS_LANE] >= budget_share(e, SHARE_OWNERS))
        return; /* other tenants have no more room than before, either */
    list_each_of_safe (struct queue, q, &e->place.turns.lulls, lull) {
        if (lanes_are_full(e, q->tenant))
            continue;
        list_remove(&q->lull);
        if (q->firsts[true].root)
            queue_unpark(e, q);
        else
            queue_offer(e, q);
    }
}

struct queue *kind_next(struct engine *e, struct kind *k)
{
    while (!list_empty(&k->ring)) {
        struct queue *q = container_of(k->ring.next, struct queue, turn);

        if (queue_gives(e, q))
            return q;
        if (!list_empty(&q->turn) && k->ring.next == &q->turn)
            return NULL; /* no queue gives now */
    }
    return NULL;
}

void queue_took(struct engine *e, struct queue *q, bool in_turn)
{
    if (!in_turn || --q->credit > 0 || list_empty(&q->turn) || MUTANT(e->o.mutant, TURN_STUCK))
        return;
    q->credit = q->tenant->settings.weight;
    list_move(&q->serves->ring, &q->turn);
}

/* A lease ended: queues that were at their limit may go on. */
void queue_freed(struct engine *e, struct queue *q)
{
    if (MUTANT(e->o.mutant, LOST_WAKE))
        return;
    if (q->settings->max_running > 0 || queue_pushes(q))
        queue_offer(e, q);
    if (q->tenant->settings.max_running > 0)
        tenant_unpark(e, q->tenant); /* any of them may be the one that is asked for */
    leased_settle(e, q->tenant);
    if (!list_empty(&e->place.leases.laden))
        leased_ebb(e);
}
