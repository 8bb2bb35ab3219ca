/* SPDX-License-Identifier: MIT */
/*
 * Errands: a fetch for each request that answered COLD, in the loop's thread pool. The owner of the
 * request waits meanwhile, and then executes it again, in its part of a turn. There are classes of
 * errands, each with a limit, so that chores and other errands find a free thread soon:
 *
 *     plain     needs a job that stays on disk, or a few
 *     heavy     looks for many jobs
 *     growing   brings jobs to memory. It waits while memory is crammed. While memory is pressed,
 *               one growing errand at a time is on its way, and otherwise a few
 *
 * Errands beyond the limit of their class wait. Groups take turns: one errand of each after
 * another.
 *
 * An errand that is on its way outlives its owner: a fetch cannot be called back.
 */
#ifndef HOST_ERRAND_H
#define HOST_ERRAND_H

#include <stdbool.h>

struct errand;
struct host;

/* Begins the fetch for a request of `owner` that has just answered COLD. `group` stands for the
 * owner's tenant. When the fetch is done, the host calls host_ops.fetched and host_ops.answered
 * with the owner, in a later turn. NULL if out of memory. */
struct errand *errand_begin(struct host *h, void *owner, const void *group);
/* A part of the turn: hands errands over that are back, and sends others. */
void errands_answer(struct host *h);
/* Errands that had to wait can go on: another turn should follow. */
bool errands_may_go_on(const struct host *h);

/* The owner goes away, and the host makes no call for it. Accepts NULL. */
void errand_drop(struct errand *e);

/* Whether no errand is on its way or waiting. */
bool errands_idle(const struct host *h);

#endif
