/* SPDX-License-Identifier: MIT */
/* The classes of a queue, and their shares of memory. */
#ifndef ENGINE_CLASS_H
#define ENGINE_CLASS_H

#include "engine/engine_data.h"

void classes_init(struct queue *q);
struct class *class_of(const struct job *j);
/* The class of this number, or of this slot; NULL if the queue has none. */
struct class *class_numbered(struct queue *q, unsigned number);
struct class *class_at_slot(struct queue *q, enum cold_slot slot);
/* The hot bytes of a class grow by so many, or shrink, by those of a job in its state. */
void class_count_hot(struct class *c, const struct job *j, uint64_t bytes);
void class_close(struct engine *e, struct class *c);

/* Some jobs of the class are on disk. */
static inline bool class_is_on_disk(const struct class *c)
{
    return c->queue->cold[c->slot] > 0;
}

/* It has its share of memory: of jobs that are not due, or of those that are. */
bool class_is_full(const struct engine *e, const struct class *c);
bool class_is_glutted(const struct engine *e, const struct class *c);
bool class_is_half_glutted(const struct engine *e, const struct class *c);
/* Hot and leased jobs take so much that classes have shares. */
bool memory_is_crowded(const struct engine *e);
uint64_t class_least(const struct engine *e);
uint64_t hot_room(const struct engine *e);
/* Jobs that hold their lanes have to stay in memory: while they are many, no lane of their tenant
 * is begun. */
bool lanes_are_full(const struct engine *e, const struct tenant *t);

#endif
