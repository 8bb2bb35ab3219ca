/* SPDX-License-Identifier: MIT */
/* Lanes: which of the jobs with one ordering key is first, and given out. See lane.h. */
#include "engine/place/lane.h"

#include <assert.h>

#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/image.h"
#include "record/opts.h"

static struct job *job_of_line(const struct heap_node *node)
{
    return spot_job(container_of(node, struct spot, line));
}

bool job_owns_lane(const struct job *j)
{
    return j->ordered && state_is_ahead(j->state) && j->trail && j->trail->flags & TRAIL_OWNS_LANE;
}

static int urgency(const struct job *j)
{
    return j->state == JOB_LEASED ? 0 : job_owns_lane(j) ? 1 : 2;
}

bool lane_goes_before(const struct job *a, const struct job *b)
{
    if (urgency(a) != urgency(b))
        return urgency(a) < urgency(b);
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->seq < b->seq;
}

static bool arrived_before(const struct heap_node *a, const struct heap_node *b)
{
    return job_of_line(a)->seq < job_of_line(b)->seq;
}

static bool line_before(const struct heap_node *a, const struct heap_node *b)
{
    return lane_goes_before(job_of_line(a), job_of_line(b));
}

static heap_before_fn *line_order(const struct engine *e)
{
    return MUTANT(e->o.mutant, LANE_SWAP) ? arrived_before : line_before;
}

static bool rank_before(const struct heap_node *a, const struct heap_node *b)
{
    const struct job *x = job_of_line(a), *y = job_of_line(b);

    return job_rank(x) != job_rank(y) ? job_rank(x) < job_rank(y) : x->seq < y->seq;
}

/* ---- Jobs that can be given out ---- */

static void list_first(struct engine *e, struct job *j)
{
    struct spot *s = spot_of(j);
    struct queue *q = j->queue;

    if (s->listed || j->state != JOB_READY)
        return;
    assert(s->member == SPOT_FIRST);
    s->listed = job_owns_lane(j) ? SPOT_RETRY : SPOT_FRESH;
    heap_add(job_owns_lane(j) ? &q->retries[j->passing] : &q->firsts[j->passing], &s->line,
             rank_before);
    q->first_count += s->listed == SPOT_FRESH;
    q->offered++;
    if (j->passing)
        queue_unpark(e, q);
    else
        queue_offer(e, q);
}

void lane_unlist(struct job *j)
{
    struct spot *s = spot_of(j);
    struct queue *q = j->queue;

    if (!s->listed)
        return;
    assert(q->offered > 0 && (s->listed != SPOT_FRESH || q->first_count > 0));
    heap_remove(s->listed == SPOT_RETRY ? &q->retries[j->passing] : &q->firsts[j->passing],
                &s->line, rank_before);
    q->first_count -= s->listed == SPOT_FRESH;
    s->listed = SPOT_UNLISTED;
    q->offered--;
}

struct job *lanes_head(const struct engine *e, const struct queue *q)
{
    const struct heap_node *best = NULL;

    for (int passing = tenant_is_shut(e, q->tenant); passing < 2; passing++) {
        const struct heap_node *heads[] = {
            q->retries[passing].root, lanes_are_full(e, q->tenant) ? NULL : q->firsts[passing].root
        };

        for (int i = 0; i < 2; i++)
            if (heads[i] && (!best || rank_before(heads[i], best)))
                best = heads[i];
    }
    return best ? job_of_line(best) : NULL;
}

/* ---- Lanes ---- */

static bool same_lane(const struct table_node *node, const void *arg)
{
    const struct job *a = spot_job(container_of(node, struct spot, by_lane)), *b = arg;
    struct job_opts x, y;

    if (a->queue != b->queue)
        return false;
    job_opts_get(a, &x);
    job_opts_get(b, &y);
    return str_eq(x.order, y.order);
}

struct job *lane_first(const struct engine *e, const struct job *j)
{
    struct table_node *node = table_find(&e->place.lanes, spot_of(j)->hash, same_lane, j);

    if (!node || MUTANT(e->o.mutant, LANE_OVERLAP))
        return NULL;
    return spot_job(container_of(node, struct spot, by_lane));
}

static bool is_of_queue(const struct table_node *node, const void *arg)
{
    return spot_job(container_of(node, struct spot, by_lane))->queue == arg;
}

bool lane_is_taken(const struct engine *e, const struct queue *q, uint64_t lane)
{
    return table_find(&e->place.lanes, lane, is_of_queue, q);
}

unsigned lane_behind(const struct engine *e, const struct queue *q, uint64_t lane)
{
    const struct table_node *node = table_find(&e->place.lanes, lane, is_of_queue, q);

    return node ? container_of(node, struct spot, by_lane)->behind : 0;
}

static void become_first(struct engine *e, struct job *j, struct heap followers, uint32_t behind)
{
    struct spot *s = spot_of(j);

    s->member = SPOT_FIRST;
    s->followers = followers;
    s->behind = behind;
    table_add(&e->place.lanes, &s->by_lane);
}

/* Each of these two returns the job that is first then. */

static struct job *take_out(struct engine *e, struct job *first, struct job *j)
{
    struct spot *s = spot_of(j);

    assert(first && s->member == (first == j ? SPOT_FIRST : SPOT_BEHIND));
    s->member = SPOT_NONE;
    if (first != j) {
        heap_remove(&spot_of(first)->followers, &s->line, line_order(e));
        spot_of(first)->behind--;
        return first;
    }
    table_remove(&e->place.lanes, &s->by_lane);
    struct heap rest = s->followers;
    if (!rest.root)
        return NULL;
    struct job *next = job_of_line(rest.root);
    heap_remove(&rest, rest.root, line_order(e));
    become_first(e, next, rest, s->behind - 1);
    return next;
}

static struct job *put_in(struct engine *e, struct job *first, struct job *j)
{
    struct spot *s = spot_of(j), *f = first ? spot_of(first) : NULL;

    assert(first != j && s->member == SPOT_NONE);
    if (!first) {
        become_first(e, j, (struct heap){ 0 }, 0);
        return j;
    }
    if (!lane_goes_before(j, first)) {
        s->member = SPOT_BEHIND;
        heap_add(&f->followers, &s->line, line_order(e));
        f->behind++;
        return first;
    }
    lane_unlist(first);
    table_remove(&e->place.lanes, &f->by_lane);
    f->member = SPOT_BEHIND;
    become_first(e, j, f->followers, f->behind + 1);
    heap_add(&s->followers, &f->line, line_order(e));
    return j;
}

void lane_set(struct engine *e, struct job *j, bool in)
{
    struct spot *s = spot_of(j);

    assert(j->ordered);
    assert(!s->listed || s->member == SPOT_FIRST);
    if (s->member == SPOT_NONE && !in)
        return;
    struct job *first = s->member == SPOT_FIRST ? j : lane_first(e, j);
    if (s->member != SPOT_NONE) {
        first = take_out(e, first, j);
        aside_touch(e, j->queue, s->hash);
    }
    if (in)
        first = put_in(e, first, j);
    if (first)
        list_first(e, first);
    if (j->queue->offered == 0) /* not before: the new first takes the turn of the old one */
        list_remove(&j->queue->turn);
}

void lanes_init(struct engine *e)
{
    table_init(&e->place.lanes, table_entry_hash);
}
