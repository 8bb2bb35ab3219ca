/* SPDX-License-Identifier: MIT */
/* The attempts of a job, and the order of those that have ended. */
#ifndef ENGINE_HISTORY_H
#define ENGINE_HISTORY_H

#include "engine/engine_data.h"

/* Brings a queue's ended jobs into the order of their ends, which copying forward upsets. */
void past_sort(struct queue *q);
/* The attempts of a job with the one that just ended, in out. */
void history_append(struct buf *out, const struct job *j, int64_t end_ms, unsigned outcome,
                    struct str error);

#endif
