/* SPDX-License-Identifier: MIT */
/* Counts by queue and slot, while a batch is written or runs are merged. */
#include "partition/internal.h"

#include <stdlib.h>

struct tally_item {
    uint64_t hash; /* 0: free */
    int64_t counts[COLD_SLOTS];
    int64_t bytes[COLD_SLOTS];
    struct cold_point first[COLD_SLOTS];
    uint16_t len;
    char queue[QUEUE_MAX_BYTES];
};

static struct tally_item *slot_for(const struct tally *t, uint64_t hash, struct str queue)
{
    size_t i = hash & (t->cap - 1);

    while (t->items[i].hash && !(t->items[i].hash == hash &&
                                 str_eq(queue, (struct str){ t->items[i].queue, t->items[i].len })))
        i = (i + 1) & (t->cap - 1);
    return &t->items[i];
}

static int grow(struct tally *t)
{
    struct tally bigger = { .key = t->key, .cap = t->cap ? 2 * t->cap : 16, .n = t->n };

    bigger.items = calloc(bigger.cap, sizeof(*bigger.items));
    if (!bigger.items)
        return BELFRY_NOMEM;
    for (size_t i = 0; i < t->cap; i++) {
        const struct tally_item *old = &t->items[i];

        if (old->hash)
            *slot_for(&bigger, old->hash, (struct str){ old->queue, old->len }) = *old;
    }
    free(t->items);
    t->items = bigger.items;
    t->cap = bigger.cap;
    t->last = NULL;
    return 0;
}

/* Jobs that were set aside come sorted: all jobs of a lane in a row. */
static int count_aside(struct tally *t, struct str queue, struct counted c, struct str key)
{
    uint64_t lane = cold_key_lane_of(key);
    struct tally_entry *a = &t->aside;

    if (a->n && a->lane == lane && str_eq(a->queue, queue)) {
        a->n += c.n;
        a->bytes += c.bytes;
        return 0;
    }
    if (a->n)
        tally_put(&t->asides, a);
    *a = (struct tally_entry){ .slot = COLD_ASIDE, .n = c.n, .bytes = c.bytes, .lane = lane };
    cold_key_point(key, &a->first);
    memcpy(t->aside_queue, queue.ptr, queue.len);
    a->queue = (struct str){ t->aside_queue, queue.len };
    return t->asides.failed ? BELFRY_NOMEM : 0;
}

static void item_count(struct tally_item *item, enum cold_slot slot, struct counted c,
                       struct str key)
{
    if (item->counts[slot] == 0)
        cold_key_point(key, &item->first[slot]);
    item->counts[slot] += c.n;
    item->bytes[slot] += c.bytes;
}

int tally_count(struct tally *t, struct str queue, enum cold_slot slot, struct counted c,
                struct str key)
{
    struct tally_item *item = t->last;

    if (slot == COLD_ASIDE)
        return count_aside(t, queue, c, key);
    if (item && str_eq(queue, (struct str){ item->queue, item->len })) {
        item_count(item, slot, c, key);
        return 0;
    }
    uint64_t hash = hash_quick(t->key, queue) | 1;
    if (2 * t->n >= t->cap && grow(t) < 0)
        return BELFRY_NOMEM;
    item = slot_for(t, hash, queue);
    if (!item->hash) {
        item->hash = hash;
        item->len = (uint16_t)queue.len;
        memcpy(item->queue, queue.ptr, queue.len);
        t->n++;
    }
    item_count(item, slot, c, key);
    t->last = item;
    return 0;
}

void tally_write(const struct tally *t, struct buf *out)
{
    for (size_t i = 0; i < t->cap; i++)
        for (int slot = 0; t->items[i].hash && slot < COLD_SLOTS; slot++)
            if (t->items[i].counts[slot])
                tally_put(out,
                          &(struct tally_entry){ .queue = { t->items[i].queue, t->items[i].len },
                                                 .slot = (enum cold_slot)slot,
                                                 .n = t->items[i].counts[slot],
                                                 .bytes = t->items[i].bytes[slot],
                                                 .first = t->items[i].first[slot] });
    buf_str(out, buf_view(&t->asides));
    if (t->asides.failed)
        out->failed = true;
    if (t->aside.n)
        tally_put(out, &t->aside);
}

void tally_fini(struct tally *t)
{
    free(t->items);
    buf_fini(&t->asides);
    *t = (struct tally){ 0 };
}
