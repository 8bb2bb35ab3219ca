/* SPDX-License-Identifier: MIT */
/* The simulator's random numbers: splitmix64, so that a seed means the same run everywhere. */
#ifndef SIM_RNG_H
#define SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 .. n-1 */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
    return rng_next(r) % n;
}

/* lo .. hi, both included */
static inline int64_t rng_between(struct rng *r, int64_t lo, int64_t hi)
{
    return lo + (int64_t)rng_below(r, (uint64_t)(hi - lo) + 1);
}

static inline bool rng_chance(struct rng *r, unsigned percent)
{
    return rng_below(r, 100) < percent;
}

/* Spread over the orders of magnitude: as likely below 100 ms as between 1 and 10 minutes. */
static inline int64_t rng_duration(struct rng *r, int64_t max_ms)
{
    int64_t top = 10;
    while (top < max_ms && !rng_chance(r, 22))
        top *= 8;
    return rng_between(r, 0, top < max_ms ? top : max_ms);
}

#endif
