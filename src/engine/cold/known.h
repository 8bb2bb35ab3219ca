/* SPDX-License-Identifier: MIT */
/* What was found out about jobs on disk, and holds until more of them go there. */
#ifndef ENGINE_KNOWN_H
#define ENGINE_KNOWN_H

#include <limits.h>

#include "engine/engine_data.h"

/* No job on disk has this key. */
void key_absent(struct engine *e, struct str queue, struct str order, struct str key);
/* The same was found out before, of a locator's key. */
bool key_is_absent(const struct engine *e, const struct cold_key *k);

#define PAST_UNKNOWN INT_MIN

/* What is known of a job of the scope that has ended: its state, NOTFOUND, or PAST_UNKNOWN. */
int past_state(const struct engine *e, struct job_id id);
/* It ended so, or there is none (NOTFOUND), until that moment. */
void past_note(struct engine *e, struct job_id id, int state, int64_t gone_ms);
/* What was found out about this job's end no longer holds. */
void past_forget(struct engine *e, uint64_t seq);

#endif
