/* SPDX-License-Identifier: MIT */
/* Jobs of lanes that are stuck, set aside so that others of their class have room. See lane.h. */
#include <assert.h>

#include "engine/place/budget.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"

#define ASIDES_MIN 64
#define ASIDES_MAX 16384
#define LOOKED_AT  64 /* at one time */

static const struct cold_point nowhere = { INT64_MAX, UINT64_MAX };

static bool is_somewhere(struct cold_point p)
{
    return p.at_ms != INT64_MAX;
}

static struct job *first_of(const struct heap *h)
{
    return h->root ? spot_job(container_of(h->root, struct spot, by_due)) : NULL;
}

static bool is_of_queue(const struct table_node *node, const void *arg)
{
    return container_of(node, struct aside, node)->queue == arg;
}

struct aside *aside_find(const struct engine *e, const struct queue *q, uint64_t lane)
{
    struct table_node *node = e->place.asides.by_lane.count > 0
                                  ? table_find(&e->place.asides.by_lane, lane, is_of_queue, q)
                                  : NULL;

    return node ? container_of(node, struct aside, node) : NULL;
}

struct aside *aside_obtain(struct engine *e, struct queue *q, uint64_t lane)
{
    struct aside *a = aside_find(e, q, lane);

    if (a)
        return a;
    a = class_obtain(e, q, INDEX_ORDERED) ? pool_alloc(&e->pool, sizeof(*a)) : NULL;
    if (!a)
        return NULL;
    *a = (struct aside){ .queue = q, .lane = lane, .feeds = nowhere, .from = nowhere };
    lists_init(&a->link, &a->fed, &a->low.link);
    table_add(&e->place.asides.by_lane, &a->node);
    list_append(&e->place.asides.all, &a->link);
    list_append(&e->place.asides.lows, &a->low.link);
    q->asides++;
    queue_settle(e, q);
    return a;
}

/* The aside of a job's lane; a new one, if there are not too many; or NULL. */
static struct aside *aside_begin(struct engine *e, const struct job *j)
{
    uint64_t most = ASIDES_MIN + budget_share(e, SHARE_ASIDES) / sizeof(struct aside);
    bool many = e->place.asides.by_lane.count >= (most < ASIDES_MAX ? most : ASIDES_MAX);
    uint64_t lane = spot_of(j)->hash;

    return many ? aside_find(e, j->queue, lane) : aside_obtain(e, j->queue, lane);
}

void aside_settle(struct engine *e, struct aside *a)
{
    struct queue *q = a->queue;

    if (a->pinned || a->waiting.root || is_somewhere(a->feeds) || is_somewhere(a->from))
        return;
    assert(!a->feeding.root && q->asides > 0);
    table_remove(&e->place.asides.by_lane, &a->node);
    list_remove(&a->link);
    list_remove(&a->fed);
    list_remove(&a->low.link);
    pool_free(&e->pool, a, sizeof(*a));
    q->asides--;
    queue_settle(e, q);
}

static void be_low(struct engine *e, struct aside *a)
{
    list_move(&e->place.asides.lows, &a->low.link);
}

void aside_touch(struct engine *e, const struct queue *q, uint64_t lane)
{
    struct aside *a = aside_find(e, q, lane);

    if (a && !MUTANT(e->o.mutant, ASIDE_STUCK))
        be_low(e, a);
}

/* ---- Setting aside ---- */

struct aside *aside_before(const struct engine *e, const struct job *j)
{
    struct aside *a = aside_find(e, j->queue, spot_of(j)->hash);
    struct cold_point at = job_point(j);
    const struct job *first = a ? first_of(&a->waiting) : NULL;

    if (!a || MUTANT(e->o.mutant, ASIDE_OVERTAKEN))
        return NULL;
    return point_after(at, a->from) || !point_after(a->feeds, at) ||
                   (first && point_after(at, job_point(first)))
               ? a
               : NULL;
}

void aside_add(struct engine *e, struct aside *a, struct job *j)
{
    struct spot *s = spot_of(j);

    j->where = WHERE_TAIL;
    j->state = JOB_READY;
    s->in = SPOT_ASIDE;
    heap_add(&a->waiting, &s->by_due, order_earlier);
    e->place.asides.bytes += job_weight(j);
    e->place.asides.back_bytes += s->back ? job_weight(j) : 0;
    lane_set(e, j, false);
}

bool aside_take_last(struct engine *e, struct job *j)
{
    struct aside *a = aside_begin(e, j);

    if (!a)
        return false;
    aside_add(e, a, j);
    if (lane_is_taken(e, a->queue, a->lane)) /* else the lane is looked at soon */
        list_remove(&a->low.link);
    return true;
}

static void uncount(struct engine *e, const struct job *j)
{
    assert(e->place.asides.bytes >= job_weight(j));
    e->place.asides.bytes -= job_weight(j);
    e->place.asides.back_bytes -= spot_of(j)->back ? job_weight(j) : 0;
}

void aside_remove(struct engine *e, struct job *j)
{
    struct spot *s = spot_of(j);
    struct aside *a = aside_find(e, j->queue, s->hash);

    assert(a && s->in == SPOT_ASIDE);
    heap_remove(a->feeding.root == &s->by_due ? &a->feeding : &a->waiting, &s->by_due,
                order_earlier);
    uncount(e, j);
    aside_settle(e, a);
}

/* ---- Coming back ---- */

/* Where its next one is; false: it is not known, or there is none. */
static bool next_of(const struct aside *a, struct cold_point *ret, bool *ret_disk)
{
    const struct job *first = first_of(&a->waiting);
    struct cold_point at = first ? job_point(first) : nowhere;

    *ret_disk = is_somewhere(a->from) && !point_after(a->from, at);
    *ret = *ret_disk ? a->from : at;
    return !is_somewhere(a->feeds) && is_somewhere(*ret);
}

/* Whether some of it should come back now. If the lane has enough, the aside is no longer low. */
static bool aside_is_wanted(struct engine *e, struct aside *a, unsigned enough, bool *ret_disk)
{
    const struct class *c = a->queue->classes[INDEX_ORDERED];
    unsigned behind = lane_behind(e, a->queue, a->lane);
    struct cold_point at;

    if (lane_is_taken(e, a->queue, a->lane) && (memory_is_crowded(e) || behind >= enough)) {
        list_remove(&a->low.link);
        return false;
    }
    if (!next_of(a, &at, ret_disk))
        return false;
    if (at.at_ms > e->now_ms) {
        list_remove(&a->low.link);
        a->low.at_ms = at.at_ms;
        wheel_add(&e->wheels[WHEEL_SLEEPERS], &a->low);
        return false;
    }
    return !order_is_early(e, c, at) && !class_is_glutted(e, c);
}

/* Lets jobs come back from memory. */
static void aside_refill(struct engine *e, struct aside *a, int *budget)
{
    struct queue *q = a->queue;
    uint64_t lane = a->lane;
    unsigned enough = LANE_LOW;
    bool disk;

    for (; a && *budget > 0; --*budget, a = aside_find(e, q, lane)) {
        if (!aside_is_wanted(e, a, enough, &disk) || disk)
            return;
        job_place_again(e, first_of(&a->waiting));
        enough = LANE_HOT;
    }
}

void asides_wake(struct engine *e, int *budget)
{
    struct timer *t;

    for (; *budget > 0 && (t = wheel_pop(&e->wheels[WHEEL_SLEEPERS], e->now_ms)); --*budget)
        list_append(&e->place.asides.lows, &t->link);
}

void asides_refill(struct engine *e, int *budget)
{
    for (int i = 0; i<LOOKED_AT && * budget> 0 && !list_empty(&e->place.asides.lows);
         i++, --*budget) {
        struct aside *a = container_of(e->place.asides.lows.next, struct aside, low.link);

        be_low(e, a);
        order_shed(e, a->queue->classes[INDEX_ORDERED], budget);
        aside_refill(e, a, budget);
    }
}

bool asides_owe(const struct engine *e, const struct queue *q)
{
    int steps = LOOKED_AT;

    if (q->asides == 0)
        return false;
    list_each_of (const struct aside, a, &e->place.asides.lows, low.link)
        if (steps-- == 0 || (a->queue == q && !lane_is_taken(e, q, a->lane)))
            return true;
    return false;
}

bool asides_load(struct engine *e, struct load_want *ret)
{
    for (int i = 0; i < LOOKED_AT && !list_empty(&e->place.asides.lows); i++) {
        struct aside *a = container_of(e->place.asides.lows.next, struct aside, low.link);
        uint64_t room = hot_room(e) / 16;
        bool disk;

        be_low(e, a);
        if (!aside_is_wanted(e, a, LANE_LOW, &disk) || !disk)
            continue;
        *ret = (struct load_want){
            .backlog = true,
            .queue = queue_name(a->queue),
            .class = CLASS_ASIDE,
            .lane = a->lane,
            .count = memory_is_crowded(e) ? 1 : LANE_HOT,
            .after = a->from,
            .bytes = room < LANE_LOAD_MAX ? room : LANE_LOAD_MAX,
        };
        return true;
    }
    return false;
}

void asides_rewind(struct engine *e)
{
    struct list again;
    struct job *j;

    list_init(&again);
    list_each_of_safe (struct aside, a, &e->place.asides.all, link) {
        a->pinned = true;
        while ((j = first_of(&a->waiting))) {
            job_unplace(e, j);
            list_append(&again, &j->timer.link);
        }
        a->pinned = false;
        aside_settle(e, a);
    }
    jobs_place_all(e, &again);
}

/* ---- Feeding ---- */

void asides_feed_begin(struct engine *e, int lanes)
{
    size_t left = e->place.asides.by_lane.count;

    for (; left > 0 && lanes > 0; left--) {
        struct aside *a = container_of(e->place.asides.all.next, struct aside, link);
        const struct job *first = first_of(&a->waiting);

        list_move(&e->place.asides.all, &a->link);
        if (!first)
            continue;
        lanes--;
        a->feeds = job_point(first);
        a->feeding = a->waiting;
        a->waiting.root = NULL;
        list_append(&e->place.batch.asides, &a->fed);
    }
}

struct job *asides_feed_next(struct engine *e)
{
    while (!list_empty(&e->place.batch.asides)) {
        struct aside *a = container_of(e->place.batch.asides.next, struct aside, fed);
        struct job *j = first_of(&a->feeding);

        if (j) {
            struct spot *s = spot_of(j);

            heap_remove(&a->feeding, a->feeding.root, order_earlier);
            /* A walk over disk and memory that is under way would miss a job that goes back. */
            if (s->back && e->place.asides.back_bytes <= budget_share(e, SHARE_BACK)) {
                heap_add(&a->waiting, &s->by_due, order_earlier);
                continue;
            }
            uncount(e, j);
            s->in = SPOT_FED;
            return j;
        }
        list_move(&e->place.batch.asides_fed, &a->fed);
    }
    return NULL;
}

void asides_feed_end(struct engine *e)
{
    struct list *heads[] = { &e->place.batch.asides, &e->place.batch.asides_fed };

    for (size_t i = 0; i < 2; i++) {
        while (!list_empty(heads[i])) {
            struct aside *a = container_of(heads[i]->next, struct aside, fed);

            list_remove(&a->fed);
            heap_join(&a->waiting, &a->feeding, order_earlier);
            a->feeds = nowhere;
            aside_settle(e, a);
        }
    }
}

/* ---- What the journal says ---- */

void aside_fed(struct engine *e, struct queue *q, uint64_t lane, struct cold_point first)
{
    struct aside *a = aside_find(e, q, lane);
    /* The last point before it. */
    struct cold_point from = { first.at_ms, first.seq - 1 };

    assert(a && first.seq > 0);
    if (point_after(a->from, from))
        a->from = from;
}

void asides_forget(struct engine *e, const struct queue *q)
{
    if (q->asides == 0)
        return;
    list_each_of_safe (struct aside, a, &e->place.asides.all, link) {
        if (a->queue == q) {
            a->from = nowhere;
            aside_settle(e, a);
        }
    }
}

int asides_each(const struct engine *e, const struct queue *q,
                int (*fn)(void *arg, uint64_t lane, struct cold_point from), void *arg)
{
    int answer = 0;

    list_each_of (const struct aside, a, &e->place.asides.all, link)
        if ((!q || a->queue == q) && is_somewhere(a->from) && !answer)
            answer = fn(arg, a->lane, a->from);
    return answer;
}

void asides_init(struct engine *e)
{
    table_init(&e->place.asides.by_lane, table_entry_hash);
    list_init(&e->place.asides.all);
    list_init(&e->place.asides.lows);
}
