/* SPDX-License-Identifier: MIT */
/* A histogram of non-negative numbers with about 6 % resolution: 16 buckets per power of two. It
 * has a fixed size and allocates nothing. A value above 2^40 counts as 2^40. */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdint.h>

#define HIST_BUCKETS (16 + 36 * 16)

struct hist {
    uint64_t count;
    uint64_t sum;
    uint64_t max;
    uint32_t buckets[HIST_BUCKETS];
};

void hist_add(struct hist *h, int64_t value); /* negative counts as 0 */
void hist_merge(struct hist *h, const struct hist *other);
/* How many are at or below a value: exact for one less than a power of two. */
uint64_t hist_upto(const struct hist *h, uint64_t value);
/* The value that a share of 0..1 lies at or below (upper edge of its bucket, at most max). */
uint64_t hist_quantile(const struct hist *h, double share);

#endif
