/* SPDX-License-Identifier: MIT */
/*
 * Errands: a fetch for each request that answered COLD, in the loop's thread pool. Its owner waits
 * meanwhile; then the request is executed again. Only so many errands are sent at a time, and the
 * others wait their turn, so that chores find a free thread soon.
 *
 * An errand that is on its way outlives its owner: a fetch cannot be called back.
 */
#ifndef HOST_ERRAND_H
#define HOST_ERRAND_H

#include <stdbool.h>

struct errand;
struct host;

/* Right after a request of `owner` answered COLD. When the fetch is done, host_ops.fetched and
 * host_ops.answered are called with the owner. NULL if out of memory. */
struct errand *errand_begin(struct host *h, void *owner);

/* The owner goes away, and no call is made for it. Accepts NULL. */
void errand_drop(struct errand *e);

/* Whether there is none, on its way or waiting. */
bool errands_idle(const struct host *h);

#endif
