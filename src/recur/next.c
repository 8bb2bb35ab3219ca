/* SPDX-License-Identifier: MIT */
/*
 * From a moment to the next occurrence. A search has a place from which it goes on. The pace of
 * the rule tells the unit of the place: a local second (PACE_LOCAL), a second of UTC (PACE_SHOWN,
 * PACE_ELAPSED), a millisecond (PACE_EVERY). In each pace, the order of places is the order of
 * moments.
 */
#include "base/error.h"
#include "base/time.h"
#include "recur/internal.h"

#define NEAR (4 * CIVIL_DAY) /* no change of the clock is as large */

/* A time that the rule has, before excluded dates are left out. */
struct candidate {
    int64_t at_ms;
    int64_t local_s;
    int32_t offset_s;
    enum recur_note note;
};

/* The first place that is at or after a moment. */
static int64_t place_at(const struct recur *r, int64_t at_ms)
{
    int64_t at_s = civil_div_up(at_ms - r->fraction_ms, 1000), local_s;
    if (r->pace == PACE_EVERY)
        return at_ms;
    if (r->pace != PACE_LOCAL)
        return at_s;
    local_s = zone_peak(r->zone, at_s - 1) + 1;
    return local_s > r->start_local_s ? local_s : r->start_local_s;
}

static enum recur_note note_shown(const struct zone *z, const struct zone_stretch *in,
                                  int64_t local_s)
{
    enum zone_fit fit;
    if (local_s < in->reach_s)
        return RECUR_SECOND;
    zone_moment(z, local_s, &fit);
    return fit == ZONE_TWICE ? RECUR_FIRST : RECUR_PLAIN;
}

static bool next_every(const struct recur *r, int64_t from_ms, struct candidate *ret)
{
    int64_t n = civil_div_up(from_ms - r->start_ms, r->every_ms);
    struct zone_stretch in;
    if (n < 0)
        n = 0;
    if (n > (TIME_MOMENT_MAX - r->start_ms) / r->every_ms)
        return false;
    ret->at_ms = r->start_ms + n * r->every_ms;
    in = zone_at(r->zone, civil_div(ret->at_ms, 1000));
    ret->local_s = civil_div(ret->at_ms, 1000) + in.offset_s;
    ret->offset_s = in.offset_s;
    ret->note = note_shown(r->zone, &in, ret->local_s);
    return true;
}

static bool next_local(struct search *s, int64_t from_s, struct candidate *ret)
{
    static const enum recur_note notes[] = {
        [ZONE_ONCE] = RECUR_PLAIN, [ZONE_GAP] = RECUR_MOVED, [ZONE_TWICE] = RECUR_FIRST
    };
    const struct recur *r = s->r;
    enum zone_fit fit;
    int64_t at_s;
    if (!expand_next(s, from_s, &ret->local_s))
        return false;
    at_s = zone_moment(r->zone, ret->local_s, &fit);
    ret->at_ms = at_s * 1000 + r->fraction_ms;
    ret->offset_s = zone_at(r->zone, at_s).offset_s;
    ret->note = notes[fit];
    return true;
}

/*
 * Called when the stretch that from_s is in has no further occurrence. Moves from_s on to a moment
 * before which no other stretch has one. The clock may be set back by less than NEAR. So the search
 * for local times begins NEAR earlier, and the new moment is NEAR before the time found. False:
 * there is no occurrence at all.
 */
static bool leave_stretch(struct search *s, const struct zone_stretch *in, int64_t *from_s)
{
    const struct recur *r = s->r;
    int64_t begin = *from_s + in->offset_s, next = begin;
    if (in->end_s >= SEARCH_DAY_END * CIVIL_DAY)
        return false;
    s->day_end = SEARCH_DAY_END;
    if (r->pace == PACE_SHOWN) {
        if (!expand_next(s, begin - NEAR, &next))
            return false;
    } else if (r->has_days) {
        int64_t day = civil_div(begin - NEAR, CIVIL_DAY);
        if (elapsed_never_meets(r, search_jump(s), in->end_s) || !search_admitted(s, &day))
            return false;
        next = day * CIVIL_DAY;
    }
    *from_s += next - begin - NEAR;
    if (*from_s < in->end_s)
        *from_s = in->end_s;
    if (r->pace == PACE_ELAPSED)
        *from_s = expand_align(r, r->start_s, *from_s);
    return true;
}

/* Within a stretch local time goes on as moments do, so they are searched one by one. */
static bool next_shown(struct search *s, int64_t from_s, struct candidate *ret)
{
    const struct recur *r = s->r;
    struct zone_stretch in;
    do {
        in = zone_at(r->zone, from_s);
        s->day_end = SEARCH_DAY_END;
        if (in.end_s < SEARCH_DAY_END * CIVIL_DAY)
            s->day_end = civil_div(in.end_s + in.offset_s - 1, CIVIL_DAY) + 1;
        if (r->pace == PACE_ELAPSED)
            s->anchor_s = r->start_s + in.offset_s;
        if (expand_next(s, from_s + in.offset_s, &ret->local_s) &&
            ret->local_s - in.offset_s < in.end_s) {
            ret->at_ms = (ret->local_s - in.offset_s) * 1000 + r->fraction_ms;
            ret->offset_s = in.offset_s;
            ret->note = note_shown(r->zone, &in, ret->local_s);
            return true;
        }
    } while (leave_stretch(s, &in, &from_s) && from_s < SEARCH_DAY_END * CIVIL_DAY &&
             search_step(s));
    return false;
}

static bool next_candidate(struct search *s, int64_t place, struct candidate *ret)
{
    bool found = s->r->pace == PACE_EVERY   ? next_every(s->r, place, ret)
                 : s->r->pace == PACE_LOCAL ? next_local(s, place, ret)
                                            : next_shown(s, place, ret);
    return found && ret->at_ms <= TIME_MOMENT_MAX && civil_div(ret->at_ms, 1000) <= s->r->until_s;
}

static const struct recur_date *excluding(const struct recur *r, int64_t at_ms, int64_t local_s)
{
    for (size_t i = 0; i < r->exdates_n; i++) {
        const struct recur_date *d = &r->dates[i];
        if (d->kind == DATE_MOMENT  ? d->s == civil_div(at_ms, 1000)
            : d->kind == DATE_LOCAL ? d->s == local_s
                                    : d->s == civil_div(local_s, CIVIL_DAY) * CIVIL_DAY)
            return d;
    }
    return NULL;
}

/* A candidate's own place. */
static int64_t place_of(const struct recur *r, const struct candidate *c)
{
    if (r->pace == PACE_EVERY)
        return c->at_ms;
    return r->pace == PACE_LOCAL ? c->local_s : civil_div(c->at_ms, 1000);
}

/* The place behind what a date leaves out. */
static int64_t place_behind(const struct recur *r, const struct recur_date *d,
                            const struct candidate *c)
{
    int64_t second = r->pace == PACE_LOCAL ? c->local_s : civil_div(c->at_ms, 1000);
    int64_t next = second + 1;
    if (d->kind == DATE_DAY) {
        int64_t midnight = d->s + CIVIL_DAY;
        int64_t end = r->pace == PACE_LOCAL ? midnight : zone_moment(r->zone, midnight, NULL);
        next = end > next ? end : next; /* the clock may have been set back to that day */
    }
    return r->pace == PACE_EVERY ? next * 1000 : next;
}

static int64_t tally_stretches(struct search *s, int64_t from_s, int64_t to_s, int64_t most)
{
    const struct recur *r = s->r;
    int64_t n = 0;
    while (from_s < to_s && n < most && search_step(s)) {
        struct zone_stretch in = zone_at(r->zone, from_s);
        int64_t end = in.end_s < to_s ? in.end_s : to_s;
        if (r->pace == PACE_ELAPSED)
            s->anchor_s = r->start_s + in.offset_s;
        n += tally(s, from_s + in.offset_s, end + in.offset_s, most - n);
        from_s = r->pace == PACE_ELAPSED ? expand_align(r, r->start_s, end) : end;
    }
    return n;
}

/* How many nominal times there are from one place up to another. Its steps are not the search's. */
static int64_t tally_places(struct search *s, int64_t from, int64_t to, int64_t most)
{
    const struct recur *r = s->r;
    uint32_t steps = s->steps;
    int64_t n;
    if (r->pace == PACE_ELAPSED && !r->has_days) {
        n = civil_div_up(to - r->start_s, r->interval) -
            civil_div_up(from - r->start_s, r->interval);
        return n < most ? n : most;
    }
    s->steps = 0;
    s->limit = RECUR_TALLY_MAX;
    n = r->pace == PACE_LOCAL ? tally(s, from, to, most) : tally_stretches(s, from, to, most);
    s->steps = steps;
    s->limit = RECUR_STEPS_MAX;
    return n;
}

/* COUNT, while a search goes on: `n` nominal times are before `place`. */
struct ordinal {
    int64_t n, most;
    int64_t place;
};

static void ordinal_advance(struct ordinal *o, struct search *s, int64_t place)
{
    if (o->most != INT64_MAX && o->n < o->most)
        o->n += tally_places(s, o->place, place, o->most - o->n);
    o->place = place;
}

static struct ordinal ordinal_at(struct search *s, const struct recur_state *state,
                                 int64_t after_ms)
{
    const struct recur *r = s->r;
    struct ordinal o = { 0, r->rule.count ? r->rule.count : INT64_MAX, 0 };
    o.place = place_at(r, r->start_ms);
    if (o.most != INT64_MAX && state && state->n > 0 && state->at_ms <= after_ms) {
        o.n = (int64_t)state->n;
        o.place = place_at(r, state->at_ms + 1);
    }
    ordinal_advance(&o, s, place_at(r, after_ms + 1));
    return o;
}

static bool next_by_rule(struct search *s, int64_t after_ms, struct recur_state *state,
                         struct candidate *ret)
{
    const struct recur *r = s->r;
    struct ordinal o;
    if (civil_div(after_ms, 1000) > r->until_s)
        return false;
    o = ordinal_at(s, state, after_ms);
    while (o.n < o.most && !s->gave_up && next_candidate(s, o.place, ret)) {
        const struct recur_date *d = excluding(r, ret->at_ms, ret->local_s);
        o.place = place_of(r, ret); /* it is the first, so none is before it */
        if (!d) {
            ordinal_advance(&o, s, place_at(r, ret->at_ms + 1));
            if (s->gave_up)
                return false;
            if (state && o.most != INT64_MAX) {
                state->n = (uint64_t)o.n;
                state->at_ms = ret->at_ms;
            }
            return true;
        }
        ordinal_advance(&o, s, place_behind(r, d, ret));
        s->steps++;
    }
    return false;
}

/* The first of the dates added that is after a moment, and before what *ret holds if `found`. */
static bool next_by_dates(const struct recur *r, int64_t after_ms, bool found,
                          struct candidate *ret)
{
    for (size_t i = r->exdates_n; i < r->exdates_n + r->rdates_n; i++) {
        const struct recur_date *d = &r->dates[i];
        enum zone_fit fit = ZONE_ONCE;
        int64_t at_s = d->kind == DATE_MOMENT ? d->s : zone_moment(r->zone, d->s, &fit);
        int64_t at_ms = at_s * 1000 + r->fraction_ms;
        struct zone_stretch in = zone_at(r->zone, at_s);
        int64_t local_s = d->kind == DATE_MOMENT ? at_s + in.offset_s : d->s;
        if (at_ms <= after_ms || at_ms > TIME_MOMENT_MAX || (found && at_ms >= ret->at_ms) ||
            excluding(r, at_ms, local_s))
            continue;
        *ret =
            (struct candidate){ at_ms, local_s, in.offset_s,
                                fit == ZONE_GAP ? RECUR_MOVED : note_shown(r->zone, &in, local_s) };
        found = true;
    }
    return found;
}

/* Each search costs at least one, so that any number of cheap searches reaches the limit. A search
 * also looks at every added date, and compares it with all excluded dates. */
static void search_begin(struct search *s, const struct recur *r, const struct recur_state *state)
{
    search_init(s, r);
    if (!state)
        return;
    s->cost = state->cost + 1 + (uint32_t)(r->rdates_n * (r->exdates_n + 100) / 512);
    if (state->most) {
        s->most = state->most;
        s->gave_up = s->cost > s->most;
    }
}

int recur_next(const struct recur *r, int64_t after_ms, struct recur_state *state,
               struct recur_occurrence *ret)
{
    struct search s;
    struct candidate c;
    bool found;
    if (after_ms >= TIME_MOMENT_MAX)
        return 0;
    if (after_ms < r->start_ms)
        after_ms = r->start_ms - 1;
    search_begin(&s, r, state);
    found = next_by_rule(&s, after_ms, state, &c);
    found = next_by_dates(r, after_ms, found, &c);
    if (state) {
        state->steps = s.steps;
        state->cost = s.cost;
    }
    if (s.gave_up)
        return BELFRY_INVALID;
    if (!found)
        return 0;
    *ret = (struct recur_occurrence){
        c.at_ms,
        c.local_s * 1000 + civil_mod(c.at_ms, 1000),
        c.offset_s,
        c.note,
    };
    return 1;
}
