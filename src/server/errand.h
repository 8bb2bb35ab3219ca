/* SPDX-License-Identifier: MIT */
/*
 * Errands: what a request needs from disk is fetched in the loop's thread pool while its client
 * waits; then the request is executed again. Only so many are sent at a time, the others wait their
 * turn, so that chores find a free thread soon.
 *
 * An errand that is on its way outlives its connection: a fetch cannot be called back.
 */
#ifndef SERVER_ERRAND_H
#define SERVER_ERRAND_H

#include "server/server.h"

struct client;
struct errand;

/* Right after a request of c answered COLD. When it is done, its `fetched` is called. NULL if out
 * of memory. */
struct errand *errand_begin(struct server *s, struct client *c);

/* Its connection closes. Accepts NULL. */
void errand_drop(struct errand *e);

/* Whether there is none, on its way or waiting. */
bool errands_idle(const struct server *s);

#endif
