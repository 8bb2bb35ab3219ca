/* SPDX-License-Identifier: MIT */
#include "record/jobstate.h"

const char *job_state_name(enum job_state s)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        JOB_STATES(NAME)
#undef NAME
    };
    return names[s];
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
