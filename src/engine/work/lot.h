/* SPDX-License-Identifier: MIT */
/* An index of a batch's items by key and by queue, for a batch that is checked as a whole. */
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
/* The caller asks both functions about each item in turn. They answer the first item that has the
 * key, or the queue, of item i. NULL: i is the first itself, and is noted; or it has no key. */
const struct job_spec *lot_same_key(struct lot *t, size_t i);
const struct job_spec *lot_same_queue(struct lot *t, size_t i);

#endif
