/* SPDX-License-Identifier: MIT */
/*
 * A histogram of non-negative numbers with about 6 % resolution: 16 buckets per power of two. A
 * value above 2^40 counts as 2^40.
 *
 * A whole histogram has a fixed size and allocates nothing. A histogram that hist_add_few() made
 * has only the groups of buckets that count something. It ends behind them, so nothing but the
 * functions below may look at its buckets, and it cannot be copied.
 */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

#define HIST_GROUP   16
#define HIST_GROUPS  37
#define HIST_BUCKETS (HIST_GROUPS * HIST_GROUP)

struct hist {
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint64_t missing; /* bit i: group i has no place, and counts nothing; 0: all groups are there */
    uint32_t buckets[HIST_BUCKETS];
};

/* Counts a value in a whole histogram. A negative value counts as 0. */
void hist_add(struct hist *h, int64_t value);
/* Makes the histogram if it is NULL, and the group that it needs. False: there is no memory, and
 * the value was not counted. */
bool hist_add_few(struct pool *p, struct hist **h, int64_t value);
/* Adds the value to both, as hist_add_few does. Returns the bytes by which `a` grew. */
size_t hist_add_both(struct pool *p, struct hist **a, struct hist **b, int64_t value);
void hist_free_few(struct pool *p, struct hist *h); /* accepts NULL */
/* The memory that it takes; 0 for NULL. */
size_t hist_bytes(const struct hist *h);

/* Adds the counts of `other` to `h`, which is a whole histogram. */
void hist_merge(struct hist *h, const struct hist *other);
/* How many are at or below a value: exact for one less than a power of two. */
uint64_t hist_upto(const struct hist *h, uint64_t value);
/* The value that a share of 0..1 lies at or below (upper edge of its bucket, at most max). */
uint64_t hist_quantile(const struct hist *h, double share);

#endif
