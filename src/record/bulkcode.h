/* SPDX-License-Identifier: MIT */
/* A bulk as it is stored: the payload of its job. */
#ifndef RECORD_BULKCODE_H
#define RECORD_BULKCODE_H

#include "base/buf.h"
#include "record/jobstate.h"

/* A word, and the states of jobs that it can be about. The order is on disk. */
#define BULK_ACTIONS(X)                              \
    X(CANCEL, "cancel", JOB_AHEAD | JOB_BIT(LEASED)) \
    X(RESCHEDULE, "reschedule", JOB_AHEAD)           \
    X(REDRIVE, "redrive", JOB_BIT(DEAD))             \
    X(DELETE, "delete", JOB_ENDED)

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

void bulk_encode(struct buf *out, const struct bulk *b);
/* False if malformed. Slices are borrowed. */
bool bulk_decode(struct str bytes, struct bulk *ret);

#endif
