/* SPDX-License-Identifier: MIT */
/* The class of a queue's ordered jobs: hot jobs come before all others. See lane.h. */
#include <assert.h>

#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"

#define SHED_SLICE  1000       /* jobs set aside because of one that comes */
#define FIRSTS_PART (1u << 20) /* one for each of these bytes of the budget are many */

static struct job *job_of_due(const struct heap_node *node)
{
    return spot_job(container_of(node, struct spot, by_due));
}

bool order_earlier(const struct heap_node *a, const struct heap_node *b)
{
    return point_after(job_point(job_of_due(b)), job_point(job_of_due(a)));
}

static bool later(const struct heap_node *a, const struct heap_node *b)
{
    return order_earlier(b, a);
}

void spot_init(const struct engine *e, struct job *j, struct str order)
{
    *spot_of(j) = (struct spot){
        .hash = cold_lane(&e->naming, queue_name(j->queue), order),
    };
}

static struct job *last_hot(const struct class *c)
{
    return c->hot.root ? job_of_due(c->hot.root) : NULL;
}

struct job *order_tail(const struct class *c)
{
    return c->waiting.root ? job_of_due(c->waiting.root) : NULL;
}

/* ---- Hot or not ---- */

int64_t unfired_ms(const struct engine *e)
{
    return wheels_next(e->wheels, JOB_WHEELS);
}

bool order_is_early(const struct engine *e, const struct class *c, struct cold_point at)
{
    const struct job *tail = order_tail(c);

    return point_after(at, e->place.frontier) || at.at_ms >= unfired_ms(e) ||
           (c->tailed > 0 && batch_takes_tails(e)) ||
           (class_is_on_disk(c) && point_after(at, c->from)) ||
           (tail && point_after(at, job_point(tail)));
}

/* A job that was loaded has its room already. */
static bool may_be_hot(const struct engine *e, const struct class *c, const struct job *j)
{
    const struct job *last = last_hot(c);

    if (last && point_after(job_point(last), job_point(j)))
        return true; /* it must be */
    return !order_is_early(e, c, job_point(j)) && (j->near || !class_is_glutted(e, c));
}

bool order_waits(const struct engine *e, const struct class *c)
{
    return batch_takes_tails(e) || point_after(c->from, e->place.frontier);
}

static void to_tail(struct engine *e, struct class *c, struct job *j)
{
    struct spot *s = spot_of(j);

    j->where = WHERE_TAIL;
    j->state = JOB_READY;
    s->in = SPOT_TAIL;
    heap_add(&c->waiting, &s->by_due, order_earlier);
    lane_set(e, j, false);
    class_waits(e, c);
    if (list_empty(&c->arrived) && j->timer.at_ms >= unfired_ms(e))
        list_append(&e->place.arrived, &c->arrived);
}

static void to_hot(struct engine *e, struct class *c, struct job *j)
{
    struct spot *s = spot_of(j);

    j->where = WHERE_HOT;
    j->state = JOB_READY;
    s->in = SPOT_HOT;
    heap_add(&c->hot, &s->by_due, later);
    class_count_hot(c, j, job_weight(j));
    lane_set(e, j, true);
}

/* Takes a hot job out of the heap and the counts. The caller sees to its lane. */
static void leave_hot(struct class *c, struct job *j)
{
    assert(spot_of(j)->in == SPOT_HOT);
    heap_remove(&c->hot, &spot_of(j)->by_due, later);
    class_count_hot(c, j, -job_weight(j));
}

static void count_as_tail(struct engine *e, struct job *j)
{
    assert(e->place.bytes[WHERE_HOT] >= job_weight(j));
    e->place.bytes[WHERE_HOT] -= job_weight(j);
    e->place.bytes[WHERE_TAIL] += job_weight(j);
}

/* The last of the hot ones waits for others to be done. */
static void hot_evict(struct engine *e, struct class *c)
{
    struct job *j = last_hot(c);

    leave_hot(c, j);
    lane_unlist(j);
    j->near = 0;
    count_as_tail(e, j);
    c->tailed++;
    to_tail(e, c, j);
}

/* Whether many firsts can be given out. Then the jobs behind them stay in their class instead of
 * going aside. Their turn comes soon, and reading a class from disk is far faster than reading lane
 * by lane. In maintenance the answer is no. */
static bool has_many_firsts(const struct engine *e, const struct queue *q)
{
    return !tenant_is_shut(e, q->tenant) && q->first_count > e->o.memory_bytes / FIRSTS_PART;
}

/* Whether the last of the hot ones, which cannot be given out, is in the way of others. */
static bool should_be_aside(const struct engine *e, const struct class *c, const struct job *j)
{
    return j && spot_of(j)->member == SPOT_BEHIND && memory_is_crowded(e) &&
           !has_many_firsts(e, c->queue) &&
           (class_is_half_glutted(e, c) || lane_behind(e, j->queue, spot_of(j)->hash) > LANE_HOT);
}

/* Sets the last of the hot ones aside. */
static bool hot_shed(struct engine *e, struct class *c)
{
    struct job *j = last_hot(c);

    leave_hot(c, j);
    if (!aside_take_last(e, j)) {
        heap_add(&c->hot, &spot_of(j)->by_due, later);
        class_count_hot(c, j, job_weight(j));
        return false;
    }
    j->near = 0;
    return true;
}

void order_shed(struct engine *e, struct class *c, int *budget)
{
    struct job *j;

    for (; *budget > 0 && should_be_aside(e, c, j = last_hot(c)); --*budget) {
        if (!hot_shed(e, c))
            return;
        count_as_tail(e, j);
    }
}

void order_place(struct engine *e, struct job *j)
{
    struct class *c = j->queue->classes[INDEX_ORDERED];
    struct aside *a = aside_before(e, j);
    int budget = engine_slice(e, SHED_SLICE);

    assert(j->ordered && spot_of(j)->in == SPOT_NOWHERE);
    if (a) {
        aside_add(e, a, j);
        return;
    }
    if (!may_be_hot(e, c, j)) {
        to_tail(e, c, j);
        return;
    }
    to_hot(e, c, j);
    while (budget-- > 0 && should_be_aside(e, c, last_hot(c))) {
        struct job *last = last_hot(c);

        if (!hot_shed(e, c))
            break;
        if (last == j) /* the caller counts its bytes */
            return;
        count_as_tail(e, last);
    }
    while (class_is_glutted(e, c) && last_hot(c) != j)
        hot_evict(e, c);
}

void order_unplace(struct engine *e, struct job *j)
{
    struct class *c = j->queue->classes[INDEX_ORDERED];
    struct spot *s = spot_of(j);

    lane_unlist(j);
    if (s->in == SPOT_HOT)
        leave_hot(c, j);
    else if (s->in == SPOT_TAIL)
        heap_remove(c->feeding.root == &s->by_due ? &c->feeding : &c->waiting, &s->by_due,
                    order_earlier);
    else if (s->in == SPOT_ASIDE)
        aside_remove(e, j);
    s->in = SPOT_NOWHERE;
}

void order_drain(struct engine *e, struct class *c, int *budget)
{
    struct job *j;

    order_shed(e, c, budget);
    for (; *budget > 0 && (j = order_tail(c)) && may_be_hot(e, c, j); --*budget)
        job_place_again(e, j);
}

void orders_arrive(struct engine *e, int *budget)
{
    list_each_of_safe (struct class, c, &e->place.arrived, arrived) {
        order_drain(e, c, budget);
        const struct job *tail = order_tail(c);
        if (!tail || (*budget > 0 && tail->timer.at_ms < unfired_ms(e)))
            list_remove(&c->arrived);
    }
}

/* ---- The clock set back ---- */

void order_rewind(struct engine *e, struct class *c)
{
    struct list again;
    struct job *j;

    list_init(&again);
    while ((j = last_hot(c)) && j->timer.at_ms > e->now_ms) {
        job_unplace(e, j);
        lane_set(e, j, false);
        list_append(&again, &j->timer.link);
    }
    while ((j = order_tail(c))) {
        job_unplace(e, j);
        list_append(&again, &j->timer.link);
    }
    jobs_place_all(e, &again);
}

/* ---- Feeding ---- */

void order_feed_begin(struct class *c)
{
    c->feeding = c->waiting;
    c->waiting.root = NULL;
}

struct job *order_feed_next(struct class *c)
{
    struct job *j = c->feeding.root ? job_of_due(c->feeding.root) : NULL;

    if (j) {
        heap_remove(&c->feeding, c->feeding.root, order_earlier);
        spot_of(j)->in = SPOT_NOWHERE;
    }
    return j;
}

void order_feed_end(struct class *c)
{
    heap_join(&c->waiting, &c->feeding, order_earlier);
}
