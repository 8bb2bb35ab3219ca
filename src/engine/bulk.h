/* SPDX-License-Identifier: MIT */
/*
 * Bulks: one action on all jobs that match, done in slices behind other work. A bulk is a job of a
 * hidden queue whose payload is what stands below. While it runs its time has always come; once it
 * is over it is an ended job, and is forgotten like one. See bulk.c for how it is done.
 */
#ifndef ENGINE_BULK_H
#define ENGINE_BULK_H

#include "base/buf.h"
#include "engine/types.h"

#define BULK_QUEUE    "~bulk"
#define BULK_KEEP_MS  INT64_C(86400000) /* how long it is shown after its end */
#define BULK_KEEP     100               /* of a tenant, that are over */
#define BULKS_MAX     20                /* of a tenant, */
#define BULKS_MAX_ALL 100               /* and of all */

/* A word, and the states of jobs that it can be about. The order is on disk. */
#define BULK_ACTIONS(X)                                                                    \
    X(CANCEL, "cancel",                                                                    \
      1u << JOB_SCHEDULED | 1u << JOB_READY | 1u << JOB_LEASED | 1u << JOB_WAITING)        \
    X(RESCHEDULE, "reschedule", 1u << JOB_SCHEDULED | 1u << JOB_READY | 1u << JOB_WAITING) \
    X(REDRIVE, "redrive", 1u << JOB_DEAD)                                                  \
    X(DELETE, "delete", 1u << JOB_DONE | 1u << JOB_DEAD | 1u << JOB_CANCELLED | 1u << JOB_EXPIRED)

enum bulk_action {
#define BULK_ACTION_ENUM(name, word, states) BULK_##name,
    BULK_ACTIONS(BULK_ACTION_ENUM)
#undef BULK_ACTION_ENUM
        BULK_ACTION_COUNT
};

/* The order is on disk. */
#define BULK_STATES(X)    \
    X(RUNNING, "running") \
    X(DONE, "done")       \
    X(STOPPED, "stopped") \
    X(FAILED, "failed")

enum bulk_state {
#define BULK_STATE_ENUM(name, word) BULK_##name,
    BULK_STATES(BULK_STATE_ENUM)
#undef BULK_STATE_ENUM
        BULK_STATE_COUNT
};

const char *bulk_action_name(enum bulk_action a);
const char *bulk_state_name(enum bulk_state s);

struct bulk_spec {
    struct str tenant;
    enum bulk_action action;
    bool dry;         /* counts only */
    struct str queue; /* in full; empty: all of the tenant */
    int state;        /* -1: all that the action can be about */
    struct str tag;   /* empty: any */
    int64_t from_ms;  /* due; inclusive; -1: from the first */
    int64_t to_ms;    /* due; exclusive; -1: to the last */
    int64_t due_ms;   /* RESCHEDULE: where to; -1: now */
};

struct bulk {
    enum bulk_action action;
    bool dry;
    enum bulk_state state;
    struct str queue;
    unsigned states; /* bits 1 << enum job_state */
    struct str tag;
    int64_t from_ms;
    int64_t to_ms; /* INT64_MAX: no end */
    int64_t due_ms;
    uint64_t token;  /* leases from this one on were given after it was asked for */
    uint64_t looked; /* jobs that its walk has passed, of any kind */
    uint64_t matched;
    uint64_t changed;
    uint64_t skipped; /* matched, but could not be changed */
    uint64_t walks;   /* begun: more than one after a restart */
    int64_t ended_ms; /* 0: not yet */
    struct str error; /* why it failed */
};

/* Whether it needs room, in memory or on disk, for longer than it takes; the others make some. */
static inline bool bulk_adds(enum bulk_action a)
{
    return a == BULK_RESCHEDULE || a == BULK_REDRIVE;
}

struct bulk_view {
    struct job_id id;
    int64_t created_ms;
    bool damaged; /* what is stored of it cannot be read */
    struct bulk b;
};

void bulk_encode(struct buf *out, const struct bulk *b);
/* False if malformed. Slices are borrowed. */
bool bulk_decode(struct str bytes, struct bulk *ret);

#endif
