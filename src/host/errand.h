/* SPDX-License-Identifier: MIT */
/*
 * Errands: a fetch for each request that answered COLD, in the loop's thread pool. The owner of the
 * request waits meanwhile, and then executes it again. The number of errands on their way is
 * limited, so that chores find a free thread soon; the others wait their turn. Groups take turns.
 *
 * An errand that brings jobs to memory waits while memory is crammed. While it is pressed, one such
 * errand at a time is on its way, otherwise a few. Of errands that look for many jobs, two are.
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
 * with the owner, in a turn. NULL if out of memory. */
struct errand *errand_begin(struct host *h, void *owner, const void *group);
/* A part of the turn: executes requests again whose errands are back, and sends others. */
void errands_answer(struct host *h);
/* The reason why errands waited has ended: another turn should follow. */
bool errands_may_go_on(const struct host *h);

/* The owner goes away, and the host makes no call for it. Accepts NULL. */
void errand_drop(struct errand *e);

/* Whether no errand is on its way or waiting. */
bool errands_idle(const struct host *h);

#endif
