/* SPDX-License-Identifier: MIT */
/* The classes of a queue, by their place in it, by the number that keys and records have for them,
 * and by the slot in which those on disk are counted:
 *
 *     place    0 1 2 3 4  5  6
 *     number   1 2 3 4 5  7  8
 */
#include "engine/place/class.h"

#include "engine/place/budget.h"

#include <assert.h>

struct class *class_of(const struct job *j)
{
    return &j->queue->classes[j->ordered ? ORDERED : j->passing ? INDEX_PASSING : j->priority - 1];
}

unsigned class_number(const struct class *c)
{
    unsigned index = (unsigned)(c - c->queue->classes);

    assert(index < CLASSES);
    return index + (index < PRIORITIES ? 1 : 2);
}

struct class *class_numbered(struct queue *q, unsigned number)
{
    return class_is_valid(number) ? &q->classes[number - (number <= PRIORITIES ? 1 : 2)] : NULL;
}

enum cold_slot class_slot(const struct class *c)
{
    return cold_slot_of(FAMILY_BACKLOG, JOB_READY, class_number(c));
}

struct class *class_at_slot(struct queue *q, enum cold_slot slot)
{
    assert(slot_is_backlog(slot) && slot != COLD_ASIDE);
    return &q->classes[slot < COLD_DONE ? slot - COLD_BACKLOG : PRIORITIES + slot - COLD_BACKLOG_7];
}

bool class_is_on_disk(const struct class *c)
{
    return c->queue->cold[class_slot(c)] > 0;
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
    return e->place.bytes[WHERE_HOT] + e->place.bytes[WHERE_LEASED] + e->place.bytes[WHERE_HOLDS];
}

/* What hot and leased jobs may still take. A class may have an eighth of it, so that however many
 * there are, each finds something left. */
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

/* What a class may have though there is no room: all of them together, a sixteenth. */
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

/* As much as it leaves to others: so each of them finds something left. */
bool lanes_are_full(const struct engine *e, const struct tenant *t)
{
    uint64_t limit = budget_share(e, SHARE_HOLDERS), used = e->place.bytes[WHERE_HOLDS];

    if (MUTANT(e->o.mutant, HOLDERS_SHARED))
        return used > limit;
    return t->holding > (used < limit ? limit - used : 0);
}
