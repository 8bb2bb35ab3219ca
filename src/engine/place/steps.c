/* SPDX-License-Identifier: MIT */
/*
 * The steps of time whose figures are kept: minutes and hours, each in the order of their moments.
 * The newest 1,440 minutes and 720 hours in which something happened are kept. All of them together
 * have a share of memory: so a step has its part of it, and rows beyond that part are left out.
 *
 * A new minute is added to its hour at once. Where the clock was wrong, there may be steps far
 * ahead. So not the oldest step goes when there are too many, but the one that is farthest from the
 * new step.
 */
#include "engine/place/pulse.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "engine/place/budget.h"
#include "engine/place/detail.h"

#define STEP_LEAST 1024
#define STEP_MOST  (64u << 10)

static const size_t most_steps[STEP_KINDS] = { STEP_MINUTES_MAX, STEP_HOURS_MAX };

size_t step_most(const struct engine *e)
{
    uint64_t most = budget_share(e, SHARE_SERIES) / (STEP_MINUTES_MAX + STEP_HOURS_MAX);

    return most < STEP_LEAST ? STEP_LEAST : most > STEP_MOST ? STEP_MOST : (size_t)most;
}

static size_t size_of(const struct step *s)
{
    return sizeof(*s) + s->len;
}

static void step_free(struct engine *e, struct step *s)
{
    if (s)
        pool_free(&e->pool, s, size_of(s));
}

void steps_free(struct engine *e)
{
    for (int kind = 0; kind < STEP_KINDS; kind++) {
        struct steps *all = &e->pulses.steps[kind];

        for (size_t i = 0; i < all->count; i++)
            step_free(e, all->all[i]);
        free(all->all);
    }
}

size_t step_seek(const struct steps *s, int64_t at_ms)
{
    size_t from = 0, to = s->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (s->all[middle]->at_ms < at_ms)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct step *step_find(const struct steps *all, int64_t at_ms)
{
    size_t i = step_seek(all, at_ms);

    return i < all->count && all->all[i]->at_ms == at_ms ? all->all[i] : NULL;
}

static struct step *step_new(struct engine *e, int64_t at_ms, struct str figures)
{
    struct step *s = pool_alloc(&e->pool, sizeof(*s) + figures.len);

    if (!s)
        return NULL;
    s->at_ms = at_ms;
    s->segment = e->segment;
    s->len = (uint32_t)figures.len;
    memcpy(s->bytes, figures.ptr, figures.len);
    return s;
}

static void step_drop(struct engine *e, struct steps *all, size_t i)
{
    struct step *gone = all->all[i];

    all->bytes -= size_of(gone);
    all->count--;
    memmove(&all->all[i], &all->all[i + 1], (all->count - i) * sizeof(struct step *));
    step_free(e, gone);
}

/* Drops the step that is farthest from this moment. */
static void step_drop_far(struct engine *e, struct steps *all, int64_t at_ms)
{
    int64_t before = at_ms - all->all[0]->at_ms;
    int64_t behind = all->all[all->count - 1]->at_ms - at_ms;

    step_drop(e, all, before >= behind ? 0 : all->count - 1);
}

/* Enters a step in place of the old one of its moment. There is room in the array. */
static void step_enter(struct engine *e, enum step_kind kind, struct step *s)
{
    struct steps *all = &e->pulses.steps[kind];
    size_t i = step_seek(all, s->at_ms);

    if (i < all->count && all->all[i]->at_ms == s->at_ms)
        step_drop(e, all, i);
    assert(all->count < all->cap);
    memmove(&all->all[i + 1], &all->all[i], (all->count - i) * sizeof(struct step *));
    all->all[i] = s;
    all->count++;
    all->bytes += size_of(s);
    if (all->count > most_steps[kind])
        step_drop_far(e, all, s->at_ms);
}

static bool steps_room(struct steps *all)
{
    struct step **grown =
        (struct step **)array_room(all->all, all->count, &all->cap, sizeof(struct step *));

    if (grown)
        all->all = grown;
    return grown != NULL;
}

/* A step with these figures added. NULL: there is no memory. */
static struct step *step_sum(struct engine *e, const struct steps *all, int64_t at_ms,
                             struct str figures, size_t most)
{
    const struct step *old = step_find(all, at_ms);
    struct buf sum = { 0 }, kept = { 0 };
    struct step *s = NULL;

    if (!old)
        return step_new(e, at_ms, figures);
    series_merge(&sum, step_figures(old), figures);
    if (!sum.failed && series_trim(&kept, buf_view(&sum), most))
        s = step_new(e, at_ms, buf_view(&kept));
    if (s)
        s->segment = old->segment; /* it has the first part of the figures */
    buf_fini(&sum);
    buf_fini(&kept);
    return s;
}

int steps_add(struct engine *e, int64_t at_ms, struct str figures, size_t most)
{
    struct steps *minutes = &e->pulses.steps[STEP_MINUTES], *hours = &e->pulses.steps[STEP_HOURS];
    int64_t hour_ms = at_ms - at_ms % SERIES_HOUR_MS;
    struct step *minute = step_sum(e, minutes, at_ms, figures, most);
    struct step *hour = step_sum(e, hours, hour_ms, figures, most);

    if (!minute || !hour || !steps_room(minutes) || !steps_room(hours)) {
        step_free(e, minute);
        step_free(e, hour);
        return BELFRY_NOMEM;
    }
    step_enter(e, STEP_MINUTES, minute);
    step_enter(e, STEP_HOURS, hour);
    return 0;
}

int step_set(struct engine *e, enum step_kind kind, int64_t at_ms, struct str figures)
{
    struct step *s = step_new(e, at_ms, figures);

    if (!s || !steps_room(&e->pulses.steps[kind])) {
        step_free(e, s);
        return BELFRY_NOMEM;
    }
    step_enter(e, kind, s);
    return 0;
}

void steps_fit(struct engine *e)
{
    struct steps *minutes = &e->pulses.steps[STEP_MINUTES], *hours = &e->pulses.steps[STEP_HOURS];
    uint64_t share = budget_share(e, SHARE_SERIES) + UINT64_C(4) * STEP_MOST;

    while (minutes->bytes + hours->bytes > share && minutes->count + hours->count > 2) {
        struct steps *larger = minutes->bytes >= hours->bytes ? minutes : hours;

        step_drop_far(e, larger, e->now_ms);
    }
}
