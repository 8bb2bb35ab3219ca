/* SPDX-License-Identifier: MIT */
/*
 * The queues of the simulation, whose they are, and of which kind:
 *
 *                default   a       b
 *     kind q0    q0        a@q0    b@q0
 *     kind q1    q1                b@q1
 *     kind q2
 *
 * And what a rate has left, counted in whole numbers: a job takes `per_ms`, and each millisecond
 * brings `count`. Where the engine may choose (a rate that was just set, a restart) it has
 * something between `low` and `high`.
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

struct model_bucket {
    int64_t low;
    int64_t high;
    int64_t at_ms; /* monotonic: when this was true */
};

/* A rate begins to hold. */
void bucket_begin(struct model_bucket *b, const struct rate *r, int64_t mono_ms);
void bucket_take(struct model_bucket *b, const struct rate *r, int64_t mono_ms);
/* How many may be given, SIZE_MAX if any number: at least, or at most. */
size_t bucket_least(const struct model_bucket *b, const struct rate *r, int64_t mono_ms);
size_t bucket_most(const struct model_bucket *b, const struct rate *r, int64_t mono_ms);
/* How long a job waits that has `ahead` others before it, at the least or at the most. */
int64_t bucket_pause_low(const struct model_bucket *b, const struct rate *r, int64_t mono_ms,
                         int64_t ahead);
int64_t bucket_pause_high(const struct model_bucket *b, const struct rate *r, int64_t mono_ms,
                          int64_t ahead);
/* When one may be given at the latest. */
int64_t bucket_moment(const struct model_bucket *b, const struct rate *r);

#endif
