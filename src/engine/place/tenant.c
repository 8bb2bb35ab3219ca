/* SPDX-License-Identifier: MIT */
/* Tenants and kinds. A kind is the queues of one name, of all tenants. turn.c decides which tenant
 * and which queue has its turn. */
#include "engine/place/queue.h"

#include <assert.h>

struct tenant *tenant_find(const struct engine *e, struct str name)
{
    struct named *found = named_find(&e->place.tenants, name);

    return found ? container_of(found, struct tenant, by_name) : NULL;
}

struct tenant *tenant_obtain(struct engine *e, struct str name)
{
    struct tenant *t = tenant_find(e, name);

    if (t)
        return t;
    t = pool_alloc(&e->place.known.pool, sizeof(*t) + name.len);
    if (!t)
        return NULL;
    *t = (struct tenant){ .settings = tenant_defaults, .sorted_queues.seed = e->o.seed };
    lists_init(&t->queues, &t->parked, &t->parked_pushing, &t->laden, &t->greedy,
               &t->rated.timer.link, &t->gate.link, &t->telling.jobs, &t->telling.link,
               &t->sums.gauges.pulse.link);
    t->rated.tenant = t;
    t->quiet_asked_ms = t->quiet_until_ms = -1;
    named_add(&e->place.tenants, &t->by_name, t->text, name);
    list_append(&e->place.tenant_list, &t->link);
    tree_add(&e->place.known.tenants, &t->sorted, &t->by_name);
    e->place.tenant_total++;
    return t;
}

/* Names are free to choose: a tenant without queues, settings, pushes and requests that wait is
 * forgotten. */
void tenant_settle(struct engine *e, struct tenant *t)
{
    if (!list_empty(&t->queues) || t->segment != 0 || t->pushes_full || t->standing.wait_bytes > 0)
        return;
    assert(list_empty(&t->parked) && list_empty(&t->parked_pushing) && e->place.tenant_total > 0);
    table_remove(&e->place.tenants, &t->by_name.node);
    list_remove(&t->link);
    tree_remove(&e->place.known.tenants, &t->sorted);
    leased_leave(e, t);
    list_remove(&t->greedy);
    list_remove(&t->telling.link);
    rated_fini(e, &t->rated);
    wheel_remove(&t->gate);
    pulse_tenant_gone(e, t);
    gauges_free(e, &t->sums.gauges);
    pool_free(&e->place.known.pool, t, sizeof(*t) + t->by_name.name.len);
    e->place.tenant_total--;
    e->place.known.tenants_forgotten++;
}

uint64_t tenant_recurrences(const struct engine *e, struct str name)
{
    char buf[QUEUE_MAX_BYTES];
    const struct queue *q = queue_find(e, hidden_queue_name(name, HIDDEN_RECURRENCE, buf));
    uint64_t n = 0;

    for (int i = 0; q && i < JOB_STATE_COUNT; i++)
        n += q->jobs[i];
    for (int i = 0; q && i < COLD_SLOTS; i++)
        n += (uint64_t)q->cold[i];
    return n;
}

struct kind *kind_find(const struct engine *e, struct str name)
{
    struct named *found = named_find(&e->place.kinds, name);

    return found ? container_of(found, struct kind, by_name) : NULL;
}

struct kind *kind_obtain(struct engine *e, struct str name)
{
    struct kind *k = kind_find(e, name);

    if (!k && (k = pool_alloc(&e->place.known.pool, sizeof(*k) + name.len))) {
        *k = (struct kind){ 0 };
        list_init(&k->ring);
        post_init(&k->post);
        k->post.kind = k;
        named_add(&e->place.kinds, &k->by_name, k->text, name);
        list_append(&e->place.kind_list, &k->link);
    }
    return k;
}

void kind_settle(struct engine *e, struct kind *k)
{
    if (k->queues > 0 || k->post.waiters > 0)
        return;
    assert(list_empty(&k->ring) && list_empty(&k->post.waits));
    table_remove(&e->place.kinds, &k->by_name.node);
    list_remove(&k->link);
    list_remove(&k->post.dispatch);
    pool_free(&e->place.known.pool, k, sizeof(*k) + k->by_name.name.len);
}

void post_init(struct post *p)
{
    list_init(&p->waits);
    list_init(&p->dispatch);
}

void post_call(struct engine *e, struct post *p)
{
    if (!list_empty(&p->waits) && list_empty(&p->dispatch))
        list_append(&e->place.turns.dispatch, &p->dispatch);
}

void tenants_init(struct engine *e)
{
    e->place.known.queues.seed = e->place.known.tenants.seed = e->o.seed;
    named_init(&e->place.tenants, e->o.secret);
    named_init(&e->place.kinds, e->o.secret);
    list_init(&e->place.tenant_list);
    list_init(&e->place.kind_list);
    list_init(&e->place.leases.laden);
    list_init(&e->place.leases.capped);
    list_init(&e->place.kept.greedy);
}

/* After the queues. */
void tenants_free(struct engine *e)
{
    while (!list_empty(&e->place.tenant_list)) {
        struct tenant *t = container_of(e->place.tenant_list.next, struct tenant, link);

        t->segment = 0;
        t->pushes_full = false;
        tenant_settle(e, t);
    }
    table_fini(&e->place.tenants);
    table_fini(&e->place.kinds);
}
