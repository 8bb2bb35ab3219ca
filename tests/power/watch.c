/* SPDX-License-Identifier: MIT */
/* Asked at every call to the disk: faults, ends of the process, states to be judged. */
#include <errno.h>
#include <stdio.h>

#include "power/yard.h"

_Thread_local enum deed yard_doing = DEED_SPARE;
_Thread_local bool yard_faulted;

static void shorten(struct yard *y, struct call *c)
{
    if (!y->shorts || c->len < 2 || (c->kind != CALL_READ && c->kind != CALL_WRITE) ||
        !rng_chance(&y->rng, 15))
        return;
    c->len = (size_t)rng_below(&y->rng, c->len - 1) + 1;
    figures.shorts++;
}

static bool takes_space(enum call_kind kind)
{
    return kind == CALL_WRITE || kind == CALL_CREATE || kind == CALL_RESIZE || kind == CALL_MKDIR;
}

static void fault(struct yard *y, struct call *c)
{
    if (y->window == 0 || --y->window == 0 || !rng_chance(&y->rng, y->chance))
        return;
    c->errnum = takes_space(c->kind) && rng_chance(&y->rng, 50) ? ENOSPC : EIO;
    if (c->kind == CALL_WRITE && rng_chance(&y->rng, 60)) {
        c->partly = true;
        c->len = (size_t)rng_below(&y->rng, c->len + 1);
    }
    yard_faulted = true;
    figures.faults++;
    figures.doubles += y->fired++ > 0;
}

/* Each kind of call in each deed is a crash point. A drill has some that it hits when it meets them
 * for the first time, by its seed: what happens must not depend on what other drills have hit. */
static bool is_target(struct yard *y, const struct call *c)
{
    uint64_t point = (uint64_t)c->kind * DEED_COUNT + yard_doing;
    figures.offered[c->kind][yard_doing]++;
    if (y->hit[point] || point % YARD_SHARES != y->o->seed % YARD_SHARES)
        return false;
    return y->hit[point] = true;
}

static void crash(struct yard *y, const struct call *c)
{
    bool now = y->crashes && (is_target(y, c) || (y->crash_in > 0 && --y->crash_in == 0));
    if (!now)
        return;
    figures.crash_points[c->kind][yard_doing]++;
    y->crash_in = 0;
    y->ended = true;
    y->at_end = y->shelf;
    if (rng_chance(&y->rng, 60)) {
        enum loss loss = (enum loss)rng_below(&y->rng, LOSS_COUNT);
        y->next = platter_lose(y->platter, loss, &y->rng);
        y->end = END_POWER;
        figures.by_loss[loss]++;
        figures.states++;
    } else {
        y->end = y->end == END_POWER ? END_POWER : END_KILL;
        figures.kills++;
    }
    y->platter->dead = true;
}

bool call_is_aimed(const struct platter *p, const struct call *c, bool done)
{
    switch (c->kind) {
    case CALL_RENAME:
    case CALL_UNLINK:
    case CALL_LINK:
    case CALL_MKDIR: return true;
    case CALL_SYNC:
    case CALL_SYNC_DIR: return done && platter_names_open(p);
    default: return false;
    }
}

static void take_state(struct yard *y, const struct call *c, bool done)
{
    bool aimed = call_is_aimed(y->platter, c, done);
    if (y->queued == YARD_QUEUE || y->states_left == 0 || !rng_chance(&y->rng, aimed ? 12 : 1))
        return;
    struct state *s = &y->queue[y->queued++];
    enum loss loss = (enum loss)rng_below(&y->rng, LOSS_COUNT);
    *s = (struct state){
        .number = ++y->state_number, .shelf = y->shelf, .loss = loss, .aimed = aimed
    };
    s->platter = platter_lose(y->platter, loss, &y->rng);
    snprintf(s->where, sizeof s->where, "%s %s", done ? "after" : "before", call_text(c->kind));
    y->states_left--;
}

void yard_watch(void *arg, struct call *c, bool done)
{
    struct yard *y = arg;
    figures.calls += !done;
    take_state(y, c, done);
    crash(y, c);
    if (done || y->platter->dead)
        return;
    fault(y, c);
    if (c->errnum == 0)
        shorten(y, c);
}
