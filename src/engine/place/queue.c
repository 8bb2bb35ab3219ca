/* SPDX-License-Identifier: MIT */
#include "engine/place/queue.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/place/pushing.h"
#include "record/name.h"

#define IDLE_QUEUES 1000

struct queue *queue_find(const struct engine *e, struct str name)
{
    if (e->place.recent && str_eq(queue_name(e->place.recent), name))
        return e->place.recent;
    struct named *found = named_find(&e->place.names, name);
    return found ? container_of(found, struct queue, by_name) : NULL;
}

struct queue *queue_next(const struct engine *e, const struct queue *q)
{
    const struct list *next = q ? q->link.next : e->place.queues.next;

    if (next == &e->place.queues)
        next = e->place.idle.next;
    return next == &e->place.idle ? NULL : container_of(next, struct queue, link);
}

static void queue_forget(struct engine *e, struct queue *q)
{
    if (e->place.recent == q)
        e->place.recent = NULL;
    table_remove(&e->place.names, &q->by_name.node);
    list_remove(&q->link);
    list_remove(&q->post.dispatch);
    list_remove(&q->turn);
    list_remove(&q->of_tenant);
    wheel_remove(&q->bucket.timer);
    queue_push_fini(e, q);
    q->tenant->queue_total -= !q->hidden;
    tenant_settle(e, q->tenant);
    q->kind->queues--;
    kind_settle(e, q->kind);
    list_remove(&q->lull);
    for (int i = 0; i < CLASSES; i++) {
        list_remove(&q->classes[i].link);
        list_remove(&q->classes[i].arrived);
        list_remove(&q->classes[i].fed);
        wheel_remove(&q->classes[i].near);
        free(q->classes[i].floors);
    }
    free(q->gauges.lateness);
    free(q->gauges.runtime);
    free(q->gauges.wait);
    e->place.queue_total--;
    e->place.hidden_total -= q->hidden != HIDDEN_NONE;
    free(q);
}

/* Makes sure of the queue's tenant and kind. */
static bool queue_join(struct engine *e, struct queue *q, struct str name)
{
    struct str tenant, kind;

    scope_split(name, &tenant, &kind);
    q->tenant = tenant_obtain(e, tenant);
    q->kind = q->tenant ? kind_obtain(e, kind) : NULL;
    if (!q->kind) {
        if (q->tenant)
            tenant_settle(e, q->tenant);
        return false;
    }
    q->serves = q->kind;
    q->hidden = hidden_kind(kind);
    list_append(&q->tenant->queues, &q->of_tenant);
    q->tenant->queue_total += !q->hidden;
    q->kind->queues++;
    return true;
}

struct queue *queue_obtain(struct engine *e, struct str name)
{
    struct queue *q = queue_find(e, name);

    if (q)
        return e->place.recent = q;
    for (; e->place.idle_count > IDLE_QUEUES; e->place.idle_count--)
        queue_forget(e, container_of(e->place.idle.next, struct queue, link));
    q = calloc(1, sizeof(*q) + name.len);
    if (!q || !queue_join(e, q, name)) {
        free(q);
        return NULL;
    }
    q->settings = queue_defaults;
    lists_init(&q->turn, &q->lull, &q->bucket.timer.link);
    q->bucket.queue = q;
    post_init(&q->post);
    q->post.queue = q;
    lists_init(&q->past, &q->rich, &q->past_keyed, &q->dead, &q->logged);
    classes_init(q);
    named_add(&e->place.names, &q->by_name, q->text, name);
    list_append(&e->place.queues, &q->link);
    e->place.queue_total++;
    e->place.hidden_total += q->hidden != HIDDEN_NONE;
    return q;
}

static bool is_idle(const struct queue *q)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (q->jobs[i])
            return false;
    return q->post.waiters == 0 && q->asides == 0 && q->segment == 0 && q->tally_segment == 0;
}

/* Names are free to choose, so queues come and go with their jobs. When there are many and another
 * is made, the engine forgets useless ones, oldest first. It forgets none earlier, because a caller
 * may be looking at one. */
void queue_settle(struct engine *e, struct queue *q)
{
    bool idle = is_idle(q);

    if (idle == q->idle)
        return;
    assert(!idle || q->offered == 0);
    assert(idle || e->place.idle_count > 0);
    q->idle = idle;
    list_move(idle ? &e->place.idle : &e->place.queues, &q->link);
    e->place.idle_count = idle ? e->place.idle_count + 1 : e->place.idle_count - 1;
}

void queue_count(struct engine *e, struct queue *q, unsigned state, int64_t n)
{
    assert(state < JOB_STATE_COUNT);
    q->jobs[state] += (uint64_t)n;
    if (q->hidden)
        return;
    e->place.states[state] += (uint64_t)n;
    if (!state_is_ended(state))
        q->tenant->pending += n;
    if (state == JOB_LEASED)
        q->tenant->running += (uint64_t)n;
}

void queues_free(struct engine *e)
{
    struct queue *q;

    while ((q = queue_next(e, NULL)))
        queue_forget(e, q);
}

void queues_init(struct engine *e)
{
    named_init(&e->place.names);
    lists_init(&e->place.queues, &e->place.rich, &e->place.idle, &e->place.turns.dispatch,
               &e->place.turns.serving, &e->place.turns.later, &e->place.turns.unwell);
}

bool queue_is_of(const struct queue *q, struct str tenant)
{
    return tenant.len == 0 || str_eq(tenant, STR(TENANT_ALL)) ||
           str_eq(tenant, tenant_name(q->tenant));
}
