/* SPDX-License-Identifier: MIT */
/* From disk to memory: ahead of time by the frontier, and class by class from the backlog as there
 * is room. The engine says what is to be read next. The jobs enter memory with the record that
 * moves the frontier or the floor of the class. */
#include "engine/cold/cold.h"

#include <assert.h>

#include "engine/place/budget.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"

#define LOAD_BYTES   (256u << 10)
#define LOAD_MIN     1024
#define LOAD_CLASSES 64
#define FOLLOW       4 /* the frontier goes on when it is a quarter of the lookahead behind */

/* The frontier moves forward only: jobs that it has passed have been loaded. */
void frontier_set(struct engine *e, struct cold_point p)
{
    assert(!point_after(e->cold.frontier_noted, e->place.frontier));
    if (point_after(p, e->place.frontier))
        e->place.frontier = p;
    if (point_after(p, e->cold.frontier_noted))
        e->cold.frontier_noted = p;
}

static bool is_behind(const struct engine *e, const struct run_desc *d)
{
    struct cold_point last;

    return d->family == FAMILY_DUE && cold_key_point(d->last, &last) &&
           point_after(last, e->place.frontier);
}

/* Whether jobs on disk are due up to this moment and were not loaded. */
static bool passes_jobs(const struct engine *e, int64_t upto_ms)
{
    struct cold_point first;

    list_each_of (const struct cold_run, r, &e->cold.runs, link)
        if (is_behind(e, &r->d) && cold_key_point(r->d.first, &first) && first.at_ms <= upto_ms)
            return true;
    return false;
}

static bool batch_is_open(const struct engine *e)
{
    return e->place.batch.active && !e->place.batch.fed;
}

/* A batch that is being written holds jobs beyond the frontier: it must stay until then. */
void frontier_follow(struct engine *e)
{
    int64_t target = e->now_ms + e->o.lookahead_ms;

    if (e->place.frontier.at_ms < target - e->o.lookahead_ms / FOLLOW && !batch_is_open(e) &&
        !passes_jobs(e, target))
        e->place.frontier = (struct cold_point){ target, UINT64_MAX };
}

int64_t frontier_wake(const struct engine *e)
{
    int64_t at = e->place.frontier.at_ms - e->o.lookahead_ms + e->o.lookahead_ms / FOLLOW + 1;

    if (at <= e->now_ms) /* it is being done */
        return INT64_MAX;
    list_each_of (const struct cold_run, r, &e->cold.runs, link)
        if (is_behind(e, &r->d))
            return at;
    return INT64_MAX;
}

static size_t load_bytes(const struct engine *e)
{
    return budget_share(e, SHARE_LOAD) < LOAD_BYTES ? budget_share(e, SHARE_LOAD) : LOAD_BYTES;
}

static bool load_due(struct engine *e, struct load_want *ret)
{
    int64_t target = e->now_ms + e->o.lookahead_ms;

    frontier_follow(e);
    if (e->place.frontier.at_ms >= target - e->o.lookahead_ms / FOLLOW || batch_is_open(e) ||
        e->place.bytes[WHERE_TAIL] > budget_share(e, SHARE_UNLOAD) || !passes_jobs(e, target))
        return false;
    *ret =
        (struct load_want){ .after = e->place.frontier, .upto_ms = target, .bytes = load_bytes(e) };
    return true;
}

/* No job of the class is given out until a setting changes, or maintenance ends. */
static bool is_stopped(const struct engine *e, const struct class *c)
{
    const struct queue *q = c->queue;

    return !q->hidden && (q->settings->paused || q->tenant->settings.paused ||
                          (tenant_is_shut(e, q->tenant) && c->number != CLASS_PASSING));
}

static bool is_hungry(const struct engine *e, const struct class *c)
{
    /* Without room, a class that gives out nothing needs no more jobs than it has in memory. */
    if (hot_room(e) == 0 && c->hot_bytes > 0 && is_stopped(e, c))
        return false;
    if (class_is_shut_out(e, c))
        return false;
    /* The first of the tail is before all jobs on disk: it needs no loading. On its way to disk it
     * must not be overtaken by them. */
    if (!class_is_on_disk(c) || tail_comes_first(c) || batch_has_first(e, c))
        return false;
    if (c->number == CLASS_ORDERED) {
        if (order_waits(e, c) || memory_is_pressed(e))
            return false; /* some of it may be set aside, and has to leave again */
        if (c->ready_bytes > 0 && c->queue->first_count == 0 && c->from.at_ms <= e->now_ms &&
            !class_is_half_glutted(e, c))
            return true; /* all that is due here is behind others */
    }
    if (c->hot_bytes == 0 || c->hot_bytes < hot_room(e) / 16)
        return true;
    /* Jobs that were loaded before the clock was set back must not keep out due ones. */
    if (c->ready_bytes == 0 && c->from.at_ms <= e->now_ms)
        return true;
    /* The first job on disk is due soon. It is loaded although later jobs fill the share of the
     * class, unless many hot jobs have come from disk. */
    return c->near.at_ms <= e->now_ms && c->near_bytes < hot_room(e) / 8 + class_least(e, c);
}

/* The class has no due job in memory that it could give. But due jobs may come from disk, from its
 * tail, or from a batch on its way to disk, whose jobs may have become due meanwhile. */
static bool class_owes(const struct engine *e, const struct class *c)
{
    const struct queue *q = c->queue;
    bool behind = c->number == CLASS_ORDERED && q->first_count == 0;

    if (is_stopped(e, c) || class_is_shut_out(e, c) || (c->ready_bytes > 0 && !behind))
        return false;
    if (MUTANT(e->o.mutant, FED_NOT_OWED) && !class_is_on_disk(c))
        return false;
    if (batch_takes_tails(e) && q->jobs[JOB_READY] > 0)
        return true;
    return c->closed && (!class_is_on_disk(c) || c->from.at_ms <= e->now_ms || tail_comes_first(c));
}

/* The frontier is late, as after a start or a jump of the clock. Due jobs of the queue are beyond
 * it: on disk, or on their way there. */
static bool frontier_owes(const struct engine *e, const struct queue *q)
{
    if (e->place.frontier.at_ms > e->now_ms)
        return false;
    return (q->cold[COLD_DUE] > 0 && passes_jobs(e, e->now_ms)) ||
           (q->jobs[JOB_SCHEDULED] > 0 && batch_is_open(e));
}

/* Whether a job that came from disk would be held. Lanes hold jobs that are in memory. */
static bool would_hold(const struct engine *e, const struct queue *q, bool passing)
{
    enum hold hold = queue_hold(e, q, passing);

    return hold != HOLD_NONE && hold != HOLD_LANES;
}

bool queue_owes(const struct engine *e, const struct queue *q)
{
    if ((frontier_owes(e, q) || asides_owe(e, q)) && !would_hold(e, q, true))
        return true;
    for (int i = 0; i < CLASSES; i++) {
        const struct class *c = q->classes[i];

        if (c && class_owes(e, c) && !would_hold(e, q, c->number == CLASS_PASSING))
            return true;
    }
    return false;
}

/* A class that has jobs on disk and few in memory; first of all one that has none there and could
 * give them out. */
static struct class *hungriest(struct engine *e)
{
    struct class *best = NULL;

    for (int i = 0; i < LOAD_CLASSES && !list_empty(&e->place.closed); i++) {
        struct class *c = container_of(e->place.closed.next, struct class, link);

        list_move(&e->place.closed, &c->link);
        if (!is_hungry(e, c))
            continue;
        if (c->ready_bytes == 0 && !is_stopped(e, c))
            return c;
        best = best ? best : c;
    }
    return best;
}

static bool load_class(struct engine *e, struct load_want *ret)
{
    struct class *c = hungriest(e);
    uint64_t room = hot_room(e) / 8;

    if (!c)
        return false;
    *ret = (struct load_want){
        .backlog = true,
        .queue = queue_name(c->queue),
        .class = c->number,
        .bytes = room > load_bytes(e) ? load_bytes(e)
                 : room < LOAD_MIN    ? LOAD_MIN
                                      : room,
    };
    return true;
}

/* Ended jobs fill memory, and a batch takes them, or will. A backlog that has expired on disk would
 * otherwise come to memory faster than its expired jobs go to disk. If no batch can be written, as
 * on a full disk, workers get the backlog all the same. */
static bool past_fills_memory(const struct engine *e, bool feeds)
{
    return e->place.bytes[WHERE_PAST] > budget_share(e, SHARE_PAST_FULL) &&
           (e->place.batch.active || feeds);
}

/* Loading by due time takes turns with loading from the backlog. Nothing is loaded while due jobs
 * in memory are not ready yet, because a loaded job might overtake them. Many such jobs take
 * several turns of the loop. */
bool engine_load_next(struct engine *e, bool due_too, struct load_want *ret)
{
    if (unfired_ms(e) <= e->now_ms || past_fills_memory(e, !due_too))
        return false;
    e->cold.load_turn = !e->cold.load_turn;
    if (e->cold.load_turn && due_too && load_due(e, ret))
        return true;
    return asides_load(e, ret) || load_class(e, ret) || (due_too && load_due(e, ret));
}
