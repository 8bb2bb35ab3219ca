/* SPDX-License-Identifier: MIT */
/* A bulk as it is stored: the payload of its job. */
#ifndef RECORD_BULKCODE_H
#define RECORD_BULKCODE_H

#include "base/buf.h"
#include "record/field.h"
#include "record/jobstate.h"

/* A word, and the states of jobs that the action applies to. The order is on disk. */
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

#define BULK_FIELDS(F)                                                                  \
    F(ENUM(bulk_action), action, "what is done to the jobs")                            \
    F(FLAG, dry, "the jobs are only counted")                                           \
    F(ENUM(bulk_state), state, "how far the bulk is")                                   \
    F(BYTES, queue, "in full; empty: any")                                              \
    F(BITS, states, "bits 1 << enum job_state")                                         \
    F(BYTES, tag, "that the jobs have; empty: any")                                     \
    F(SIGNED, from_ms, "the first due time")                                            \
    F(SIGNED, to_ms, "the last due time; INT64_MAX: no end")                            \
    F(SIGNED, due_ms, "the new due time, if the jobs are rescheduled")                  \
    F(NUMBER, token, "leases from this one on were given after the bulk was asked for") \
    F(NUMBER, looked, "jobs of any kind that the walk has passed")                      \
    F(NUMBER, matched, "jobs that the bulk is about")                                   \
    F(NUMBER, changed, "jobs that the bulk changed")                                    \
    F(NUMBER, skipped, "jobs that matched, but could not be changed")                   \
    F(NUMBER, walks, "walks that were begun: more than one after a restart")            \
    F(SIGNED, ended_ms, "when the bulk ended; 0: it has not")                           \
    F(BYTES, error, "why it failed")

/* Bulks of format 1 have none of these. */
#define BULK_FILTERS(F)                                                       \
    F(BYTES, recurrence, "of which the jobs are occurrences; empty: any")     \
    F(BYTES, key_prefix, "the beginning of their keys; empty: any")           \
    F(BYTES, order, "their ordering key; empty: any")                         \
    F(BYTES, worker, "that has or had them; empty: any")                      \
    F(BYTES, with_error, "a part of their last error; empty: any")            \
    F(BYTES, with_error_group, "the pattern of their last error; empty: any") \
    F(SIGNED, ended_from_ms, "the first moment of their end; 0: any")         \
    F(SIGNED, ended_to_ms, "the moment before which they ended; 0: any")

struct bulk {
    BULK_FIELDS(FIELD_MEMBER)
    BULK_FILTERS(FIELD_MEMBER)
};

/* Whether the action needs room, in memory or on disk, after its end. Other actions make room. */
static inline bool bulk_adds(enum bulk_action a)
{
    return a == BULK_RESCHEDULE || a == BULK_REDRIVE;
}

void bulk_encode(struct buf *out, const struct bulk *from);
/* False if malformed. Slices are borrowed. */
bool bulk_decode(struct str bytes, struct bulk *ret);

#endif
