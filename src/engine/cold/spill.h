/* SPDX-License-Identifier: MIT */
/* What leaves memory. */
#ifndef ENGINE_SPILL_H
#define ENGINE_SPILL_H

#include "engine/engine_data.h"

/* Takes a queue's dead jobs out of a batch that is not fed yet. */
void batch_release_dead(struct engine *e, const struct queue *q);
/* So much is aside in memory that a batch is due, or under way. */
bool memory_is_pressed(const struct engine *e);
/* Half of the budget: on a full disk they cannot go there. */
bool graves_fill_memory(const struct engine *e);
/* The first of it on disk is not before this. */
void class_from(struct engine *e, struct class *c, struct cold_point from);
/* The clock was set back: what is not due any more leaves the tails, or it would keep others back.
 */
void tails_rewind(struct engine *e);
bool tail_comes_first(const struct class *c); /* nothing on disk is before its first one */

#endif
