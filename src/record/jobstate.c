/* SPDX-License-Identifier: MIT */
#include "record/jobstate.h"

const char *job_state_name(enum job_state s)
{
    static const char *const names[] = {
#define NAME(name, text, part, next) text,
        JOB_STATES(NAME)
#undef NAME
    };
    return names[s];
}

bool state_may_follow(unsigned from, unsigned to)
{
    static const unsigned nexts[] = {
#define NEXT(name, text, part, next) next,
        JOB_STATES(NEXT)
#undef NEXT
    };
    return from == to || nexts[from] >> to & 1;
}

const char *attempt_outcome_name(unsigned outcome)
{
    static const char *const names[] = {
#define NAME(name, number, text) [number] = text,
        ATTEMPT_OUTCOMES(NAME)
#undef NAME
    };
    return outcome < sizeof(names) / sizeof(names[0]) ? names[outcome] : "unknown";
}
