/* SPDX-License-Identifier: MIT */
#include "base/hist.h"

/* Values below 16 have a bucket each; above, the exponent and the next four bits choose. */
static unsigned bucket_of(uint64_t v)
{
    unsigned top;

    if (v < 16)
        return (unsigned)v;
    if (v >= UINT64_C(1) << 40)
        return HIST_BUCKETS - 1;
    top = 63 - (unsigned)__builtin_clzll(v);
    return 16 + (top - 4) * 16 + (unsigned)((v >> (top - 4)) & 15);
}

static uint64_t upper_edge(unsigned bucket)
{
    unsigned shift;

    if (bucket < 16)
        return bucket;
    shift = (bucket - 16) / 16;
    return ((UINT64_C(16) + (bucket - 16) % 16 + 1) << shift) - 1;
}

void hist_add(struct hist *h, int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;

    h->count++;
    h->sum += v;
    if (v > h->max)
        h->max = v;
    h->buckets[bucket_of(v)]++;
}

void hist_merge(struct hist *h, const struct hist *other)
{
    h->count += other->count;
    h->sum += other->sum;
    if (other->max > h->max)
        h->max = other->max;
    for (unsigned i = 0; i < HIST_BUCKETS; i++)
        h->buckets[i] += other->buckets[i];
}

uint64_t hist_upto(const struct hist *h, uint64_t value)
{
    unsigned last = bucket_of(value);
    uint64_t n = 0;

    for (unsigned i = 0; i <= last; i++)
        n += h->buckets[i];
    return n;
}

uint64_t hist_quantile(const struct hist *h, double share)
{
    uint64_t want = (uint64_t)(share * (double)h->count);
    uint64_t seen = 0;

    for (unsigned i = 0; i < HIST_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen > want || (seen == h->count && seen))
            return upper_edge(i) < h->max ? upper_edge(i) : h->max;
    }
    return h->max;
}
