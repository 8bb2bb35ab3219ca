/* SPDX-License-Identifier: MIT */
/*
 * Queues that push.
 *
 * A queue with a URL pushes: its jobs are leased by the server itself, in turns of all such queues,
 * and by nobody else. With `job` for its URL each of its jobs has one of its own. The two are not
 * mixed, and the latter has no headers: whoever may add jobs does not decide where a queue's
 * headers are sent.
 */
#ifndef ENGINE_PUSH_H
#define ENGINE_PUSH_H

#include "engine/types.h"
#include "record/webhook.h"

#define PUSH_KIND "~push" /* no queue of a user has this name */

struct engine;
struct job;

/* As engine_lease, from all queues that have a URL, in turn. The answer is to wait for engine_lsn,
 * not for engine_offered_lsn: nothing is pushed before its attempt is counted. */
int engine_push_lease(struct engine *e, size_t count, struct job **ret_jobs);
/* Where a leased job is pushed to, and how. An empty URL: it has none. */
struct str engine_push_url(const struct engine *e, const struct job *job,
                           const struct push_settings **ret);
/* What endpoint_until says may have changed. */
void engine_push_wake(struct engine *e);
/* What pushes_full said of a tenant is no longer so. */
void engine_push_room(struct engine *e, struct str tenant);
/* Whether a queue's jobs are pushed. */
bool engine_pushes(const struct engine *e, struct str queue);

#endif
