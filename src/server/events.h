/* SPDX-License-Identifier: MIT */
/*
 * What the server tells of jobs: the engine's events go to a ring (front/event_ring.h); when they
 * are durable the streams of /v1/events, the log and traces read them there. The engine is asked
 * for events only while somebody reads them, and for a while after the last one left, so that who
 * connects again goes on where it was.
 */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include "front/event_stream.h"
#include "server/server.h"

struct tracer;

struct events {
    struct event_ring ring;
    uint64_t epoch;
    struct list streams; /* of http_events.c */
    uint64_t stream_count;
    struct event_cursor cursor; /* of the log and traces */
    uint64_t taken;             /* from the engine, so far */
    uint64_t missed;            /* by them */
    struct tracer *tracer;      /* NULL: no traces are exported */
    int64_t used_ms;            /* monotonic: when there was a stream last */
    int64_t log_second;         /* of the lines about jobs: monotonic, */
    int64_t log_lines;          /* how many there were in it, */
    uint64_t log_skipped;       /* how many were left out, */
    int64_t log_told;           /* and when that was said last */
};

/* When there is a loop. 0, NOMEM, INVALID. */
int events_init(struct server *s);
/* events_fini after the loop has ended. Both also if there are none. */
void events_stop(struct server *s);
void events_fini(struct server *s);
/* Sends the rest; true: there is nothing left that could be sent. */
bool events_drain(struct server *s);
/* The figures of it. */
void events_stats(const struct server *s, struct verb_host_stats *ret);

/* A partition is about to be opened: whether its engine is to tell of events. */
bool events_begin(struct server *s);
void events_opened(struct server *s, uint64_t epoch);
/* The engine's call; the host is the server. */
engine_event_fn events_take;
/* More is durable. */
void events_settled(struct server *s);
void events_sweep(struct server *s, int64_t mono_ms);
/* Options have changed. */
void events_reload(struct server *s);

/* Somebody is about to read: 0 or NOMEM. */
int events_want(struct server *s);

#endif
