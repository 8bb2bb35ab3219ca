/* SPDX-License-Identifier: MIT */
/* Takes and finishes all jobs of a queue, and checks them. The number at the front of its payload
 * identifies a job. Each job must come once, not before its time, and as it was sent. */
#ifndef CLI_DRAIN_H
#define CLI_DRAIN_H

#include "cli/load.h"

/* The faults that are looked for. */
#define DRAIN_FAULTS(X)                                    \
    X(missing, "did not come")                             \
    X(twice, "came again")                                 \
    X(early, "were early")                                 \
    X(moved, "have another due time than they were given") \
    X(damaged, "are not what was sent")

struct drain_result {
    struct load_result load;
    uint64_t delivered; /* jobs that came, each counted once */
#define DRAIN_FAULT(name, text) uint64_t name;
    DRAIN_FAULTS(DRAIN_FAULT)
#undef DRAIN_FAULT
    int64_t earliest_us;   /* the least lateness */
    struct hist late;      /* microseconds from the due time of a job to its arrival */
    uint64_t behind;       /* jobs due before a job that their connection got earlier */
    int64_t behind_max_ms; /* the most by which a job was behind */
};

/* Drains the jobs 0 to `jobs` - 1 of the target's queue; if `timed`, they must be due as
 * driver_due_ms() says. Blocks until all came or none comes any more. 0, or an error with
 * ret->load.why. */
int drain_measure(const struct load_options *o, uint64_t jobs, bool timed,
                  struct drain_result *ret);

bool drain_is_right(const struct drain_result *r);

#endif
