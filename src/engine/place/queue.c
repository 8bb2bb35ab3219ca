/* SPDX-License-Identifier: MIT */
#include "engine/place/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <xxhash.h>

#include "engine/audit.h"
#include "engine/bulk.h"
#include "engine/place/pushing.h"
#include "engine/place/tenant.h"
#include "record/name.h"

#define IDLE_QUEUES 1000

static bool name_matches(const struct table_node *node, const void *arg)
{
    const struct queue *q = container_of(node, struct queue, by_name);

    return str_eq((struct str){ q->name, q->name_len }, *(const struct str *)arg);
}

struct queue *queue_find(const struct engine *e, struct str name)
{
    struct table_node *node;

    if (e->place.recent && name_matches(&e->place.recent->by_name, &name))
        return e->place.recent;
    node = table_find(&e->place.names, XXH3_64bits(name.ptr, name.len), name_matches, &name);
    return node ? container_of(node, struct queue, by_name) : NULL;
}

static void queue_forget(struct engine *e, struct queue *q)
{
    if (e->place.recent == q)
        e->place.recent = NULL;
    table_remove(&e->place.names, &q->by_name);
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
    e->place.hidden_total -= q->hidden;
    free(q);
}

/* Its tenant and kind are there from then on. */
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
    q->hidden = kind.ptr[0] == HIDDEN_MARK;
    q->bulk = str_eq(kind, STR(BULK_QUEUE));
    q->audit = str_eq(kind, STR(AUDIT_QUEUE));
    list_append(&q->tenant->queues, &q->of_tenant);
    q->tenant->queue_total += !q->hidden;
    q->kind->queues++;
    return true;
}

static void queues_trim(struct engine *e)
{
    for (; e->place.idle_count > IDLE_QUEUES; e->place.idle_count--)
        queue_forget(e, container_of(e->place.idle.next, struct queue, link));
}

struct queue *queue_obtain(struct engine *e, struct str name)
{
    struct queue *q = queue_find(e, name);

    if (q)
        return e->place.recent = q;
    queues_trim(e);
    q = calloc(1, sizeof(*q) + name.len);
    if (!q || !queue_join(e, q, name)) {
        free(q);
        return NULL;
    }
    q->settings = queue_defaults;
    q->name_len = (uint16_t)name.len;
    memcpy(q->name, name.ptr, name.len);
    list_init(&q->turn);
    list_init(&q->lull);
    list_init(&q->bucket.timer.link);
    q->bucket.queue = q;
    post_init(&q->post);
    q->post.queue = q;
    list_init(&q->past);
    list_init(&q->rich);
    list_init(&q->held);
    list_init(&q->dead);
    list_init(&q->logged);
    for (int i = 0; i < CLASSES; i++) {
        struct class *c = &q->classes[i];

        c->queue = q;
        list_init(&c->ready);
        list_init(&c->tail);
        list_init(&c->link);
        list_init(&c->near.link);
        list_init(&c->arrived);
        list_init(&c->fed);
    }
    table_add(&e->place.names, &q->by_name);
    list_append(&e->place.queues, &q->link);
    e->place.queue_total++;
    e->place.hidden_total += q->hidden;
    return q;
}

static bool is_idle(const struct queue *q)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (q->jobs[i])
            return false;
    return q->post.waiters == 0 && q->asides == 0 && q->segment == 0 && q->tally_segment == 0;
}

/* Queues come and go with their jobs: names are free to choose, so those without any use are
 * forgotten, oldest first, when there are many and another is made. Not sooner: somebody might be
 * looking at one. */
void queue_settle(struct engine *e, struct queue *q)
{
    bool idle = is_idle(q);

    if (idle == q->idle)
        return;
    assert(!idle || q->offered == 0);
    assert(idle || e->place.idle_count > 0);
    q->idle = idle;
    list_remove(&q->link);
    list_append(idle ? &e->place.idle : &e->place.queues, &q->link);
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

static void list_free(struct engine *e, struct list *head)
{
    while (!list_empty(head))
        queue_forget(e, container_of(head->next, struct queue, link));
}

void queues_free(struct engine *e)
{
    list_free(e, &e->place.queues);
    list_free(e, &e->place.idle);
}

static uint64_t hash_of_node(const struct table_node *node)
{
    const struct queue *q = container_of(node, struct queue, by_name);

    return XXH3_64bits(q->name, q->name_len);
}

void queues_init(struct engine *e)
{
    table_init(&e->place.names, hash_of_node);
    list_init(&e->place.queues);
    list_init(&e->place.rich);
    list_init(&e->place.idle);
    list_init(&e->place.turns.dispatch);
    list_init(&e->place.turns.serving);
    list_init(&e->place.turns.later);
    list_init(&e->place.turns.unwell);
}

bool queue_is_of(const struct queue *q, struct str tenant)
{
    return tenant.len == 0 || str_eq(tenant, STR(TENANT_ALL)) ||
           str_eq(tenant, (struct str){ q->tenant->name, q->tenant->name_len });
}
