/* SPDX-License-Identifier: MIT */
/* The items of a batch that is checked as a whole, by their keys and by their queues. */
#ifndef ENGINE_LOT_H
#define ENGINE_LOT_H

#include "base/hash.h"
#include "engine/types.h"

struct lot {
    const struct job_spec *specs;
    uint32_t *slots[2]; /* by key, by queue: the number of an item, from 1 on; 0: none */
    size_t mask;        /* the number of slots of each, less one */
    struct hash_key secret;
    uint64_t looks; /* items that were compared: for tests */
};

int lot_init(struct lot *t, struct hash_key secret, const struct job_spec *specs, size_t n);
void lot_fini(struct lot *t);
/* Both are asked for each item in turn, and note it. The first of them that has the key of item i,
 * and will have it when item i is scheduled; or the queue. NULL: none before it. */
const struct job_spec *lot_same_key(struct lot *t, size_t i);
const struct job_spec *lot_same_queue(struct lot *t, size_t i);

#endif
