/* SPDX-License-Identifier: MIT */
/*
 * Jobs whose end requests wait for:
 *
 *     awaits.jobs (by sequence) ---> struct awaited ---> waiters
 *                                       |
 *                                       +--> awaits.ended, once the job has ended
 *
 * Nothing of this is stored: a client that lost its connection asks again. The end of a job moves
 * all its waiters at once, however many there are. The engine hands them out by engine_timeout.
 */
#ifndef ENGINE_AWAITED_H
#define ENGINE_AWAITED_H

#include "engine/engine_data.h"

void awaits_init(struct engine *e);
void awaits_fini(struct engine *e);

/* Lets the waiter, which has no posts, wait for the end of this job. Its memory counts for the
 * tenant, which may be NULL. NOMEM. */
int awaited_join(struct engine *e, uint64_t seq, struct tenant *t, struct waiter *w);
/* The waiter, which may wait for no job, no longer waits. */
void awaited_leave(struct engine *e, struct waiter *w);

/* Whether a request waits for the end of this job. */
bool job_is_awaited(const struct engine *e, uint64_t seq);
/* A record says that the job has ended. */
void awaited_end(struct engine *e, uint64_t seq);
/* A waiter whose job has ended, or NULL. */
struct waiter *awaits_next(const struct engine *e);

#endif
