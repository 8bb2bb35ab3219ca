/* SPDX-License-Identifier: MIT */
/* How late jobs come: from the moment a job is due to the moment a waiting worker has it, by the
 * wall clock. Between these moments a bare timer of the kernel shows how late the machine itself
 * is. No scheduler on this machine can beat that. */
#ifndef CLI_LATE_H
#define CLI_LATE_H

#include "cli/load.h"

#define LATE_SPAN_MS 10000 /* the default of the span over which jobs are due */

struct late_result {
    uint64_t jobs;
    uint64_t early;      /* jobs that came before they were due; there must be none */
    int64_t earliest_us; /* the least lateness */
    struct hist late;    /* microseconds */
    struct hist timer;
    char why[256];
};

/* Schedules `jobs` jobs, due over the span, waits for them and completes them. Blocks for longer
 * than the span. Of `o` only the address, the queue and `quiet` count. 0, or an error with
 * ret->why. */
int late_measure(const struct load_options *o, uint64_t jobs, int64_t span_ms,
                 struct late_result *ret);

#endif
