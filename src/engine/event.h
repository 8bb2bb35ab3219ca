/* SPDX-License-Identifier: MIT */
/*
 * Events: each change of a user's job that has a record, told once, in the order of the records.
 * Becoming ready follows from time alone and is no event: `at_ms` of the event before says when
 * that is. Moves between memory and disk are no events, nor are replays.
 *
 * The host shows an event when its record is durable, not before: `lsn` says which one.
 */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "engine/types.h"

#define EVENT_WORKER_MAX NAME_MAX_BYTES
#define EVENT_TRACE_MAX  64 /* bytes of a traceparent; a longer one is ignored */

/* Why a job is in its state now. */
#define EVENT_CAUSES(X)                                              \
    X(CREATED, "created")                                            \
    X(REPLACED, "replaced")       /* by its key, or by an edit */    \
    X(UNBLOCKED, "unblocked")     /* those it waited for ended */    \
    X(RESCHEDULED, "rescheduled") /* by a request */                 \
    X(DEFERRED, "deferred")       /* by quiet hours */               \
    X(REDRIVEN, "redriven")                                          \
    X(LEASED, "leased")                                              \
    X(RETRIED, "retried")   /* its attempt failed or stalled */      \
    X(RELEASED, "released") /* its attempt was given back */         \
    X(AGAIN, "again")       /* its attempt is done, it runs again */ \
    X(ENDED, "ended")

enum event_cause {
#define EVENT_CAUSE_ENUM(name, text) CAUSE_##name,
    EVENT_CAUSES(EVENT_CAUSE_ENUM)
#undef EVENT_CAUSE_ENUM
        CAUSE_COUNT
};

const char *event_cause_name(enum event_cause c);

/* Slices last until the call is over. */
struct job_event {
    uint64_t lsn;
    struct job_id id;
    enum event_cause cause;
    enum job_state state; /* scheduled, waiting, leased, done, dead, cancelled, expired */
    int from;             /* enum job_state; -1: there was no such job */
    int64_t now_ms;       /* when it happened */
    int64_t due_ms;
    int64_t at_ms;    /* when it is or was to run; -1: it waits for other jobs */
    uint32_t attempt; /* the attempt that began or ended; else how many there were */
    int outcome;      /* enum attempt_outcome of the attempt that ended; -1: none did */
    int64_t start_ms; /* of the attempt that began or ended; -1: none */
    int64_t late_ms;  /* how late that attempt began; -1: none */
    uint64_t token;   /* of that attempt; a secret between server and worker */
    struct str tenant;
    struct str queue; /* without the tenant */
    struct str worker;
    struct str error;
    struct str trace; /* the job's metadata `traceparent`; empty: none */
};

typedef void engine_event_fn(void *host, const struct job_event *ev);

struct engine;

/* Whether events are told, to engine_options.event. */
void engine_listen(struct engine *e, bool on);

#endif
