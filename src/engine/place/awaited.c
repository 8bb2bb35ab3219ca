/* SPDX-License-Identifier: MIT */
#include "engine/place/awaited.h"

#include <assert.h>

#include "engine/place/queue.h"

/* Numbers of jobs fill the buckets evenly as they are. */
static uint64_t awaited_hash(const struct table_node *node)
{
    return container_of(node, const struct awaited, by_seq)->seq;
}

static bool awaited_is(const struct table_node *node, const void *seq)
{
    return awaited_hash(node) == *(const uint64_t *)seq;
}

static struct awaited *awaited_find(const struct engine *e, uint64_t seq)
{
    struct table_node *node = e->place.awaits.jobs.count
                                  ? table_find(&e->place.awaits.jobs, seq, awaited_is, &seq)
                                  : NULL;

    return node ? container_of(node, struct awaited, by_seq) : NULL;
}

void awaits_init(struct engine *e)
{
    table_init(&e->place.awaits.jobs, awaited_hash);
    list_init(&e->place.awaits.ended);
}

void awaits_fini(struct engine *e)
{
    assert(e->place.awaits.jobs.count == 0 && list_empty(&e->place.awaits.ended));
    table_fini(&e->place.awaits.jobs);
}

static struct awaited *awaited_new(struct engine *e, uint64_t seq, struct tenant *t)
{
    struct awaited *a = pool_alloc(&e->place.known.pool, sizeof(*a));

    if (!a)
        return NULL;
    *a = (struct awaited){ .seq = seq, .tenant = t };
    lists_init(&a->waits, &a->link);
    table_add(&e->place.awaits.jobs, &a->by_seq);
    return a;
}

/* The tenant is no longer charged for so many bytes of the waiters. */
static void awaited_uncount(struct engine *e, struct awaited *a, uint64_t bytes)
{
    if (!a->tenant)
        return;
    standing_count_wait(e, a->tenant, -bytes);
    a->bytes -= bytes;
    if (a->bytes == 0)
        tenant_settle(e, a->tenant);
}

int awaited_join(struct engine *e, uint64_t seq, struct tenant *t, struct waiter *w)
{
    struct awaited *a = awaited_find(e, seq);
    uint64_t bytes = pool_size(sizeof(*w));

    assert(w->link_count == 0 && !w->awaited);
    if (!a)
        a = awaited_new(e, seq, t);
    if (!a)
        return BELFRY_NOMEM;
    if (a->tenant) {
        standing_count_wait(e, a->tenant, bytes);
        a->bytes += bytes;
    }
    w->awaited = a;
    list_append(&a->waits, &w->await);
    return 0;
}

void awaited_leave(struct engine *e, struct waiter *w)
{
    struct awaited *a = w->awaited;

    if (!a)
        return;
    w->awaited = NULL;
    list_remove(&w->await);
    awaited_uncount(e, a, pool_size(sizeof(*w)));
    if (!list_empty(&a->waits))
        return;
    if (list_empty(&a->link))
        table_remove(&e->place.awaits.jobs, &a->by_seq);
    list_remove(&a->link);
    pool_free(&e->place.known.pool, a, sizeof(*a));
}

bool job_is_awaited(const struct engine *e, uint64_t seq)
{
    return awaited_find(e, seq) != NULL;
}

/* The tenant may go with its last job, so it is not named any more. */
void awaited_end(struct engine *e, uint64_t seq)
{
    struct awaited *a = awaited_find(e, seq);

    if (!a)
        return;
    awaited_uncount(e, a, a->bytes);
    a->tenant = NULL;
    table_remove(&e->place.awaits.jobs, &a->by_seq);
    list_append(&e->place.awaits.ended, &a->link);
}

struct waiter *awaits_next(const struct engine *e)
{
    const struct list *ended = &e->place.awaits.ended;

    if (list_empty(ended))
        return NULL;
    const struct awaited *a = container_of(ended->next, const struct awaited, link);
    return container_of(a->waits.next, struct waiter, await);
}
