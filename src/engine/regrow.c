/* SPDX-License-Identifier: MIT */
/* A job whose options get longer needs another piece of memory; for everybody else nothing changes:
 * it keeps its place in its list or wheel, its lease, its trail and its key. */
#include "engine/internal.h"

static void link_follow(struct list *from, struct list *to)
{
    if (list_empty(from)) {
        list_init(to);
        return;
    }
    *to = *from;
    to->next->prev = to->prev->next = to;
    list_init(from);
}

/* What counts it by its size. */
static void count_growth(struct engine *e, const struct job *j, size_t more)
{
    struct class *c = &j->queue->classes[j->priority - 1];

    e->bytes[j->where] += more;
    if (j->where != WHERE_HOT)
        return;
    c->hot_bytes += more;
    if (j->near)
        c->near_bytes += more;
    if (j->state == JOB_READY)
        c->ready_bytes += more;
}

/* It came back to a tail, out of a batch: before those that became ready after it. */
static void order_tail(struct job *j)
{
    const struct list *head = &j->queue->classes[j->priority - 1].tail;
    struct list *at = j->timer.link.prev;

    if (j->where != WHERE_TAIL || j->state != JOB_READY)
        return;
    while (at != head && container_of(at, struct job, timer.link)->timer.at_ms > j->timer.at_ms)
        at = at->prev;
    list_remove(&j->timer.link);
    list_append(at->next, &j->timer.link);
}

static struct job *copy_of(struct engine *e, const struct job *j, struct str opts)
{
    struct job *n = pool_alloc(&e->pool, offsetof(struct job, tail) + opts.len + j->payload_len);

    if (!n)
        return NULL;
    memcpy(n, j, offsetof(struct job, tail));
    n->opts_len = (uint16_t)opts.len;
    memcpy(n->tail, opts.ptr, opts.len);
    memcpy(n->tail + opts.len, j->tail + j->opts_len, j->payload_len);
    return n;
}

int job_regrow(struct engine *e, struct job *j, struct str opts)
{
    struct job *n = copy_of(e, j, opts);
    bool fed = j->fed;

    if (!n)
        return BELFRY_NOMEM;
    if (fed) { /* what was written of it does not count: it leaves the batch */
        job_unplace(e, j);
        n->fed = n->near = 0;
        n->where = WHERE_NONE;
    }
    link_follow(&j->timer.link, &n->timer.link);
    table_remove(&e->jobs, &j->by_seq);
    table_add(&e->jobs, &n->by_seq);
    key_follow(e, j, n);
    if (n->trail)
        n->trail->job = n;
    e->live_bytes += opts.len - j->opts_len;
    if (fed) {
        job_place(e, n, JOB_SCHEDULED);
        order_tail(n);
    } else {
        count_growth(e, n, job_weight(n) - job_weight(j));
    }
    pool_free(&e->pool, j, job_size(j));
    return 0;
}
