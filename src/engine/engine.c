/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/event.h"
#include "engine/log/log.h"
#include "engine/place/awaited.h"
#include "engine/place/budget.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/pushing.h"
#include "engine/place/queue.h"
#include "engine/tasks/tasks.h"
#include "engine/work/work.h"
#include "record/attempts.h"
#include "record/name.h"
#include "record/record.h"

#define FIRE_SLICE            5000 /* timers fired by one engine_advance: at most 5 ms */
#define STANDSTILL_MS         1000 /* a wall clock set back by less than this is waited for */
#define STRICT_MS             60000
#define STALL_BYTES           4096 /* of attempts, which cost as much as another timer */
#define HISTORY_BYTES_DEFAULT (UINT64_C(16) << 20)
#define MEMORY_DEFAULT        (UINT64_C(256) << 20)
#define LOOKAHEAD_DEFAULT     60000
#define GRAVE_RECORD          40 /* bytes of a GRAVE record in the journal, about */
#define QUEUE_RECORD          80 /* bytes of a record with settings in the journal, about */

struct engine *engine_new(const struct engine_options *o)
{
    struct engine *e = calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->o = *o;
    if (!e->o.history_bytes)
        e->o.history_bytes = HISTORY_BYTES_DEFAULT;
    if (!e->o.memory_bytes)
        e->o.memory_bytes = MEMORY_DEFAULT;
    if (!e->o.lookahead_ms)
        e->o.lookahead_ms = LOOKAHEAD_DEFAULT;
    if (!e->o.attempts_kept)
        e->o.attempts_kept = ATTEMPTS_KEPT_DEFAULT;
    e->work.random = o->seed | 1;
    engine_listen(e, o->listen);
    e->log.next_seq = 1;
    e->cold.walk = 1;
    pool_init(&e->pool, budget_share(e, SHARE_KEPT));
    jobs_init(e);
    keys_init(e);
    awaits_init(e);
    lanes_init(e);
    asides_init(e);
    tenants_init(e);
    tokens_init(e);
    queues_init(e);
    pulses_init(e);
    unwell_init(e);
    manifest_init(e);
    batch_init(&e->place.batch);
    lists_init(&e->place.leased, &e->place.arrived, &e->place.turns.lulls, &e->place.tellers,
               &e->tasks.walks, &e->work.late);
    for (int i = 0; i < HIDDEN_KINDS; i++)
        list_init(&e->place.due[i]);
    for (int i = 0; i < WHEELS; i++)
        wheel_init(&e->wheels[i], 0);
    return e;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    e->place.pulses.closed = true;
    waiters_free(e);
    awaits_fini(e);
    bulks_free(e);
    queues_free(e);
    tenants_free(e);
    pulses_free(e);
    steps_free(e);
    unwell_free(e);
    tokens_free(e);
    manifest_free(e);
    buf_fini(&e->place.batch.stale);
    buf_fini(&e->place.batch.hints);
    table_fini(&e->place.names);
    table_fini(&e->place.keys);
    table_fini(&e->place.lanes);
    table_fini(&e->place.asides.by_lane);
    table_fini(&e->place.jobs);
    pool_fini(&e->place.known.pool);
    pool_fini(&e->pool);
    buf_fini(&e->scratch);
    buf_fini(&e->cold.asking.asks);
    free(e);
}

/* A lease gets its grace once. Otherwise a server that starts again and again would never end the
 * lease. A record notes that the grace was given. */
static void give_grace(struct engine *e, const struct trail *t)
{
    struct buf pending = { 0 };

    buf_str(&pending, blob_str(t->pending));
    if (!pending.failed)
        emit_mark(e, &(struct mark_record){ .seq = t->job->seq,
                                            .flags = t->flags | TRAIL_GRACED,
                                            .pending_due_ms = t->pending_due_ms,
                                            .pending = buf_view(&pending) });
    buf_fini(&pending);
}

/* How long a lease has at a start. */
static int64_t time_left(struct engine *e, const struct trail *t)
{
    int64_t left = t->until_ms - e->now_ms;

    /* The wall clock may have been set back meanwhile: never longer than the lease was. */
    if (left > t->lease_ms)
        left = t->lease_ms;
    if (left < LEASE_GRACE_MS && !(t->flags & TRAIL_GRACED)) {
        give_grace(e, t);
        left = LEASE_GRACE_MS;
    }
    return left > 0 ? left : 0;
}

void engine_start(struct engine *e, int64_t wall_ms, int64_t mono_ms, bool strict)
{
    assert(!e->started && e->log.out);
    e->started = true;
    e->now_ms = wall_ms;
    e->mono_ms = mono_ms;
    e->start_ms = mono_ms;
    e->place.pulses.number = 1;
    e->log.strict_until_ms = strict ? mono_ms + STRICT_MS : INT64_MIN;
    rates_begin(e);
    list_each_of (struct trail, t, &e->place.leased, link) {
        t->timer.at_ms = mono_ms + time_left(e, t);
        wheel_add(&e->wheels[WHEEL_LEASES], &t->timer);
    }
    list_each_of (struct queue, q, &e->place.queues, link)
        past_sort(q);
    /* No client waits for the loop yet, so all timers that may sink do so at once. */
    for (int i = 0; i < WHEELS; i++)
        e->wheels[i].slice = INT_MAX;
    engine_advance(e, wall_ms, mono_ms);
    for (int i = 0; i < WHEELS; i++)
        e->wheels[i].slice = WHEEL_SLICE;
    pulses_settle(e);
}

/* An ended job has been kept long enough. An entry of the audit log goes by a record: else a start
 * with a clock that was set back would bring it to memory again, beside younger entries on disk. */
static void job_forget(struct engine *e, struct job *j)
{
    if (!hidden_rows[j->queue->hidden].lists_ended || emit_forget(e, j) < 0)
        job_leave(e, j);
}

/* A scheduled job is due, or an ended one has been kept long enough. */
static void job_fire(struct engine *e, struct job *j)
{
    struct trail *t = j->trail;

    if (job_is_waste(e, j)) {
        job_leave(e, j);
        return;
    }
    if (j->state == JOB_SCHEDULED) {
        const struct class *c = class_of(j);
        bool near = j->near && !tail_is_before(c, job_point(j));

        job_unplace(e, j);
        if (near) { /* its turn has come already */
            j->near = 1;
            job_place_hot(e, j, JOB_SCHEDULED);
        } else {
            job_place(e, j, JOB_SCHEDULED);
        }
        return;
    }
    job_unplace(e, j);
    if (t->hold_ms && t->hold_ms <= e->now_ms) {
        key_release(e, j);
        t->hold_ms = 0;
    }
    job_place(e, j, j->state);
    if (!t->hold_ms && t->keep_ms <= e->now_ms)
        job_forget(e, j);
}

static void job_stall(struct engine *e, struct job *j)
{
    struct queue *q = j->queue;

    assert(j->state == JOB_LEASED);
    if (attempt_fail(e, j, ATTEMPT_STALLED, STR("the lease ended without a word"), -1, false) < 0) {
        j->trail->timer.at_ms = e->mono_ms + 1000; /* out of memory: again later */
        wheel_add(&e->wheels[WHEEL_LEASES], &j->trail->timer);
        return;
    }
    COUNT(e, q, stalled);
}

/* A job was not started in time. */
static void job_out_of_time(struct engine *e, struct job *j)
{
    if (job_is_waste(e, j) || job_expire(e, j) == 0)
        return;
    j->trail->timer.at_ms = e->now_ms + 1000; /* out of memory: again later */
    wheel_add(&e->wheels[WHEEL_EXPIRIES], &j->trail->timer);
}

/* The class is looked at first when jobs are to be loaded. */
static void class_is_near(struct engine *e, struct class *c)
{
    if (c->closed) {
        list_remove(&c->link);
        list_append(e->place.closed.next, &c->link); /* before the first */
    }
}

/* Fires jobs in the order of their moments. If due jobs are left, the budget becomes 0, so that no
 * other job becomes ready before them. */
static void moments_fire(struct engine *e, int *budget)
{
    struct wheel *w = &e->wheels[WHEEL_MOMENTS];
    struct timer *t;

    for (; *budget > 0 && (t = wheel_pop(w, e->now_ms)); --*budget)
        job_fire(e, container_of(t, struct job, timer));
    if (wheel_next(w) <= e->now_ms)
        *budget = 0;
}

/* The part of the budget that the end of a lease takes: the job's attempts are copied. */
static int stall_cost(const struct trail *t)
{
    return 1 + (int)(blob_str(t->history).len / STALL_BYTES);
}

void engine_advance(struct engine *e, int64_t wall_ms, int64_t mono_ms)
{
    struct timer *t;
    int budget = FIRE_SLICE, expiries = FIRE_SLICE, calls = FIRE_SLICE;

    e->work.round = (struct lease_round){ 0 };
    if (wall_ms < e->now_ms - STANDSTILL_MS) {
        e->now_ms = wall_ms;
        for (int i = 0; i < WALL_WHEELS; i++)
            wheel_rewind(&e->wheels[i], wall_ms);
        tails_rewind(e);
        jobs_rewind(e, &e->place.due[HIDDEN_RECURRENCE]);
    } else if (wall_ms > e->now_ms) {
        if (MUTANT(e->o.mutant, LEASE_BY_WALL) && wall_ms - e->now_ms > mono_ms - e->mono_ms)
            mono_ms += wall_ms - e->now_ms;
        e->now_ms = wall_ms;
    }
    if (mono_ms > e->mono_ms)
        e->mono_ms = mono_ms;
    series_advance(e);
    frontier_follow(e);
    if (MUTANT(e->o.mutant, EARLY))
        e->now_ms += 50;
    /* Due jobs of other wheels join WHEEL_MOMENTS first, so that all become ready in order. */
    e->place.sinking = true;
    for (int i = WHEEL_LATER; i < JOB_WHEELS; i++)
        jobs_place_upto(e, &e->wheels[i], e->now_ms, &budget);
    e->place.sinking = false;
    for (; calls > 0 && (t = wheel_pop(&e->wheels[WHEEL_NEARS], e->now_ms)); calls--)
        class_is_near(e, container_of(t, struct class, near));
    asides_wake(e, &calls);
    moments_fire(e, &budget);
    orders_arrive(e, &budget);
    if (MUTANT(e->o.mutant, EARLY))
        e->now_ms -= 50;
    while (expiries-- > 0 && (t = wheel_pop(&e->wheels[WHEEL_EXPIRIES], e->now_ms)))
        job_out_of_time(e, container_of(t, struct trail, timer)->job);
    while (budget > 0 && (t = wheel_pop(&e->wheels[WHEEL_LEASES], e->mono_ms))) {
        budget -= stall_cost(container_of(t, struct trail, timer));
        job_stall(e, container_of(t, struct trail, timer)->job);
    }
    gates_fire(e, &calls);
    rates_fire(e, &calls);
    while (budget > 0 && (t = wheel_pop(&e->wheels[WHEEL_WAITS], e->mono_ms)))
        budget -= waiter_late(e, container_of(t, struct waiter, timer));
}

void engine_next_wake(const struct engine *e, int64_t *ret_wall_ms, int64_t *ret_mono_ms)
{
    int64_t wall = wheels_wake(e->wheels, WALL_WHEELS);
    int64_t mono = wheels_wake(e->wheels + WALL_WHEELS, WHEELS - WALL_WHEELS);
    int64_t load = frontier_wake(e), bulk = bulk_wake(e), minute = series_wake(e);

    if (!list_empty(&e->place.arrived) && e->now_ms < wall)
        wall = e->now_ms;
    if (!list_empty(&e->place.turns.dispatch) && slow_start_wake(e) < mono)
        mono = slow_start_wake(e);
    if (lease_round_is_used_up(e)) /* jobs are left that quiet hours put off */
        mono = e->mono_ms;
    if (minute < wall)
        wall = minute;
    *ret_wall_ms = load < wall ? load : wall;
    *ret_mono_ms = bulk < mono ? bulk : mono;
}

void engine_scope(struct engine *e, struct str tenant)
{
    e->scope = str_eq(tenant, STR(TENANT_ALL)) ? (struct str){ 0 } : tenant;
}

int64_t engine_now(const struct engine *e)
{
    return e->now_ms;
}

uint64_t engine_changes(const struct engine *e)
{
    return e->log.changes;
}

uint64_t engine_lsn(const struct engine *e)
{
    return e->lsn;
}

uint64_t engine_visible_lsn(const struct engine *e)
{
    return MUTANT(e->o.mutant, REPLY_BEFORE_DURABLE) ? 0 : e->log.visible_lsn;
}

uint64_t engine_offered_lsn(const struct engine *e)
{
    return MUTANT(e->o.mutant, OFFERED_EARLY) ? 0 : e->log.offered_lsn;
}

uint64_t engine_live_bytes(const struct engine *e)
{
    return e->place.live_bytes + e->place.pulses.steps[STEP_MINUTES].bytes +
           e->place.pulses.steps[STEP_HOURS].bytes + e->cold.graves.count * GRAVE_RECORD +
           e->place.names.count * QUEUE_RECORD + e->place.tenants.count * QUEUE_RECORD;
}

void engine_press(struct engine *e, bool pressed)
{
    e->tasks.pressed = pressed;
}

void engine_refuse_new(struct engine *e, bool refuse)
{
    e->refuse_new = refuse;
}
