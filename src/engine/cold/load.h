/* SPDX-License-Identifier: MIT */
/* The frontier, up to which jobs have been loaded. */
#ifndef ENGINE_LOAD_H
#define ENGINE_LOAD_H

#include "engine/engine_data.h"

void frontier_set(struct engine *e, struct cold_point p);
/* Goes on, if no job on disk is passed by that. */
void frontier_follow(struct engine *e);
/* When jobs on disk should be looked at next. */
int64_t frontier_wake(const struct engine *e);

#endif
