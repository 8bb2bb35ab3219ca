/* SPDX-License-Identifier: MIT */
#include "front/ration.h"

#include <stdlib.h>

#define THOUSAND INT64_C(1000)

void rations_init(struct rations *r, const int64_t *rate, const int64_t *burst, struct hash_key key)
{
    *r = (struct rations){ .rate = rate, .burst = burst };
    named_init(&r->table, key);
    list_init(&r->all);
}

static void ration_forget(struct rations *r, struct ration *x)
{
    table_remove(&r->table, &x->named.node);
    list_remove(&x->link);
    free(x);
}

void rations_fini(struct rations *r)
{
    list_each_of_safe (struct ration, x, &r->all, link)
        ration_forget(r, x);
    table_fini(&r->table);
}

static int64_t ration_whole(const struct rations *r)
{
    return *r->burst * THOUSAND;
}

/* NULL: there is no memory. */
static struct ration *ration_obtain(struct rations *r, struct str tenant, int64_t mono_ms)
{
    struct ration *x = (struct ration *)named_find(&r->table, tenant);

    if (x)
        return x;
    x = calloc(1, sizeof(*x));
    if (!x)
        return NULL;
    for (int i = 0; i < 2; i++)
        x->parts[i] = (struct ration_part){ ration_whole(r), mono_ms };
    named_add(&r->table, &x->named, x->name, tenant);
    list_append(&r->all, &x->link);
    return x;
}

/* Adds credit for the time that has passed. N entries in a second are N thousandths of an entry in
 * a millisecond. */
static void ration_fill(const struct rations *r, struct ration_part *p, int64_t mono_ms)
{
    int64_t whole = ration_whole(r), passed = mono_ms - p->filled_ms;

    if (passed > whole / (*r->rate ? *r->rate : 1))
        p->credit = whole;
    else
        p->credit += passed * *r->rate;
    p->credit = p->credit < whole ? p->credit : whole;
    p->filled_ms = mono_ms;
}

int64_t ration_wait(struct rations *r, struct str tenant, bool admin, int64_t mono_ms)
{
    int64_t rate = *r->rate;
    struct ration *x;
    struct ration_part *p;

    if (rate == 0)
        return 0;
    x = ration_obtain(r, tenant, mono_ms);
    if (!x) {
        r->refused++;
        return THOUSAND;
    }
    p = &x->parts[admin];
    ration_fill(r, p, mono_ms);
    if (p->credit >= THOUSAND)
        return 0;
    x->since_ms = x->refused ? x->since_ms : mono_ms;
    x->last_ms = mono_ms;
    x->refused++;
    r->refused++;
    return (THOUSAND - p->credit + rate - 1) / rate;
}

void ration_spend(struct rations *r, struct str tenant, bool admin)
{
    struct ration *x = (struct ration *)named_find(&r->table, tenant);

    if (x)
        x->parts[admin].credit -= THOUSAND;
}

static bool ration_is_whole(const struct rations *r, struct ration *x, int64_t mono_ms)
{
    bool whole = true;

    for (int i = 0; i < 2; i++) {
        ration_fill(r, &x->parts[i], mono_ms);
        whole = whole && x->parts[i].credit == ration_whole(r);
    }
    return whole;
}

void rations_sweep(struct rations *r, int64_t mono_ms,
                   bool (*tell)(void *arg, struct str tenant, uint64_t refused), void *arg)
{
    list_each_of_safe (struct ration, x, &r->all, link) {
        bool due = mono_ms - x->since_ms >= RATION_TELL_MS || mono_ms - x->last_ms >= RATION_END_MS;

        if (x->refused && due && tell(arg, x->named.name, x->refused))
            x->refused = 0;
        if (!x->refused && (!*r->rate || ration_is_whole(r, x, mono_ms)))
            ration_forget(r, x);
    }
}
