/* SPDX-License-Identifier: MIT */
#include "sim/tenants.h"

static const struct {
    unsigned tenant;
    unsigned kind;
} queues[MODEL_QUEUES] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 2, 0 }, { 2, 1 } };

unsigned tenants_of(unsigned queue)
{
    return queues[queue].tenant;
}

unsigned tenants_kind(unsigned queue)
{
    return queues[queue].kind;
}

unsigned tenants_reach(unsigned named, unsigned kinds)
{
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (kinds >> queues[q].kind & 1)
            named |= 1u << q;
    return named;
}

static int64_t full(const struct rate *r)
{
    return r->count * r->per_ms;
}

static int64_t level(const struct model_bucket *b, const struct rate *r, int64_t from, int64_t ms)
{
    int64_t n = from + (ms - b->at_ms) * r->count;

    return n < full(r) ? n : full(r);
}

/* What it has at least. The engine counts in parts of a millisecond that need not be exact: while
 * it fills it may be behind, by less than one of our units. */
static int64_t least(const struct model_bucket *b, const struct rate *r, int64_t mono_ms)
{
    int64_t n = level(b, r, b->low, mono_ms);

    n -= mono_ms > b->at_ms && n < full(r);
    return n > 0 ? n : 0;
}

void bucket_begin(struct model_bucket *b, const struct rate *r, int64_t mono_ms)
{
    *b = (struct model_bucket){ .high = full(r), .at_ms = mono_ms };
}

void bucket_take(struct model_bucket *b, const struct rate *r, int64_t mono_ms)
{
    if (r->count == 0)
        return;
    b->low = least(b, r, mono_ms) - r->per_ms;
    b->low = b->low > 0 ? b->low : 0; /* there was one, so it had more */
    b->high = level(b, r, b->high, mono_ms) - r->per_ms;
    b->at_ms = mono_ms;
}

size_t bucket_least(const struct model_bucket *b, const struct rate *r, int64_t mono_ms)
{
    return r->count == 0 ? SIZE_MAX : (size_t)(least(b, r, mono_ms) / r->per_ms);
}

size_t bucket_most(const struct model_bucket *b, const struct rate *r, int64_t mono_ms)
{
    return r->count == 0 ? SIZE_MAX : (size_t)(level(b, r, b->high, mono_ms) / r->per_ms);
}

static int64_t pause(const struct rate *r, int64_t level, int64_t ahead)
{
    int64_t lacks = (ahead + 1) * r->per_ms - level;

    return r->count == 0 || lacks <= 0 ? 0 : (lacks + r->count - 1) / r->count;
}

int64_t bucket_pause_low(const struct model_bucket *b, const struct rate *r, int64_t mono_ms,
                         int64_t ahead)
{
    return pause(r, r->count == 0 ? 0 : level(b, r, b->high, mono_ms), ahead);
}

int64_t bucket_pause_high(const struct model_bucket *b, const struct rate *r, int64_t mono_ms,
                          int64_t ahead)
{
    return pause(r, r->count == 0 ? 0 : least(b, r, mono_ms), ahead);
}

int64_t bucket_moment(const struct model_bucket *b, const struct rate *r)
{
    if (r->count == 0 || b->low >= r->per_ms)
        return INT64_MIN;
    return b->at_ms + (r->per_ms - b->low + 1 + r->count - 1) / r->count;
}
