/* SPDX-License-Identifier: MIT */
/* Figures of pushes that verbs show. */
#ifndef VERBS_PUSH_STATS_H
#define VERBS_PUSH_STATS_H

#include "base/hist.h"

/* How a push ended. */
#define PUSH_OUTCOMES(X)                                                       \
    X(delivered, "answered with 2xx: the job is done")                         \
    X(rejected, "answered with another status: the attempt failed")            \
    X(redirected, "answered with 3xx, which is not followed: likewise")        \
    X(postponed, "answered with 429 or 503 and when to try again: it is then") \
    X(gone, "answered with 410: the job is dead")                              \
    X(timeout, "no answer in time: the attempt failed")                        \
    X(unreachable, "no connection: likewise")                                  \
    X(forbidden, "an address that push_allow does not allow: likewise")

enum push_outcome {
#define PUSH_OUTCOME_ENUM(name, help) PUSH_##name,
    PUSH_OUTCOMES(PUSH_OUTCOME_ENUM)
#undef PUSH_OUTCOME_ENUM
        PUSH_OUTCOME_COUNT
};

struct push_stats {
    uint64_t outcomes[PUSH_OUTCOME_COUNT];
    uint64_t running;
    uint64_t circuits; /* endpoints that get no pushes for a while */
    struct hist took_us;
};

#endif
