/* SPDX-License-Identifier: MIT */
/*
 * Sends spans of jobs to an OTLP receiver, if one is configured. Spans gather for a moment and go
 * in batches, one request at a time. A batch that the receiver did not take is sent again for a
 * while. The spans that gather meanwhile are bounded: more are dropped and counted. The server
 * never waits for the receiver.
 */
#ifndef SERVER_TRACER_H
#define SERVER_TRACER_H

#include "engine/event.h"
#include "server/server.h"

struct tracer;

/* *ret is NULL if no receiver is configured. INVALID, with a log line. */
int tracer_new(struct server *s, struct tracer **ret);
/* Gives up spans that were not sent. The loop must run once more to close the handles. Accepts
 * NULL.
 */
void tracer_free(struct tracer *t);

void tracer_event(struct tracer *t, const struct job_event *ev);
/* Sends the gathered spans at once. True: none are left, or the receiver does not take them. */
bool tracer_drain(struct tracer *t);

/* Fills in the figures about spans. Accepts NULL. */
void tracer_stats(const struct tracer *t, struct verb_host_stats *ret);

#endif
