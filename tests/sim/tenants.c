/* SPDX-License-Identifier: MIT */
#include "sim/tenants.h"

#include <string.h>

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

/* In any window of this length a rate allows so many. */
static size_t window(const struct rate *r, int64_t *ret_ms)
{
    int64_t n = r->burst > 0 ? r->burst : r->count;

    *ret_ms = r->per_ms * n / r->count + (r->per_ms * n % r->count > 0);
    return (size_t)n;
}

void takes_change(struct model_takes *x, const struct rate *old)
{
    if (old->count == 0)
        x->count = 0;
    for (size_t i = 0; i < x->count; i++)
        x->takes[i].early_ms = x->takes[i].first_ms =
            INT64_MIN / 4; /* it may have been forgotten */
}

void takes_add(struct model_takes *x, const struct rate *r, int64_t wall_ms, int64_t mono_ms)
{
    if (r->count == 0)
        return;
    if (x->count == MODEL_TAKES)
        memmove(x->takes, x->takes + 1, --x->count * sizeof(*x->takes));
    x->takes[x->count++] = (struct model_take){ mono_ms, mono_ms, wall_ms, wall_ms };
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A record may be written now. */
void takes_advance(struct model_takes *x, int64_t wall_ms, int64_t mono_ms)
{
    int64_t ahead_ms = wall_ms - mono_ms;

    for (size_t i = 0; i < x->count; i++) {
        struct model_take *t = &x->takes[i];
        t->first_ms = least_of(t->first_ms, t->early_ms + ahead_ms);
        t->last_ms = most_of(t->last_ms, t->late_ms + ahead_ms);
    }
}

/* No job was given in the future, and none before the one that was given first. A job is as old as
 * the newest record says. */
void takes_restart(struct model_takes *x, int64_t wall_ms, int64_t mono_ms)
{
    int64_t late_ms = INT64_MIN, newest_ms = wall_ms;

    for (size_t i = 0; i < x->count; i++)
        newest_ms = most_of(newest_ms, x->takes[i].last_ms);
    for (size_t i = 0; i < x->count; i++) {
        struct model_take *t = &x->takes[i];
        t->early_ms = mono_ms - (newest_ms - t->first_ms);
        t->late_ms = late_ms = most_of(mono_ms - most_of(wall_ms - t->last_ms, 0), late_ms);
    }
    takes_advance(x, wall_ms, mono_ms);
}

static size_t room(size_t limit, size_t counted)
{
    return counted < limit ? limit - counted : 0;
}

size_t takes_least(const struct model_takes *x, const struct rate *r, int64_t mono_ms)
{
    int64_t length_ms;
    size_t counted = 0;

    if (r->count == 0)
        return SIZE_MAX;
    size_t limit = window(r, &length_ms);
    for (size_t i = 0; i < x->count; i++)
        counted += x->takes[i].late_ms + length_ms > mono_ms;
    return room(limit, counted);
}

size_t takes_most(const struct model_takes *x, const struct rate *r, int64_t mono_ms)
{
    int64_t length_ms;
    size_t counted = 0;

    if (r->count == 0)
        return SIZE_MAX;
    size_t limit = window(r, &length_ms);
    for (size_t i = 0; i < x->count; i++)
        counted += x->takes[i].early_ms + length_ms > mono_ms;
    return room(limit, counted);
}

int64_t takes_moment(const struct model_takes *x, const struct rate *r)
{
    int64_t length_ms;

    if (r->count == 0)
        return INT64_MIN;
    size_t limit = window(r, &length_ms);
    return x->count < limit ? INT64_MIN : x->takes[x->count - limit].late_ms + length_ms;
}

/* The n-th moment, from 0, in the order of time: jobs that were counted late may begin early. */
static int64_t early_of(const struct model_takes *x, size_t n)
{
    int64_t moments[MODEL_TAKES];

    for (size_t i = 0; i < x->count; i++) {
        size_t at = i;

        for (; at > 0 && moments[at - 1] > x->takes[i].early_ms; at--)
            moments[at] = moments[at - 1];
        moments[at] = x->takes[i].early_ms;
    }
    return moments[n];
}

/* Those ahead go as soon as they may, each a window behind the one that is `limit` before it. */
static int64_t pause(const struct model_takes *x, const struct rate *r, int64_t mono_ms,
                     int64_t ahead, bool late)
{
    int64_t length_ms, first_ms = mono_ms;

    if (r->count == 0)
        return 0;
    size_t limit = window(r, &length_ms), of_first = (size_t)ahead % limit;
    if (x->count + of_first >= limit) {
        size_t n = x->count + of_first - limit;
        first_ms = (late ? x->takes[n].late_ms : early_of(x, n)) + length_ms;
    }
    return most_of(first_ms - mono_ms, 0) + ahead / (int64_t)limit * length_ms;
}

int64_t takes_pause_low(const struct model_takes *x, const struct rate *r, int64_t mono_ms,
                        int64_t ahead)
{
    return pause(x, r, mono_ms, ahead, false);
}

int64_t takes_pause_high(const struct model_takes *x, const struct rate *r, int64_t mono_ms,
                         int64_t ahead)
{
    return pause(x, r, mono_ms, ahead, true);
}
