/* SPDX-License-Identifier: MIT */
/*
 * The queues of the simulation, whose they are, and of which kind:
 *
 *                default   a       b
 *     kind q0    q0        a@q0    b@q0
 *     kind q1    q1                b@q1
 *     kind q2
 *
 * And the jobs that a rate has counted, one by one. Where the engine may choose (a rate that was
 * changed, a restart after a jump of the wall clock) it counted a job between two moments.
 */
#ifndef SIM_TENANTS_H
#define SIM_TENANTS_H

#include "engine/types.h"

#define MODEL_QUEUES  5
#define MODEL_TENANTS 3
#define MODEL_KINDS   3

/* Whose jobs a request may see: everybody's, a tenant's (1 + its number), or those of one that has
 * none. */
#define SCOPE_ALL    0
#define SCOPE_NOBODY (MODEL_TENANTS + 1)

unsigned tenants_of(unsigned queue);
unsigned tenants_kind(unsigned queue);
/* The queues (bits) that a worker asks when it names these queues and kinds. */
unsigned tenants_reach(unsigned queues, unsigned kinds);

#define MODEL_TAKES 64 /* no rate of the simulation allows more in its window */

struct model_takes {
    size_t count;
    struct model_take {
        int64_t early_ms; /* monotonic: the first moment for which it may count, */
        int64_t late_ms;  /* and the last one, which rises from job to job */
        int64_t first_ms; /* by the wall clock: the first moment that a record may have, */
        int64_t last_ms;  /* and the last one */
    } takes[MODEL_TAKES]; /* the oldest first */
};

/* A rate replaces another. */
void takes_change(struct model_takes *x, const struct rate *old);
void takes_add(struct model_takes *x, const struct rate *r, int64_t wall_ms, int64_t mono_ms);
/* The clocks go on, or jump. */
void takes_advance(struct model_takes *x, int64_t wall_ms, int64_t mono_ms);
void takes_restart(struct model_takes *x, int64_t wall_ms, int64_t mono_ms);
/* How many may be given, SIZE_MAX if any number: at least, or at most. */
size_t takes_least(const struct model_takes *x, const struct rate *r, int64_t mono_ms);
size_t takes_most(const struct model_takes *x, const struct rate *r, int64_t mono_ms);
/* How long a job waits that has `ahead` others before it, at the least or at the most. */
int64_t takes_pause_low(const struct model_takes *x, const struct rate *r, int64_t mono_ms,
                        int64_t ahead);
int64_t takes_pause_high(const struct model_takes *x, const struct rate *r, int64_t mono_ms,
                         int64_t ahead);
/* When one may be given at the latest. */
int64_t takes_moment(const struct model_takes *x, const struct rate *r);

#endif
