/* SPDX-License-Identifier: MIT */
/*
 * Takes and finishes all jobs of a queue and checks them: jobs are known by the number at the front
 * of their payload, so that each must come once, none before its time, and each as it was sent.
 */
#ifndef CLI_DRAIN_H
#define CLI_DRAIN_H

#include "cli/load.h"

/* What must not be. */
#define DRAIN_FAULTS(X)                                    \
    X(missing, "did not come")                             \
    X(twice, "came again")                                 \
    X(early, "were early")                                 \
    X(moved, "have another due time than they were given") \
    X(damaged, "are not what was sent")

struct drain_result {
    struct load_result load;
    uint64_t delivered; /* different jobs */
#define DRAIN_FAULT(name, text) uint64_t name;
    DRAIN_FAULTS(DRAIN_FAULT)
#undef DRAIN_FAULT
    int64_t earliest_us; /* the least lateness */
    struct hist late;    /* microseconds from when it was due to when it was here */
    /* Of the jobs that one connection got: those due before one that it got earlier. */
    uint64_t behind;
    int64_t behind_max_ms;
};

/* Jobs 0 to `jobs` - 1 of the target's queue; if `timed`, they are due as driver_due_ms says.
 * Blocks until all came or none comes any more. 0, or an error with ret->load.why. */
int drain_measure(const struct load_options *o, uint64_t jobs, bool timed,
                  struct drain_result *ret);

bool drain_is_right(const struct drain_result *r);

#endif
