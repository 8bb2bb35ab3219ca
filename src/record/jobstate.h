/* SPDX-License-Identifier: MIT */
/* The states of a job, and how its attempts end. */
#ifndef RECORD_JOBSTATE_H
#define RECORD_JOBSTATE_H

#include <stdint.h>

#include "base/time.h"
#include "record/field.h"

#define JOB_BIT(name) (1u << JOB_##name)

/* A job's life: a state, its name for users, its part of life, and the states that may follow it.
 * Numbers of states are on disk, so a new state goes to the end. WAITING (for other jobs) and READY
 * have no record; they follow from a job's moment and the clock. So a record that ends or leases a
 * job may find it SCHEDULED. DONE may follow SCHEDULED and READY, because a bulk has no lease. */
#define JOB_STATES(X)                                                                            \
    X(SCHEDULED, "scheduled", AHEAD,                                                             \
      JOB_BIT(READY) | JOB_BIT(LEASED) | JOB_BIT(DONE) | JOB_BIT(CANCELLED) | JOB_BIT(EXPIRED) | \
          JOB_BIT(WAITING))                                                                      \
    X(READY, "ready", AHEAD,                                                                     \
      JOB_BIT(SCHEDULED) | JOB_BIT(LEASED) | JOB_BIT(DONE) | JOB_BIT(CANCELLED) |                \
          JOB_BIT(EXPIRED))                                                                      \
    X(LEASED, "leased", LEASED,                                                                  \
      JOB_BIT(SCHEDULED) | JOB_BIT(DONE) | JOB_BIT(DEAD) | JOB_BIT(CANCELLED))                   \
    X(DONE, "done", ENDED, 0)                                                                    \
    X(DEAD, "dead", ENDED, JOB_BIT(SCHEDULED))                                                   \
    X(CANCELLED, "cancelled", ENDED, 0)                                                          \
    X(EXPIRED, "expired", ENDED, 0)                                                              \
    X(WAITING, "waiting", AHEAD, JOB_BIT(SCHEDULED) | JOB_BIT(CANCELLED) | JOB_BIT(EXPIRED))

enum job_state {
#define JOB_STATE_ENUM(name, text, part, next) JOB_##name,
    JOB_STATES(JOB_STATE_ENUM)
#undef JOB_STATE_ENUM
        JOB_STATE_COUNT
};

/* AHEAD: no worker has the job, and it may still run. ENDED: the job is kept for a while, then
 * forgotten or put back. */
enum job_part { PART_AHEAD, PART_LEASED, PART_ENDED };

#define PART_BIT(wanted, name, part)      | (unsigned)(PART_##part == (wanted)) << JOB_##name
#define AHEAD_BIT(name, text, part, next) PART_BIT(PART_AHEAD, name, part)
#define ENDED_BIT(name, text, part, next) PART_BIT(PART_ENDED, name, part)
enum { JOB_AHEAD = 0u JOB_STATES(AHEAD_BIT), JOB_ENDED = 0u JOB_STATES(ENDED_BIT) };
#undef AHEAD_BIT
#undef ENDED_BIT
#undef PART_BIT

const char *job_state_name(enum job_state s);
/* Whether a job may go from one state to the other; it may always stay in its state. */
bool state_may_follow(unsigned from, unsigned to);

static inline bool state_is_ahead(unsigned state)
{
    return (unsigned)JOB_AHEAD >> state & 1;
}

static inline bool state_is_ended(unsigned state)
{
    return (unsigned)JOB_ENDED >> state & 1;
}

/* The moment of a job that does not wait for a time. */
#define AT_NEVER (TIME_MOMENT_MAX + 1)

/* What becomes of a job if a job that it waits for ends, but is not done. */
enum after_fail { AFTERFAIL_CANCEL, AFTERFAIL_RUN };

/* How an attempt ended. The numbers are on disk. */
#define ATTEMPT_OUTCOMES(X)    \
    X(DONE, 0, "done")         \
    X(FAILED, 1, "failed")     \
    X(STALLED, 2, "stalled")   \
    X(RELEASED, 3, "released") \
    X(AGAIN, 4, "again")

enum attempt_outcome {
#define ATTEMPT_OUTCOME_ENUM(name, number, text) ATTEMPT_##name = (number),
    ATTEMPT_OUTCOMES(ATTEMPT_OUTCOME_ENUM)
#undef ATTEMPT_OUTCOME_ENUM
};

const char *attempt_outcome_name(unsigned outcome);

#define ATTEMPT_FIELDS(F)                                    \
    F(COUNT, number, "which attempt of the job it was")      \
    F(SIGNED, start_ms, "when it began")                     \
    F(FROM_START, end_ms, "when it ended")                   \
    F(SIGNED, late_ms, "how long after its moment it began") \
    F(BYTE, outcome, "enum attempt_outcome")                 \
    F(BYTES, worker, "which had the job")                    \
    F(BYTES, error, "if it failed")
FIELD_STRUCT(attempt, ATTEMPT_FIELDS);

#endif
