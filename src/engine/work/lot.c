/* SPDX-License-Identifier: MIT */
/* Two tables with open addresses that are at most half full. They live as long as a request. */
#include "engine/work/lot.h"

#include <stdlib.h>

#include "base/error.h"

int lot_init(struct lot *t, struct hash_key secret, const struct job_spec *specs, size_t n)
{
    size_t slots = 16;

    while (slots < 2 * n)
        slots *= 2;
    uint32_t *memory = calloc(2 * slots, sizeof(*memory));
    if (!memory)
        return BELFRY_NOMEM;
    *t = (struct lot){
        .specs = specs, .slots = { memory, memory + slots }, .mask = slots - 1, .secret = secret
    };
    return 0;
}

void lot_fini(struct lot *t)
{
    free(t->slots[0]);
}

static bool is_same(const struct job_spec *a, const struct job_spec *b, bool by_key)
{
    return str_eq(a->queue, b->queue) &&
           (!by_key || (str_eq(a->key, b->key) && str_eq(a->order, b->order)));
}

static const struct job_spec *meet(struct lot *t, size_t i, uint64_t hash, bool by_key)
{
    uint32_t *slots = t->slots[!by_key], *slot = &slots[hash & t->mask];

    for (; *slot; slot = &slots[++hash & t->mask]) {
        t->looks++;
        if (is_same(&t->specs[*slot - 1], &t->specs[i], by_key))
            return &t->specs[*slot - 1];
    }
    *slot = (uint32_t)i + 1;
    return NULL;
}

const struct job_spec *lot_same_key(struct lot *t, size_t i)
{
    const struct job_spec *s = &t->specs[i];
    uint64_t hash = hash_quick(t->secret, s->key);

    if (s->key.len == 0)
        return NULL;
    hash = hash * 31 + hash_quick(t->secret, s->order);
    hash = hash * 31 + hash_quick(t->secret, s->queue);
    return meet(t, i, hash, true);
}

const struct job_spec *lot_same_queue(struct lot *t, size_t i)
{
    return meet(t, i, hash_quick(t->secret, t->specs[i].queue), false);
}
