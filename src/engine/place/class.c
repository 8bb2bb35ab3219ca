/* SPDX-License-Identifier: MIT */
/* The classes of a queue, and their shares of memory. */
#include "engine/place/queue.h"

#include "engine/place/budget.h"

#include <assert.h>
#include <stdlib.h>

static const struct class rows[CLASSES] = {
#define ROW(name, row_number, row_slot) { .number = (row_number), .slot = (row_slot) },
    QUEUE_CLASSES(ROW)
#undef ROW
};

unsigned class_index_of(const struct job *j)
{
    return j->ordered ? INDEX_ORDERED : j->passing ? INDEX_PASSING : j->priority - 1;
}

struct class *class_of(const struct job *j)
{
    struct class *c = j->queue->classes[class_index_of(j)];

    assert(c);
    return c;
}

unsigned class_number_of(const struct job *j)
{
    return rows[class_index_of(j)].number;
}

struct class *class_obtain(struct engine *e, struct queue *q, unsigned index)
{
    struct class *c = q->classes[index];

    if (c)
        return c;
    c = pool_alloc(&e->place.known.pool, sizeof(*c));
    if (!c)
        return NULL;
    *c = rows[index];
    c->queue = q;
    lists_init(&c->ready, &c->tail, &c->link, &c->near.link, &c->arrived, &c->fed);
    assert(cold_slot_of(FAMILY_BACKLOG, JOB_READY, c->number) == c->slot);
    return q->classes[index] = c;
}

void classes_free(struct engine *e, struct queue *q)
{
    for (int i = 0; i < CLASSES; i++) {
        struct class *c = q->classes[i];

        if (!c)
            continue;
        list_remove(&c->link);
        list_remove(&c->arrived);
        list_remove(&c->fed);
        wheel_remove(&c->near);
        free(c->floors);
        pool_free(&e->place.known.pool, c, sizeof(*c));
        q->classes[i] = NULL;
    }
}

unsigned class_numbered(unsigned number)
{
    return class_is_valid(number) ? class_at_slot(cold_slot_of(FAMILY_BACKLOG, JOB_READY, number))
                                  : CLASSES;
}

unsigned class_at_slot(enum cold_slot slot)
{
    unsigned i = 0;

    while (i < CLASSES && rows[i].slot != slot)
        i++;
    return i;
}

void class_count_hot(struct class *c, const struct job *j, uint64_t bytes)
{
    c->hot_bytes += bytes;
    if (j->near)
        c->near_bytes += bytes;
    if (j->state == JOB_READY)
        c->ready_bytes += bytes;
    assert((int64_t)c->hot_bytes >= 0 && c->ready_bytes <= c->hot_bytes);
}

void class_close(struct engine *e, struct class *c)
{
    if (!c->closed) {
        c->closed = true;
        e->place.closed_count++;
        list_append(&e->place.closed, &c->link);
    }
}

/* ---- Shares of memory ---- */

static uint64_t hot_bytes(const struct engine *e)
{
    return e->place.bytes[WHERE_HOT] + e->place.bytes[WHERE_LEASED] +
           e->place.bytes[WHERE_OWNS_LANE];
}

/* The room that is left for hot and leased jobs. A class may have an eighth of it, so that each
 * class finds some room, however many there are. */
uint64_t hot_room(const struct engine *e)
{
    uint64_t limit = budget_share(e, SHARE_HOT);
    uint64_t used = hot_bytes(e);

    return used < limit ? limit - used : 0;
}

bool memory_is_crowded(const struct engine *e)
{
    return hot_bytes(e) > budget_share(e, SHARE_CROWDED);
}

bool class_is_full(const struct engine *e, const struct class *c)
{
    return memory_is_crowded(e) && c->hot_bytes > hot_room(e) / 8;
}

/* The share of a class though there is no room; all classes together have a sixteenth. */
uint64_t class_least(const struct engine *e)
{
    return e->place.closed_count > 4 ? budget_share(e, SHARE_CLASSES) / e->place.closed_count
                                     : budget_share(e, SHARE_CLASS);
}

bool class_is_glutted(const struct engine *e, const struct class *c)
{
    return memory_is_crowded(e) && c->ready_bytes > hot_room(e) / 8 + class_least(e);
}

bool class_is_half_glutted(const struct engine *e, const struct class *c)
{
    return memory_is_crowded(e) && c->ready_bytes > (hot_room(e) / 8 + class_least(e)) / 2;
}

/* A tenant may have as much as it leaves to others, so that each finds some room. */
bool lanes_are_full(const struct engine *e, const struct tenant *t)
{
    uint64_t limit = budget_share(e, SHARE_OWNERS), used = e->place.bytes[WHERE_OWNS_LANE];

    if (MUTANT(e->o.mutant, HOLDERS_SHARED))
        return used > limit;
    return t->owner_bytes > (used < limit ? limit - used : 0);
}
