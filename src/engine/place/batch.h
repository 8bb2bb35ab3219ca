/* SPDX-License-Identifier: MIT */
/* Which jobs are in the batch that goes to disk. */
#ifndef ENGINE_BATCH_H
#define ENGINE_BATCH_H

#include "engine/engine_data.h"

void batch_init(struct batch *b);
/* A job of the batch changes: what is written of it will not count. */
void batch_stale(struct engine *e, struct job *j);
/* The batch that is being gathered must not write the job (again). Either the batch has an older
 * image of it, and FED names each job once; or it came from disk after the batch began, and its
 * grave, which the batch does not hold, would hide the new entry. Such a job waits in `left`, where
 * the batch does not look. */
bool batch_is_left(const struct engine *e, const struct job *j);
bool batch_takes_tails(const struct engine *e);
/* Which run it belongs into, and where there. */
void job_cold_key(const struct job *j, struct cold_key *ret);

#endif
