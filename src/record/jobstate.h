/* SPDX-License-Identifier: MIT */
/* The states of a job, and how its attempts end. */
#ifndef RECORD_JOBSTATE_H
#define RECORD_JOBSTATE_H

#include <stdint.h>

#include "base/time.h"
#include "record/field.h"

/* The states of a job. Users see the names. */
#define JOB_STATES(X)         \
    X(SCHEDULED, "scheduled") \
    X(READY, "ready")         \
    X(LEASED, "leased")       \
    X(DONE, "done")           \
    X(DEAD, "dead")           \
    X(CANCELLED, "cancelled") \
    X(EXPIRED, "expired")     \
    X(WAITING, "waiting") /* for other jobs: only views have this state, no job */

enum job_state {
#define JOB_STATE_ENUM(name, text) JOB_##name,
    JOB_STATES(JOB_STATE_ENUM)
#undef JOB_STATE_ENUM
        JOB_STATE_COUNT
};

const char *job_state_name(enum job_state s);

/* A job in such a state can only be forgotten, or put back. */
static inline bool state_is_ended(unsigned state)
{
    return state > JOB_LEASED && state < JOB_WAITING;
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
