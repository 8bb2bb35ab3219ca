/* SPDX-License-Identifier: MIT */
/*
 * Sends spans of jobs to an OTLP receiver, if one is configured. They are gathered for a moment and
 * go in batches, one request at a time; a batch that could not be taken is sent again for a while.
 * What gathers meanwhile is bounded: beyond that spans are dropped and counted. Nobody waits for
 * the receiver.
 */
#ifndef SERVER_TRACER_H
#define SERVER_TRACER_H

#include "engine/event.h"
#include "server/server.h"

struct tracer;

struct tracer_stats {
    uint64_t exported; /* spans */
    uint64_t dropped;
};

/* *ret is NULL if none is configured. INVALID, told in the log. */
int tracer_new(struct server *s, struct tracer **ret);
/* Gives up what was not sent. The loop has to run once more before tracer_free. Both accept NULL.
 */
void tracer_stop(struct tracer *t);
void tracer_free(struct tracer *t);

void tracer_event(struct tracer *t, const struct job_event *ev);
/* Sends at once what has gathered; true: nothing is left, or nothing more is to be hoped for. */
bool tracer_drain(struct tracer *t);

struct tracer_stats tracer_stats(const struct tracer *t); /* accepts NULL */

#endif
