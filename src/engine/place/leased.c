/* SPDX-License-Identifier: MIT */
/*
 * The memory of leased jobs, which have to stay in memory, and its shares.
 *
 *     0                    1/2  9/16       of `memory`
 *     ├──────────┬────────┬─┼────┤
 *     │ tenant a │ b      │c│    │         each tenant as much as it leaves to others
 *                           └────┴ a little for each tenant though nothing is left
 *
 * A tenant that has its share is given no further job, and no other tenant waits for it. A tenant
 * may have more than its share after an upgrade, or after a start with less memory. The excess is
 * not counted for the others.
 *
 * max_leased of a tenant bites before its share does, or not at all. Only the end of one of its own
 * leases, or a setting, ends that wait. So tenants that wait for it are in a list of their own,
 * which the ends of other leases do not walk over.
 */
#include "engine/place/queue.h"

#include <assert.h>

#include "engine/place/budget.h"

/* The part of a tenant's bytes that the sum of all tenants counts: at most the largest share. */
static uint64_t part(const struct engine *e, const struct tenant *t)
{
    uint64_t most = budget_share(e, SHARE_LEASED) / 2;

    return t->leased_bytes < most ? t->leased_bytes : most;
}

void leased_count(struct engine *e, struct tenant *t, uint64_t bytes)
{
    uint64_t before = part(e, t);

    t->leased_bytes += bytes;
    assert((int64_t)t->leased_bytes >= 0);
    e->place.leases.bytes += part(e, t) - before;
}

/* The share that others leave to the tenant. */
static uint64_t tenant_share(const struct engine *e, const struct tenant *t)
{
    uint64_t limit = budget_share(e, SHARE_LEASED), used = e->place.leases.bytes;
    uint64_t others = used - part(e, t), least = budget_share(e, SHARE_LEASED_LEAST);
    uint64_t share = others < limit ? (limit - others) / 2 : 0;

    return share > least ? share : least;
}

uint64_t leased_share(const struct engine *e, const struct tenant *t)
{
    uint64_t share = tenant_share(e, t), most = (uint64_t)t->settings.max_leased;

    return most > 0 && most < share ? most : share;
}

bool leased_is_capped(const struct engine *e, const struct tenant *t)
{
    return t->settings.max_leased > 0 && t->leased_bytes >= (uint64_t)t->settings.max_leased &&
           !MUTANT(e->o.mutant, LEASED_IGNORED);
}

bool leased_is_full(const struct engine *e, const struct tenant *t)
{
    if (leased_is_capped(e, t))
        return true;
    if (MUTANT(e->o.mutant, LEASES_SHARED))
        return e->place.bytes[WHERE_LEASED] >= budget_share(e, SHARE_LEASED);
    /* While all tenants together have less than a third of the limit, no tenant has reached its
     * share. The test with a quarter is quick and safe. */
    if (e->place.leases.bytes < budget_share(e, SHARE_LEASED) / 4)
        return false;
    return t->leased_bytes >= tenant_share(e, t);
}

bool leases_fill_memory(const struct engine *e)
{
    return e->place.leases.bytes >= budget_share(e, SHARE_LEASED_ALL);
}

static void leased_join(struct engine *e, struct tenant *t)
{
    struct leases *l = &e->place.leases;

    list_append(leased_is_capped(e, t) ? &l->capped : &l->laden, &t->laden);
    l->waiting++;
}

void leased_leave(struct engine *e, struct tenant *t)
{
    if (list_empty(&t->laden))
        return;
    list_remove(&t->laden);
    e->place.leases.waiting--;
}

void leased_wait(struct engine *e, struct tenant *t)
{
    if (!list_empty(&t->laden))
        return;
    leased_join(e, t);
    e->place.leases.holds++;
}

void leased_settle(struct engine *e, struct tenant *t)
{
    if (list_empty(&t->laden))
        return;
    leased_leave(e, t);
    if (leased_is_full(e, t))
        leased_join(e, t);
    else
        tenant_unpark(e, t);
}

/* Each tenant that waits in this list has the least share or more, so the list is short. */
void leased_ebb(struct engine *e)
{
    list_each_of_safe (struct tenant, t, &e->place.leases.laden, laden) {
        if (leased_is_full(e, t))
            continue;
        leased_leave(e, t);
        tenant_unpark(e, t);
    }
}
