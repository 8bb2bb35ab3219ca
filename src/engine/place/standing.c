/* SPDX-License-Identifier: MIT */
/*
 * The memory of queues and of requests that wait, which stays whatever goes to disk, and its
 * shares. As with leased jobs, each tenant may have as much as it leaves to the others. A tenant
 * with its share gets no further queue, no further class of a queue, and no request of it is
 * parked. Idle queues do not count, as they are few, and make room.
 */
#include "engine/place/queue.h"

#include <assert.h>

#include "engine/place/budget.h"

static uint64_t limit_of(const struct engine *e)
{
    return budget_share(e, SHARE_STANDING) + KNOWN_FREE;
}

/* The part of a tenant's bytes that the sum of all tenants counts: at most the largest share. */
static uint64_t part(const struct engine *e, const struct tenant *t)
{
    uint64_t most = limit_of(e) / 2, bytes = standing_bytes(t);

    return bytes < most ? bytes : most;
}

uint64_t standing_bytes(const struct tenant *t)
{
    return t->standing.queue_bytes + t->standing.wait_bytes;
}

static void count(struct engine *e, struct tenant *t, uint64_t *part_of, uint64_t bytes)
{
    uint64_t before = part(e, t);

    *part_of += bytes;
    assert((int64_t)*part_of >= 0);
    e->place.known.standing_bytes += part(e, t) - before;
}

void standing_count(struct engine *e, const struct queue *q, uint64_t bytes)
{
    if (q->use != QUEUE_IDLE && bytes != 0)
        count(e, q->tenant, &q->tenant->standing.queue_bytes, bytes);
}

void standing_count_wait(struct engine *e, struct tenant *t, uint64_t bytes)
{
    count(e, t, &t->standing.wait_bytes, bytes);
}

uint64_t standing_share(const struct engine *e, const struct tenant *t)
{
    uint64_t limit = limit_of(e), others = e->place.known.standing_bytes - part(e, t);
    uint64_t least = budget_share(e, SHARE_STANDING_LEAST);
    uint64_t share = others < limit ? (limit - others) / 2 : 0;

    return share > least ? share : least;
}

bool standing_is_full(const struct engine *e, const struct tenant *t)
{
    return standing_bytes(t) >= standing_share(e, t);
}

void gauge_add(struct engine *e, const struct queue *q, struct hist **of_queue,
               struct hist **of_tenant, int64_t ms)
{
    uint64_t before = hist_bytes(*of_queue);

    hist_add_both(&e->place.known.pool, of_queue, of_tenant, ms);
    standing_count(e, q, hist_bytes(*of_queue) - before);
}
