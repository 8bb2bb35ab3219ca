/* SPDX-License-Identifier: MIT */
/* One run: a seed's worth of random steps. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include <stdint.h>

struct run_totals {
    uint64_t steps;
    uint64_t crashes;
    uint64_t leases;
    uint64_t reclaimed;
    uint64_t memory_max; /* beyond the budget, at most */
};

/* Ends the process if something is wrong. steps 0: as many as the seed says. */
void run_seed(uint64_t seed, uint64_t steps, unsigned mutant, struct run_totals *totals);

/* Hours of steady work with reclaiming: the journal must stay small. */
void run_churn(uint64_t seed);

/* The partition with real threads. */
void run_threads(uint64_t seed);

/* Damage on disk, once for each seed: it costs the jobs that are in it and no others. */
void run_damage(uint64_t first, uint64_t last, unsigned mutant);

#endif
