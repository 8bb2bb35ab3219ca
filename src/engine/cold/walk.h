/* SPDX-License-Identifier: MIT */
/* Walks over jobs in memory and on disk. */
#ifndef ENGINE_WALK_H
#define ENGINE_WALK_H

#include "engine/engine_data.h"

/* The families that have jobs, in the order of walks. Most jobs go through them in this order. */
extern const char walk_families[WALK_FAMILIES];

/* A number for a walk that begins: what has been loaded before has another one. */
uint32_t walk_begin(struct engine *e);
/* A job came to memory from this family. */
void walk_loads(struct engine *e, struct job *j, char family);
/* A job goes to a family: a walk that has been there, and has not met it in memory, misses it. */
void walk_misses(struct engine *e, const struct job *j, char family);
/* The first family where a walk may have missed jobs since the walk of this number began; or 0. */
char walk_missed(const struct engine *e, uint32_t walk);

/* Numbers of walks go in a circle; 0 was before all. */
static inline bool walk_is_since(uint32_t mark, uint32_t walk)
{
    return mark && (walk == 0 || (mark - walk + WALKS) % WALKS <= WALKS / 2);
}

#endif
