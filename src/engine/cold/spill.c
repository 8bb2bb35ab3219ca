/* SPDX-License-Identifier: MIT */
/* From memory to disk. A batch is made in three steps. The engine writes its jobs as bytes, slice
 * by slice (engine_feed_slice). The partition sorts them into runs, off this thread. When the runs
 * are durable, one record (FED) moves all jobs at once. A job that changes in between stays in
 * memory, and its entry in the run gets a grave. The memory of jobs that moved is freed slice by
 * slice; until then it is waste. This file says when, and gather.c which jobs. */
#include "engine/cold/cold.h"

#include <assert.h>

#include "engine/place/budget.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record.h"

#define WORK_SLICE    1000
#define GRAVES_MAX    20000
#define GRAVES_MIN    64
#define GRAVE_BYTES   128
#define DRAIN_CLASSES 64
#define NEAR          12 /* part of the lookahead */

/* ---- Classes ---- */

/* Jobs on disk are loaded a little before they are due, though there may be no room for them. */
void class_from(struct engine *e, struct class *c, struct cold_point from)
{
    c->from = from;
    wheel_remove(&c->near);
    c->near.at_ms = from.at_ms < INT64_C(1) << 47 ? from.at_ms - e->o.lookahead_ms / NEAR : 0;
    if (c->near.at_ms > 0)
        wheel_add(&e->wheels[WHEEL_NEARS], &c->near);
}

static bool is_ordered(const struct class *c)
{
    return c->number == CLASS_ORDERED;
}

bool tail_comes_first(const struct class *c)
{
    const struct job *j = is_ordered(c) ? order_tail(c)
                          : list_empty(&c->tail)
                              ? NULL
                              : container_of(c->tail.next, const struct job, timer.link);

    return j && !(class_is_on_disk(c) && point_after(job_point(j), c->from));
}

/* Lets jobs of the tail go on; opens the class when it has no other parts. True: there is more. */
static bool class_drain(struct engine *e, struct class *c, int *budget)
{
    if (batch_takes_tails(e))
        return false;
    if (is_ordered(c))
        order_drain(e, c, budget);
    for (; !is_ordered(c) && *budget > 0 && tail_comes_first(c) && !class_is_glutted(e, c);
         --*budget) {
        struct job *j = container_of(c->tail.next, struct job, timer.link);

        job_unplace(e, j);
        job_place_hot(e, j, JOB_SCHEDULED);
    }
    assert(c->closed && e->place.closed_count > 0);
    if (list_empty(&c->tail) && !c->waiting.root && !c->feeding.root && !class_is_on_disk(c)) {
        c->closed = false;
        e->place.closed_count--;
        list_remove(&c->link);
    }
    return *budget == 0;
}

void tails_rewind(struct engine *e)
{
    list_each_of (struct queue, q, &e->place.queues, link)
        if (q->classes[INDEX_ORDERED])
            order_rewind(e, q->classes[INDEX_ORDERED]);
    asides_rewind(e);
    list_each_of_safe (struct class, c, &e->place.closed, link)
        jobs_rewind(e, &c->tail);
}

/* ---- When a batch is due ---- */

static bool graves_are_many(const struct engine *e)
{
    uint64_t most = budget_share(e, SHARE_GRAVES) / GRAVE_BYTES + GRAVES_MIN;

    return e->cold.graves.count > (most < GRAVES_MAX ? most : GRAVES_MAX);
}

bool graves_fill_memory(const struct engine *e)
{
    return e->cold.graves.count > budget_share(e, SHARE_GRAVES_FULL) / GRAVE_BYTES + GRAVES_MIN;
}

/* Whether jobs and queues take so much memory that jobs must go to disk. */
static bool memory_is_full(const struct engine *e)
{
    return e->pool.used_bytes + known_bytes(e) > budget_share(e, SHARE_FULL);
}

bool memory_is_pressed(const struct engine *e)
{
    return memory_is_full(e) && e->place.asides.bytes > budget_share(e, SHARE_WORTHY);
}

/* While there is room nothing is written that might not have to be. */
bool engine_feed_due(const struct engine *e)
{
    if (e->place.batch.active || e->place.batch.empty_lsn == e->lsn ||
        !wheel_is_empty(&e->wheels[WHEEL_LEFT]))
        return false;
    if (unfired_ms(e) <= e->now_ms) /* due jobs that are not ready yet look like later ones */
        return false;
    return graves_are_many(e) ||
           (memory_is_full(e) && (e->place.bytes[WHERE_LATER] > budget_share(e, SHARE_WORTHY) ||
                                  e->place.bytes[WHERE_TAIL] > budget_share(e, SHARE_WORTHY) ||
                                  e->place.bytes[WHERE_PAST] > budget_share(e, SHARE_WORTHY)));
}

/* The batch has all its jobs: those that left it may be in the next one. */
static bool rejoin(struct engine *e, int *budget)
{
    struct timer *t;

    for (; *budget > 0 && (t = wheel_first(&e->wheels[WHEEL_LEFT])); --*budget) {
        wheel_remove(t);
        container_of(t, struct job, timer)->left = 0;
        wheel_add(&e->wheels[WHEEL_LATER], t);
    }
    return *budget == 0;
}

bool engine_work(struct engine *e)
{
    int budget = WORK_SLICE, freed = engine_slice(e, WORK_SLICE);
    bool more = e->place.batch.fed && batch_bury(e, &freed);

    if (!e->place.batch.gathering && rejoin(e, &freed))
        more = true;
    /* Jobs that the frontier has passed become hot. If some jobs are due, engine_advance fires them
     * first, in order. */
    if (unfired_ms(e) > e->now_ms) {
        jobs_place_upto(e, &e->wheels[WHEEL_LATER], e->place.frontier.at_ms, &budget);
        jobs_place_upto(e, &e->wheels[WHEEL_LEFT], e->place.frontier.at_ms, &budget);
    }
    past_trim(e, &budget);
    kept_trim(e, &budget);
    asides_refill(e, &budget); /* before others of their classes */
    for (int i = 0; i < DRAIN_CLASSES && budget > 0 && !list_empty(&e->place.closed); i++) {
        struct class *c = container_of(e->place.closed.next, struct class, link);

        list_move(&e->place.closed, &c->link);
        if (class_drain(e, c, &budget))
            more = true;
    }
    return more || budget == 0;
}

uint64_t engine_memory(const struct engine *e)
{
    return e->pool.used_bytes + known_bytes(e) +
           (e->place.jobs.buckets + e->place.keys.buckets + e->place.lanes.buckets +
            e->cold.graves.buckets + e->place.asides.by_lane.buckets) *
               sizeof(struct table_node *) +
           e->place.batch.stale.cap + e->place.batch.hints.cap + censuses_bytes(e) +
           sorts_bytes(e) + e->pulses.running.chunk.cap + e->pulses.running.step.cap +
           e->pulses.ending.chunk.cap + e->pulses.ending.step.cap;
}
