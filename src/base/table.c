/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_NEAR 4 /* splits from now */

void table_init(struct table *t, uint64_t (*hash)(const struct table_node *node))
{
    *t = (struct table){
        .mask = 2 * TABLE_FIRST - 1,
        .buckets = TABLE_FIRST,
        .hash = hash,
        .segments_cap = 1,
        .first_cap = TABLE_FIRST,
    };
    t->first = t->small;
    t->segments = &t->first;
}

uint64_t table_entry_hash(const struct table_node *node)
{
    return ((const struct table_entry *)node)->hash;
}

void table_fini(struct table *t)
{
    if (!t || !t->segments)
        return;
    for (uint64_t i = 1; i < (t->buckets + TABLE_SEGMENT - 1) / TABLE_SEGMENT; i++)
        free(t->segments[i]);
    if (t->segments[0] != t->small)
        free(t->segments[0]);
    if (t->segments != &t->first)
        free(t->segments);
    memset(t, 0, sizeof *t);
}

/* Segment 0 grows in steps of eight, and is the only one that is ever copied. */
static bool table_grow_first(struct table *t)
{
    size_t cap = t->first_cap * 8;
    struct table_node **larger = calloc(cap, sizeof *larger);
    if (!larger)
        return false;
    memcpy(larger, t->segments[0], t->first_cap * sizeof *larger);
    if (t->segments[0] != t->small)
        free(t->segments[0]);
    t->segments[0] = larger;
    t->first_cap = cap;
    return true;
}

static bool table_add_segment(struct table *t, size_t at)
{
    if (at == t->segments_cap) {
        size_t cap = t->segments_cap * 2;
        bool own = t->segments != &t->first;
        struct table_node ***larger =
            realloc(own ? (void *)t->segments : NULL, cap * sizeof *larger);
        if (!larger)
            return false;
        if (!own)
            larger[0] = t->first;
        t->segments = larger;
        t->segments_cap = cap;
    }
    t->segments[at] = calloc(TABLE_SEGMENT, sizeof *t->segments[at]);
    return t->segments[at] != NULL;
}

/* Makes sure that bucket t->buckets has its place, empty. */
static bool table_room(struct table *t)
{
    if (t->buckets < TABLE_SEGMENT)
        return t->buckets < t->first_cap || table_grow_first(t);
    if (t->buckets % TABLE_SEGMENT == 0)
        return table_add_segment(t, (size_t)(t->buckets >> TABLE_SEGMENT_BITS));
    return true;
}

/* Adds one bucket. Both halves of the split chain keep their order. */
static bool table_split(struct table *t)
{
    if (!table_room(t))
        return false;
    uint64_t to = t->buckets;
    uint64_t half = (t->mask >> 1) + 1;
    struct table_node **keep = table_bucket(t, to - half);
    struct table_node **move = &t->segments[to >> TABLE_SEGMENT_BITS][to & (TABLE_SEGMENT - 1)];
    struct table_node *node = *keep;
    for (; node; node = node->next) {
        struct table_node ***end = t->hash(node) & half ? &move : &keep;
        **end = node;
        *end = &node->next;
    }
    *keep = *move = NULL;
    table_near_node(t, to - half + TABLE_NEAR); /* it is split soon */
    if (++t->buckets > t->mask)
        t->mask = t->mask * 2 + 1;
    return true;
}

void table_add(struct table *t, struct table_node *node)
{
    struct table_node **bucket = table_bucket(t, t->hash(node));
    node->next = *bucket;
    *bucket = node;
    t->count++;
    /* Two at most, so that a table that could not grow for a while catches up in small steps. */
    for (int i = 0; i < 2 && t->count > t->buckets; i++)
        if (!table_split(t))
            break;
}

void table_remove(struct table *t, struct table_node *node)
{
    struct table_node **link = table_bucket(t, t->hash(node));
    while (*link != node) {
        assert(*link);
        link = &(*link)->next;
    }
    *link = node->next;
    node->next = NULL;
    t->count--;
}

struct table_node *table_find(const struct table *t, uint64_t hash,
                              bool (*match)(const struct table_node *node, const void *key),
                              const void *key)
{
    struct table_node *node = table_chain(t, hash);
    while (node && !(t->hash(node) == hash && match(node, key)))
        node = node->next;
    return node;
}

int table_each_stripe(const struct table *t, unsigned s, uint64_t i,
                      int (*fn)(void *arg, struct table_node *node), void *arg)
{
    assert(s < 64);
    uint64_t stripes = UINT64_C(1) << s;
    assert(i < stripes);
    /* With as many buckets as stripes or more, a stripe is whole buckets; with fewer it is a part
     * of a single one. */
    bool whole = t->buckets >= stripes;
    uint64_t b = i;
    do {
        struct table_node *node = table_chain(t, b), *next;
        for (; node; node = next) {
            next = node->next;
            int stop = whole || (t->hash(node) & (stripes - 1)) == i ? fn(arg, node) : 0;
            if (stop)
                return stop;
        }
        b += stripes;
    } while (whole && b < t->buckets);
    return 0;
}
