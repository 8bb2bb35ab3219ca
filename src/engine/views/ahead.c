/* SPDX-License-Identifier: MIT */
/*
 * Who goes before a job. A queue gives the job of lowest rank among the first jobs of its classes
 * and lanes. So the jobs before another one are beginnings of these lists. They are counted in few
 * steps; beyond those the answer is a bound.
 */
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "engine/views/look.h"
#include "engine/work/work.h"

#define STEPS 1000 /* in each list */

struct count {
    const struct engine *e;
    const struct job *job;
    int64_t rank; /* jobs of lower rank go before it */
    bool passing; /* only jobs that pass all gates do */
    size_t steps; /* that are left */
    struct ahead *ret;
};

/* A worker that asks is not given the job. */
static bool is_passed_over(const struct engine *e, const struct job *j)
{
    return job_is_over(e, j) || job_quiet_until(e, j) >= 0;
}

static bool job_is_listed(const struct job *j)
{
    return j->where == WHERE_HOT && j->state == JOB_READY;
}

static void count_class(struct count *c, const struct class *k, bool ties)
{
    size_t steps = 0;

    list_each_of (const struct job, j, &k->ready, timer.link) {
        if (job_rank(j) > c->rank || (job_rank(j) == c->rank && !ties))
            return;
        if (steps++ == STEPS) {
            c->ret->exact = false;
            return;
        }
        c->ret->least += !is_passed_over(c->e, j);
    }
    if (k->closed) /* some of its jobs on disk may have a low rank, too */
        c->ret->exact = false;
}

/* The job is far from the beginning of its list. */
static void count_far(struct count *c, const struct class *k, uint64_t walked)
{
    uint64_t behind = 0;

    c->ret->exact = false;
    c->ret->least = walked;
    c->rank = job_rank(c->job);
    if (tenant_quiet_until(c->e, k->queue->tenant) >= 0)
        return; /* any of them may be passed over */
    for (const struct list *at = k->ready.prev; at != &c->job->timer.link; at = at->prev)
        if (++behind > STEPS)
            return;
    c->ret->least = k->ready_count - 1 - behind;
}

/* The job is not in the list of its class: all those that are go before it. */
static void count_all(struct count *c, const struct class *k)
{
    uint64_t walked = 0, given = 0;

    c->ret->exact = false;
    list_each_of (const struct job, j, &k->ready, timer.link) {
        if (walked++ == STEPS)
            break;
        given += !is_passed_over(c->e, j);
    }
    if (walked > STEPS && tenant_quiet_until(c->e, k->queue->tenant) < 0)
        given = k->ready_count;
    c->ret->least += given;
}

/* Jobs of its own class. One of higher rank that stands before it holds it up. */
static void count_own(struct count *c, const struct class *k)
{
    size_t steps = 0;

    if (!job_is_listed(c->job)) {
        count_all(c, k);
        return;
    }
    list_each_of (const struct job, j, &k->ready, timer.link) {
        if (j == c->job)
            return;
        if (steps++ == STEPS) {
            count_far(c, k, c->ret->least);
            return;
        }
        if (job_rank(j) > c->rank)
            c->rank = job_rank(j);
        c->ret->least += !is_passed_over(c->e, j);
    }
}

static bool count_first(void *arg, const struct heap_node *node)
{
    struct count *c = arg;
    const struct job *j = spot_job(container_of(node, const struct spot, line));

    if (j == c->job || job_rank(j) > c->rank ||
        (job_rank(j) == c->rank && c->job->ordered && j->seq > c->job->seq))
        return false;
    c->ret->exact = false; /* the next job of its lane may go before it, too */
    if (c->steps == 0)
        return false;
    c->steps--;
    c->ret->least += !is_passed_over(c->e, j);
    return true;
}

static void count_lanes(struct count *c, const struct queue *q)
{
    bool full = lanes_are_full(c->e, q->tenant);

    for (int passing = c->passing; passing < 2; passing++) {
        c->steps = STEPS;
        heap_visit(&q->retries[passing], count_first, c);
        c->steps = STEPS;
        if (!full)
            heap_visit(&q->firsts[passing], count_first, c);
    }
}

static void count_queue(struct count *c, const struct queue *q)
{
    unsigned own = c->job->ordered ? CLASSES : class_index_of(c->job);

    if (own < CLASSES)
        count_own(c, q->classes[own]);
    for (unsigned i = c->passing ? INDEX_PASSING : 0; i < CLASSES; i++)
        if (i != own && i != INDEX_ORDERED && q->classes[i])
            count_class(c, q->classes[i], !c->job->ordered && i < own);
    count_lanes(c, q);
}

/* ---- Jobs with one ordering key ---- */

static bool count_follower(void *arg, const struct heap_node *node)
{
    struct count *c = arg;
    const struct job *j = spot_job(container_of(node, const struct spot, line));

    if (j == c->job || c->steps == 0 || !lane_goes_before(j, c->job))
        return false;
    c->steps--;
    c->ret->least += !is_passed_over(c->e, j);
    return true;
}

static void count_lane(struct count *c, const struct job *first)
{
    c->steps = STEPS;
    c->ret->exact = false;
    c->ret->first = first;
    c->ret->least = first->state == JOB_READY && !is_passed_over(c->e, first);
    heap_visit(&spot_of(first)->followers, count_follower, c);
}

/* The job that the queue gives next, whatever holds it; or NULL. */
static const struct job *queue_first(const struct engine *e, const struct queue *q)
{
    const struct job *best = lanes_head(e, q);

    for (int i = 0; i < CLASSES; i++) {
        const struct class *c = q->classes[i];

        if (!c || list_empty(&c->ready))
            continue;
        const struct job *j = container_of(c->ready.next, const struct job, timer.link);
        if (!best || job_rank(j) < job_rank(best))
            best = j;
    }
    return best;
}

void ahead_of(const struct engine *e, const struct job *j, struct ahead *ret)
{
    const struct queue *q = j->queue;
    const struct job *first = j->ordered ? lane_first(e, j) : NULL;
    struct count c = { .e = e,
                       .job = j,
                       .rank = job_rank(j),
                       .passing = j->passing && tenant_is_shut(e, q->tenant),
                       .ret = ret };

    *ret = (struct ahead){ .exact = true };
    if (first && first->seq != j->seq) {
        count_lane(&c, first);
    } else if (j->ordered && !first) { /* on disk, or behind jobs that are */
        ret->exact = false;
    } else {
        count_queue(&c, q);
        first = ret->exact && ret->least == 0 ? NULL : queue_first(e, q);
        ret->first = first != j ? first : NULL;
    }
}
