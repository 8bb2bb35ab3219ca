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

/* The place of a group: those before it that are missing take none. */
static unsigned place_of(const struct hist *h, unsigned group)
{
    uint64_t before = h->missing & ((UINT64_C(1) << group) - 1);

    return (group - (unsigned)__builtin_popcountll(before)) * HIST_GROUP;
}

static size_t size_of(const struct hist *h)
{
    return offsetof(struct hist, buckets) + place_of(h, HIST_GROUPS) * sizeof(h->buckets[0]);
}

static void count(struct hist *h, uint64_t v)
{
    unsigned bucket = bucket_of(v);

    h->count++;
    h->sum += v;
    if (v > h->max)
        h->max = v;
    h->buckets[place_of(h, bucket / HIST_GROUP) + bucket % HIST_GROUP]++;
}

void hist_add(struct hist *h, int64_t value)
{
    count(h, value < 0 ? 0 : (uint64_t)value);
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

bool hist_add_few(struct pool *p, struct hist **h, int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    unsigned group = bucket_of(v) / HIST_GROUP;

    if (!*h || is_missing(*h, group)) {
        struct hist *wide = widen(p, *h, group);

        if (!wide)
            return false;
        hist_free_few(p, *h);
        *h = wide;
    }
    count(*h, v);
    return true;
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
