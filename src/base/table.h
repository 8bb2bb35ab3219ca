/* SPDX-License-Identifier: MIT */
/*
 * An intrusive hash table that grows without pauses (linear hashing).
 *
 * Buckets are added one at a time: with 2^k <= n < 2^(k+1) buckets, adding bucket n splits bucket
 * n - 2^k in two. The buckets live in segments of 4096 that never move; only the array of segments
 * does. While a table is small its only segment is short, at first inside the table itself.
 *
 *     segments --> [0] --> | chain | chain | ... 4096 |
 *                  [1] --> | chain | chain | ... 4096 |
 *
 * The low bits of a hash choose the bucket, so they must be well mixed. A table never owns its
 * nodes, never shrinks, must not be moved once initialised, and is not thread-safe.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define TABLE_SEGMENT_BITS 12
#define TABLE_SEGMENT      (1u << TABLE_SEGMENT_BITS)
#define TABLE_FIRST        8u

struct table_node {
    struct table_node *next;
};

/* The beginning of a thing that keeps the hash of its node behind it. */
struct table_entry {
    struct table_node node;
    uint64_t hash;
};

struct table {
    struct table_node ***segments;
    uint64_t mask;    /* 2^(k+1) - 1 */
    uint64_t buckets; /* n */
    uint64_t count;   /* nodes */
    uint64_t (*hash)(const struct table_node *node);
    struct hash_key key; /* of a table by names or other bytes from outside; see named.h */
    size_t segments_cap;
    size_t first_cap; /* buckets that segment 0 has room for */
    struct table_node **first;
    struct table_node *small[TABLE_FIRST];
};

void table_init(struct table *t, uint64_t (*hash)(const struct table_node *node));
/* For a table of such things. */
uint64_t table_entry_hash(const struct table_node *node);
void table_fini(struct table *t);

/* Cannot fail: if there is no memory to grow the chains get longer, and later calls try again. */
void table_add(struct table *t, struct table_node *node);

/* The node must be in the table. */
void table_remove(struct table *t, struct table_node *node);

/* The first node with this hash that matches, or NULL. `match` sees only nodes of equal hash. */
struct table_node *table_find(const struct table *t, uint64_t hash,
                              bool (*match)(const struct table_node *node, const void *key),
                              const void *key);

/* Visits the nodes with (hash & (2^s - 1)) == i, s < 64. The size of the table does not matter for
 * this choice. So a walk over all stripes stays right while the table grows in between. fn may
 * remove the node that it is given, but change nothing else. An answer of fn that is not 0 ends
 * the walk and is returned. */
int table_each_stripe(const struct table *t, unsigned s, uint64_t i,
                      int (*fn)(void *arg, struct table_node *node), void *arg);

static inline struct table_node **table_bucket(const struct table *t, uint64_t hash)
{
    uint64_t b = hash & t->mask;
    if (b >= t->buckets)
        b &= t->mask >> 1;
    return &t->segments[b >> TABLE_SEGMENT_BITS][b & (TABLE_SEGMENT - 1)];
}

/* For a caller that will look for many hashes: it calls table_near_bucket for all of them, then
 * table_near_node for all. The first fetches the bucket to the processor's cache, the second the
 * first node of the bucket. */
static inline void table_near_bucket(const struct table *t, uint64_t hash)
{
    __builtin_prefetch(table_bucket(t, hash));
}

static inline void table_near_node(const struct table *t, uint64_t hash)
{
    __builtin_prefetch(*table_bucket(t, hash));
}

/* The chain that holds every node with this hash, among others: for hot callers to loop over. */
static inline struct table_node *table_chain(const struct table *t, uint64_t hash)
{
    return *table_bucket(t, hash);
}

#endif
