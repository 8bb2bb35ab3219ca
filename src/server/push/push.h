/* SPDX-License-Identifier: MIT */
/*
 * Pushes: the server's own worker for queues that have a URL. It leases their jobs as any worker
 * would, POSTs each when its lease is durable, and tells the engine what the endpoint answered.
 *
 *     engine_push_lease ──> waiting ── lease durable ──> running ── answer ──> COMPLETE, FAIL, ...
 *
 * A crash leaves the lease behind. The lease ends, the job is delivered again, and its endpoint may
 * see it twice. Pushes and bytes of payload under way are bounded, in all and for each tenant. The
 * number of endpoints that the server remembers is bounded too.
 */
#ifndef SERVER_PUSH_H
#define SERVER_PUSH_H

#include "server/server.h"

/* Whether the options of pushes are right. INVALID with a log line. */
int push_check(struct server *s);
int push_open(struct server *s);
/* Drops pushes under way. The loop must run once more to close the handles. Also without a pusher.
 */
void push_free(struct server *s);

/* There is a new engine: it is told which endpoints are left alone. */
void push_opened(struct server *s);
/* Takes jobs to push; in each turn of the loop. */
void push_turn(struct server *s);
/* The durable lsn has grown. */
void push_flush(struct server *s);
/* The engine is about to be discarded: pushes under way are dropped. */
void push_reset(struct server *s);
/* Begins no more pushes. */
void push_drain(struct server *s);
bool push_idle(const struct server *s);
/* Waits for no more answers: a push without one has failed. */
void push_give_up(struct server *s);

const struct push_stats *push_stats(const struct server *s);

#endif
