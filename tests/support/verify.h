/* SPDX-License-Identifier: MIT */
/* What tests know of an engine's inside. */
#ifndef SUPPORT_VERIFY_H
#define SUPPORT_VERIFY_H

#include "engine/engine.h"
#include "support/verify_series.h"

/* A hash of the logical state: equal after replay of what was written. Walks everything. */
uint64_t engine_hash(const struct engine *e);
/* Recounts everything kept as a count and checks every index; aborts on a difference. */
void engine_verify(const struct engine *e);
/* Queues that picking has looked at so far. */
uint64_t engine_pick_steps(const struct engine *e);
/* The nth job of the batch that is being gathered; false if there are not so many. */
bool engine_gathered(const struct engine *e, size_t n, struct job_id *ret);
/* Limits how many timers of a wheel sink in a call, so that a test needs few timers. */
void engine_slice(struct engine *e, int timers);

#endif
