/* SPDX-License-Identifier: MIT */
/* Why a job has not run, or how it ended. */
#ifndef ENGINE_EXPLANATION_H
#define ENGINE_EXPLANATION_H

#include "base/id.h"
#include "base/str.h"
#include "record/jobstate.h"

#define REASONS(X)                    \
    X(SCHEDULED, "scheduled")         \
    X(PARENT, "parent")               \
    X(BACKOFF, "backoff")             \
    X(PAUSED, "paused")               \
    X(TENANT_PAUSED, "tenant_paused") \
    X(MAINTENANCE, "maintenance")     \
    X(RUNNING_LIMIT, "running_limit") \
    X(RATE_LIMIT, "rate_limit")       \
    X(NO_WORKER, "no_worker")         \
    X(ON_DISK, "on_disk")             \
    X(BEHIND, "behind")               \
    X(RUNNING, "running")             \
    X(ENDED, "ended")                 \
    X(QUIET_HOURS, "quiet_hours")     \
    X(SLOW_START, "slow_start")       \
    X(ORDERING_KEY, "ordering_key")   \
    X(ENDPOINT, "endpoint")           \
    X(LEASED_MEMORY, "leased_memory") \
    X(NEXT, "next")                   \
    X(EXPIRY, "expiry")

enum reason {
#define REASON_ENUM(name, text) REASON_##name,
    REASONS(REASON_ENUM)
#undef REASON_ENUM
};

const char *reason_name(enum reason r);

#define CAUSES_MAX 20  /* a job has fewer: see explain.c */
#define WHY_MAX    320 /* bytes of a sentence, with its end */

struct cause {
    enum reason reason;
    int64_t until_ms; /* -1: not known */
    char why[WHY_MAX];
};

/* The slices point into the engine and last until its next call. */
struct explanation {
    enum job_state state;
    /* The first of the causes. */
    enum reason reason;
    int64_t until_ms;
    char why[WHY_MAX];
    /* All that keeps the job from running, in the order in which the causes matter. */
    struct cause causes[CAUSES_MAX];
    size_t cause_count;
    int64_t at_ms;       /* the job runs no earlier; -1: a cause has no known end */
    uint64_t ready;      /* ready jobs of its queue */
    int64_t ahead;       /* the least number of them that go before it; -1: it is not ready */
    int64_t ahead_most;  /* the greatest number that can */
    struct job_id first; /* the first that goes before it; its seq is 0: not known */
    int64_t asked_ms;    /* when a worker last asked for its queue; -1: not since the start */
    int64_t deferred_ms; /* see job_view */
    uint32_t deferrals;
    uint32_t attempt;     /* see job_view */
    int64_t attempts;     /* see job_view */
    struct str error;     /* see job_view */
    int64_t ended_ms;     /* -1: it has not */
    struct job_id parent; /* the job that it waits for, or for whose end it was cancelled */
};

#endif
