/* SPDX-License-Identifier: MIT */
/*
 * Queues that push.
 *
 * A queue with a URL pushes: the server itself leases its jobs, and no worker does. All such queues
 * take turns. If the URL of a queue is `job`, each of its jobs has a URL of its own. A queue has
 * one of the two forms. A queue of the form `job` has no headers. Otherwise a producer, which
 * chooses the URL, would decide where the headers of a queue are sent.
 */
#ifndef ENGINE_PUSH_H
#define ENGINE_PUSH_H

#include "engine/types.h"
#include "record/webhook.h"

#define PUSH_KIND        "~push" /* no queue of a user has this name */
#define ENDPOINT_LOOK_MS 1000    /* when to look again while a probe is on its way */

struct engine;
struct job;

/* As engine_lease, from all queues that have a URL, in turn. The host waits for engine_lsn before
 * it pushes, not for engine_offered_lsn. So nothing is pushed before its attempt is counted. */
int engine_push_lease(struct engine *e, size_t count, struct job **ret_jobs);
/* Where a leased job is pushed to, and how. An empty URL: it has none. */
struct str engine_push_url(const struct engine *e, const struct job *job,
                           const struct push_settings **ret);
/* Two facts that the host sets when they change. */

/* Sets the moment of the monotonic clock before which nothing may be pushed to an endpoint (its
 * endpoint_key). A moment that has passed: the host waits for the answer to a probe. -1: the
 * endpoint may be used again. If there is no memory for the fact, its queues are not held. */
void engine_endpoint_set(struct engine *e, struct str key, int64_t until_ms);
/* Whether a tenant has as many pushes under way as it may. Nothing of it is pushed while it has. */
void engine_pushes_set(struct engine *e, struct str tenant, bool full);
/* Whether a queue's jobs are pushed. */
bool engine_pushes(const struct engine *e, struct str queue);

#endif
