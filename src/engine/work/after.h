/* SPDX-License-Identifier: MIT */
/* Jobs that wait for others. */
#ifndef ENGINE_AFTER_H
#define ENGINE_AFTER_H

#include "engine/engine_data.h"
#include "record/opts.h"

/* Whether a job may wait for those that its spec names, which come to memory. *ret_waits: how many
 * have not ended; *ret_lost: one has, otherwise than done, and that matters; seq 0: none. */
int after_check(struct engine *e, const struct job_spec *s, size_t *ret_waits,
                struct job_id *ret_lost);
/* The same for the i-th of several that are to be scheduled together: whether those before leave
 * room for one more listener. LIMIT. */
int after_room(struct engine *e, const struct job_spec *specs, size_t i);
/* The options that say so, of those that have not ended. */
void after_put(struct engine *e, struct buf *out, const struct job_spec *s);
/* Enters a job as a listener with all that it waits for. */
int after_listen(struct engine *e, const struct job_spec *s, struct job_id listener);
/* A job that it waited for ended otherwise than done. */
int after_lost(struct engine *e, struct job *j, struct job_id parent);
/* Whether it waits for that one. */
bool after_waits(const struct job *j, const struct job *parent);
/* A job that was waited for has ended. */
int after_told(struct engine *e, struct job *j, const struct job *ended);
/* The options without those of this type, or only without the one that names this job; and with
 * nothing in front. */
void opts_without(struct buf *out, const struct job *j, enum job_opt type, uint64_t seq);

#endif
