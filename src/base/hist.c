/* SPDX-License-Identifier: MIT */
#include "base/hist.h"

#include <stddef.h>
#include <string.h>

#include "base/pool.h"

#define ALL_MISSING ((UINT64_C(1) << HIST_GROUPS) - 1)

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

static bool is_missing(const struct hist *h, unsigned group)
{
    return h->missing >> group & 1;
}

/* How many bits are set. The compiler's builtin is a call where processors need not have it. */
static unsigned bits_of(uint64_t v)
{
    v -= v >> 1 & UINT64_C(0x5555555555555555);
    v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
    v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(v * UINT64_C(0x0101010101010101) >> 56);
}

/* The place of a group in memory. Missing groups before it take no place. */
static unsigned place_of(const struct hist *h, unsigned group)
{
    uint64_t before = h->missing & ((UINT64_C(1) << group) - 1);

    return (group - bits_of(before)) * HIST_GROUP;
}

static size_t size_of(const struct hist *h)
{
    return offsetof(struct hist, buckets) + place_of(h, HIST_GROUPS) * sizeof(h->buckets[0]);
}

/* Counts a value whose bucket is at this place. */
static void count(struct hist *h, uint64_t v, unsigned place)
{
    h->count++;
    h->sum += v;
    if (v > h->max)
        h->max = v;
    h->buckets[place]++;
}

void hist_add(struct hist *h, int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;

    count(h, v, bucket_of(v));
}

/* A copy of `h`, which may be NULL, that has this group too. */
static struct hist *widen(struct pool *p, const struct hist *h, unsigned group)
{
    struct hist head = { .missing = ALL_MISSING };
    size_t kept = offsetof(struct hist, buckets);

    if (h)
        memcpy(&head, h, kept);
    head.missing &= ~(UINT64_C(1) << group);
    size_t size = size_of(&head), before = place_of(&head, group) * sizeof(head.buckets[0]);
    struct hist *wide = pool_alloc(p, size);
    if (!wide)
        return NULL;
    char *to = (char *)wide + kept;
    size_t gap = HIST_GROUP * sizeof(head.buckets[0]);
    memcpy(wide, &head, kept);
    if (h) {
        const char *from = (const char *)h + kept;

        memcpy(to, from, before);
        memcpy(to + before + gap, from + before, size - kept - gap - before);
    }
    memset(to + before, 0, gap);
    return wide;
}

/* As hist_add_few, for a group that is missing. */
static bool add_group(struct pool *p, struct hist **h, uint64_t v, unsigned bucket)
{
    struct hist *wide = widen(p, *h, bucket / HIST_GROUP);

    if (!wide)
        return false;
    hist_free_few(p, *h);
    *h = wide;
    count(wide, v, place_of(wide, bucket / HIST_GROUP) + bucket % HIST_GROUP);
    return true;
}

bool hist_add_few(struct pool *p, struct hist **h, int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    unsigned bucket = bucket_of(v), group = bucket / HIST_GROUP;

    if (!*h || is_missing(*h, group))
        return add_group(p, h, v, bucket);
    count(*h, v, place_of(*h, group) + bucket % HIST_GROUP);
    return true;
}

size_t hist_add_both(struct pool *p, struct hist **a, struct hist **b, int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    unsigned bucket = bucket_of(v), group = bucket / HIST_GROUP, place;

    if (!*a || !*b || (*a)->missing != (*b)->missing || is_missing(*a, group)) {
        size_t before = hist_bytes(*a);

        hist_add_few(p, a, value);
        hist_add_few(p, b, value);
        return hist_bytes(*a) - before;
    }
    place = place_of(*a, group) + bucket % HIST_GROUP;
    count(*a, v, place);
    count(*b, v, place);
    return 0;
}

size_t hist_bytes(const struct hist *h)
{
    return h ? pool_size(size_of(h)) : 0;
}

void hist_free_few(struct pool *p, struct hist *h)
{
    if (h)
        pool_free(p, h, size_of(h));
}

void hist_merge(struct hist *h, const struct hist *other)
{
    h->count += other->count;
    h->sum += other->sum;
    if (other->max > h->max)
        h->max = other->max;
    for (unsigned group = 0; group < HIST_GROUPS; group++) {
        const uint32_t *from = &other->buckets[place_of(other, group)];

        for (unsigned i = 0; i < HIST_GROUP && !is_missing(other, group); i++)
            h->buckets[group * HIST_GROUP + i] += from[i];
    }
}

uint64_t hist_upto(const struct hist *h, uint64_t value)
{
    unsigned last = bucket_of(value);
    uint64_t n = 0;

    for (unsigned group = 0; group <= last / HIST_GROUP; group++) {
        const uint32_t *from = &h->buckets[place_of(h, group)];
        unsigned end = group < last / HIST_GROUP ? HIST_GROUP : last % HIST_GROUP + 1;

        for (unsigned i = 0; i < end && !is_missing(h, group); i++)
            n += from[i];
    }
    return n;
}

uint64_t hist_quantile(const struct hist *h, double share)
{
    uint64_t want = (uint64_t)(share * (double)h->count);
    uint64_t seen = 0;

    for (unsigned group = 0; group < HIST_GROUPS; group++) {
        const uint32_t *from = &h->buckets[place_of(h, group)];

        for (unsigned i = 0; i < HIST_GROUP && !is_missing(h, group); i++) {
            seen += from[i];
            if (seen > want || (seen == h->count && seen)) {
                uint64_t edge = upper_edge(group * HIST_GROUP + i);

                return edge < h->max ? edge : h->max;
            }
        }
    }
    return h->max;
}
