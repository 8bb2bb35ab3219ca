/* SPDX-License-Identifier: MIT */
/* Giving out ready jobs. */
#ifndef ENGINE_LEASE_H
#define ENGINE_LEASE_H

#include "engine/engine_data.h"

#define TOKEN_COUNTER 40 /* bits of a token below the epoch */

/* The ready job of lowest rank that its tenant's maintenance lets pass, or NULL; ret_rank is set if
 * there is one. */
struct job *queue_head(const struct engine *e, const struct queue *q, int64_t *ret_rank);
/* Its time is up: it waits nowhere any more, but for engine_timeout. */
void waiter_late(struct engine *e, struct waiter *w);
void waiters_free(struct engine *e);

#endif
