/* SPDX-License-Identifier: MIT */
/*
 * Events of jobs: the engine's events go to a ring (front/event_ring.h). When they are durable, the
 * streams of /v1/events, the log and the tracer read them there. The engine makes events only while
 * there is a reader, and for a while after the last one left. So a reader that connects again goes
 * on where it was.
 */
#ifndef SERVER_EVENTS_H
#define SERVER_EVENTS_H

#include "base/list.h"
#include "front/event_stream.h"
#include "verbs/verb.h"

struct server;
struct tracer;

struct events {
    struct event_ring ring;
    struct event_texts texts;   /* for the streams */
    uint64_t epoch;             /* of the partition */
    struct list streams;        /* of http_events.c */
    int64_t filled_us;          /* how long streams have taken events in this turn of the loop */
    bool behind;                /* streams are put off to the next turn */
    uint64_t refused;           /* streams beyond a limit of their number */
    struct event_cursor cursor; /* the place of the log and the tracer */
    uint64_t taken;             /* from the engine, so far */
    uint64_t missed;            /* by the log and the tracer */
    struct tracer *tracer;      /* NULL: no traces are exported */
    int64_t used_ms;            /* monotonic: when there was a reader last */
    int64_t log_second;         /* monotonic: the second that log_lines counts */
    int64_t log_lines;          /* lines about jobs in that second */
    uint64_t log_skipped;       /* lines left out since the log was told */
    int64_t log_told;           /* monotonic: the second in which the log was told */
};

/* When there is a loop. NOMEM, INVALID. */
int events_init(struct server *s);
/* Gives up the tracer. The ring stays until the engine is gone. */
void events_stop(struct server *s);
/* Fills in the figures about events. */
void events_stats(const struct server *s, struct verb_host_stats *ret);

/* A partition is about to be opened: whether its engine is to make events. */
bool events_begin(struct server *s);
/* The engine's call with an event; the host is the server. */
engine_event_fn events_take;
/* The durable lsn has grown. */
void events_settled(struct server *s);
void events_sweep(struct server *s, int64_t mono_ms);
/* Options have changed. */
void events_reload(struct server *s);

/* Has the engine make events for a reader: 0 or NOMEM. */
int events_want(struct server *s);

#endif
