/* SPDX-License-Identifier: MIT */
/*
 * Errands: a fetch for each request that answered COLD, in the loop's thread pool. The owner of the
 * request waits meanwhile, and then executes it again. The number of errands on their way is
 * limited, so that chores find a free thread soon; the others wait their turn.
 *
 * An errand that is on its way outlives its owner: a fetch cannot be called back.
 */
#ifndef HOST_ERRAND_H
#define HOST_ERRAND_H

#include <stdbool.h>

struct errand;
struct host;

/* Begins the fetch for a request of `owner` that has just answered COLD. When the fetch is done,
 * the host calls host_ops.fetched and host_ops.answered with the owner. NULL if out of memory. */
struct errand *errand_begin(struct host *h, void *owner);

/* The owner goes away, and the host makes no call for it. Accepts NULL. */
void errand_drop(struct errand *e);

/* Whether no errand is on its way or waiting. */
bool errands_idle(const struct host *h);

#endif
