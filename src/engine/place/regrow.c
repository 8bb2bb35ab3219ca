/* SPDX-License-Identifier: MIT */
/* A job that gets a listener. Mostly there is room for it behind the options. Otherwise the job
 * needs another piece of memory; it keeps its place in its list or wheel, its lease, its trail and
 * its key. */
#include <assert.h>

#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "record/opts.h"

#define LISTENERS_ROOM 32 /* bytes beyond half of the options */

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

/* The job came back to a tail, out of a batch: it goes before those that became ready after it. */
static void sort_tail(struct job *j)
{
    const struct list *head = &class_of(j)->tail;
    struct list *at = j->timer.link.prev;

    if (j->where != WHERE_TAIL || j->state != JOB_READY)
        return;
    while (at != head && container_of(at, struct job, timer.link)->timer.at_ms > j->timer.at_ms)
        at = at->prev;
    list_remove(&j->timer.link);
    list_append(at->next, &j->timer.link);
}

/* There must be room for it. */
static void put_listener(struct job *j, size_t at, struct str listener)
{
    memmove(j->tail + at + listener.len, j->tail + at, j->opts_len - at);
    memcpy(j->tail + at, listener.ptr, listener.len);
    j->opts_len = (uint16_t)(j->opts_len + listener.len);
    ear_of(j)->listeners++;
}

/* A copy with the new option, and with room for as many more as there are. */
static struct job *copy_of(struct engine *e, const struct job *j, size_t at, struct str listener)
{
    size_t len = j->opts_len + listener.len, room = len + len / 2 + LISTENERS_ROOM;
    size_t before = sizeof(struct ear) + (j->ordered ? sizeof(struct spot) : 0);
    size_t size = offsetof(struct job, tail) + room + j->payload_len;
    struct str payload = job_payload(j);
    char *memory = len <= UINT16_MAX ? pool_alloc(&e->pool, before + size) : NULL;
    struct job *n = (struct job *)(void *)(memory + before);

    if (!memory)
        return NULL;
    memcpy(n, j, offsetof(struct job, tail));
    n->heard = 1;
    *ear_of(n) = (struct ear){ (uint32_t)room, (uint16_t)job_listeners(j),
                               j->heard ? ear_of(j)->promised : 0 };
    memcpy(n->tail, j->tail, j->opts_len);
    if (payload.len > 0)
        memcpy(n->tail + room, payload.ptr, payload.len);
    put_listener(n, at, listener);
    return n;
}

/* The job leaves its place to be placed again. An ordered job gets its old place, which follows
 * from its due time. */
static void leave_place(struct engine *e, struct job *j, struct job *n)
{
    struct job_opts o;

    j->queue->offered++; /* until it is back: its queue keeps its turn */
    job_unplace(e, j);
    if (j->ordered) {
        lane_set(e, j, false);
        job_opts_get(j, &o);
        spot_init(e, n, o.order);
    }
    list_init(&n->timer.link);
    n->left = j->left;
    n->fed = n->near = 0;
    n->where = WHERE_NONE;
}

static void take_place(struct engine *e, struct job *n, int64_t lease_ends_ms)
{
    job_place(e, n, (enum job_state)n->state);
    if (n->state == JOB_LEASED && e->started) { /* its lease ends when it would have ended */
        wheel_remove(&n->trail->timer);
        n->trail->timer.at_ms = lease_ends_ms;
        wheel_add(&e->wheels[WHEEL_LEASES], &n->trail->timer);
    }
    if (!n->ordered)
        sort_tail(n);
    if (--n->queue->offered == 0)
        list_remove(&n->queue->turn);
}

/* The job moves to its copy. `moves`: it leaves its place, and is placed again. */
static void copy_enter(struct engine *e, struct job *j, struct job *n, bool moves)
{
    int64_t lease_ends_ms = j->trail ? j->trail->timer.at_ms : 0;

    if (moves)
        leave_place(e, j, n);
    else
        link_follow(&j->timer.link, &n->timer.link);
    table_remove(&e->place.jobs, &j->by_seq);
    table_add(&e->place.jobs, &n->by_seq);
    key_follow(e, j, n);
    if (n->trail)
        n->trail->job = n;
    if (moves) {
        take_place(e, n, lease_ends_ms);
    } else {
        e->place.bytes[n->where] += job_weight(n) - job_weight(j);
        n->queue->tenant->memory_bytes += job_weight(n) - job_weight(j);
    }
    if (!moves && n->where == WHERE_HOT)
        class_count_hot(class_of(n), n, job_weight(n) - job_weight(j));
    if (!moves && n->where == WHERE_LEASED)
        leased_count(e, n->queue->tenant, job_weight(n) - job_weight(j));
    pool_free(&e->pool, job_memory(j), job_size(j));
}

int job_regrow(struct engine *e, struct job *j, size_t at, struct str listener)
{
    struct queue *q = j->queue;

    assert(!state_is_ended(j->state) && at <= j->opts_len);
    if (j->heard && !j->fed && j->opts_len + listener.len <= ear_of(j)->opts_room &&
        j->opts_len + listener.len <= UINT16_MAX) {
        put_listener(j, at, listener);
    } else {
        struct job *n = copy_of(e, j, at, listener);

        if (!n)
            return BELFRY_NOMEM;
        /* The entry of a batch that has the job would not count: the job leaves the batch. */
        copy_enter(e, j, n, j->fed || j->ordered);
    }
    e->place.live_bytes += listener.len;
    kept_add(e, q, (int64_t)listener.len);
    return 0;
}
