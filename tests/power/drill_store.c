/* SPDX-License-Identifier: MIT */
/* A drill of the file store: random calls of its contract, on a disk that fails and loses power. */
#include <stdio.h>
#include <string.h>

#include "power/yard.h"

#define STEPS     400
#define OPENS_MAX 50

/* Closes the store after an end of its process: what it still does reaches no disk. */
static void bury(struct yard *y)
{
    hands_join(y);
    store_close(y->store);
    y->store = NULL;
    turns_leave(y->party);
    y->party = NULL;
    if (y->next) {
        platter_free(y->platter);
        y->platter = y->next;
        y->next = NULL;
    }
    if (y->ended)
        y->shelf = y->at_end;
    y->platter->dead = false;
    y->platter->capacity = 0;
    y->ended = false;
    for (unsigned i = 0; i < SHELF_LOGS; i++) {
        struct shelf_log *l = &y->shelf.logs[i];
        l->busy = false;
        l->doubtful = true;
        memset(l->at, 0, sizeof l->at);
    }
    calls_insert(
        (struct calls){ .platter = y->platter, .watch = yard_watch, .arg = y, .rng = &y->rng });
}

static void plan_crash(struct yard *y, uint64_t within)
{
    y->crash_in = rng_below(&y->rng, within) + 1;
}

/* One try. It may end in the midst, by plan. */
static bool try_open(struct yard *y)
{
    struct store_options o = { .log_bytes = YARD_LOG_BYTES, .reserve = 2, .mutant = y->o->mutant };
    char why[512];
    y->party = turns_enter(rng_next(&y->rng));
    yard_doing = DEED_OPEN;
    yard_faulted = false;
    int r = store_open(YARD_DIR, &o, &y->store);
    if (r == 0 && shelf_judge(&y->shelf, y->store, y->end, -1, why)) {
        if (!y->ended)
            y->end = END_NONE;
        y->opened = true;
        return true;
    }
    if (r < 0)
        snprintf(why, sizeof why, "open: %s: %s", error_name(r), store_detail());
    return y->ended || yard_faulted || yard_fail(y, "%s", why);
}

static bool open_again(struct yard *y, bool crashes)
{
    for (int i = 0; i < OPENS_MAX; i++) {
        y->window = 0;
        y->crash_in = 0;
        if (crashes && i < 5 && rng_chance(&y->rng, y->opened ? 30 : 80))
            plan_crash(y, 60);
        if (crashes && i < 3 && rng_chance(&y->rng, 20)) {
            y->window = rng_below(&y->rng, 40) + 1;
            y->chance = 10;
            y->fired = 0;
        }
        bool ok = try_open(y);
        if (!ok)
            return false;
        if (y->store && !y->ended && !yard_faulted)
            return true;
        struct shelf found = y->shelf;
        bool ended = y->ended;
        bury(y);
        if (!ended)
            y->shelf = found;
        if (!ended && y->end == END_NONE)
            y->end = END_KILL;
    }
    return yard_fail(y, "the store does not open");
}

static bool restart(struct yard *y, bool crashes)
{
    bury(y);
    if (y->end == END_NONE)
        y->end = END_KILL; /* closed in order: that is no more than this */
    platter_sweep(y->platter);
    return open_again(y, crashes);
}

static struct shelf_log *pick_log(struct yard *y)
{
    struct shelf_log *l = &y->shelf.logs[rng_below(&y->rng, SHELF_LOGS)];
    return l->busy ? NULL : l;
}

static bool appends(struct yard *y, struct shelf_log *l)
{
    bool durable = strstr(l->name, "journal") ? rng_chance(&y->rng, 85) : rng_chance(&y->rng, 30);
    uint64_t count = rng_below(&y->rng, 8) + 1;
    for (uint64_t i = 0; i < count && !y->ended; i++) {
        if (!deed_append(y, l, durable))
            return false;
    }
    return true;
}

/* A window of calls that may fail, two at a time and more. */
static void plan_faults(struct yard *y)
{
    y->window = rng_below(&y->rng, 40) + 2;
    y->chance = (unsigned)rng_below(&y->rng, 60) + 3;
    y->fired = 0;
}

/* A log goes while another comes, as where the journal is reclaimed. */
static bool relay(struct yard *y, struct shelf_log *l)
{
    hand_start(y, l, DEED_REMOVE);
    for (unsigned i = 1; i < SHELF_LOGS; i += 2) {
        struct shelf_log *next = &y->shelf.logs[i];
        if (next != l && !next->busy && next->count + next->maybe == 0)
            return deed_append(y, next, true);
    }
    return true;
}

static bool deed(struct yard *y)
{
    struct shelf_log *l = pick_log(y);
    uint64_t what = rng_below(&y->rng, 100);
    yard_faulted = false;
    if (!l)
        hands_join(y);
    else if (what < 45)
        return appends(y, l);
    else if (what < 55)
        return (l->count + l->maybe == 0 || l->leaving) || deed_sync(y, l);
    else if (what < 62)
        return l->leaving || deed_remove(y, l);
    else if (what < 70 && l->count > 0)
        return relay(y, l);
    else if (what < 75)
        hand_start(y, l, DEED_APPEND);
    else if (what < 85)
        return deed_read(y, l);
    else if (what < 88)
        return deed_list(y);
    else if (what < 92)
        return deed_cas(y, &y->shelf.records[rng_below(&y->rng, SHELF_RECORDS)]);
    else if (what < 95)
        return deed_get(y, &y->shelf.records[rng_below(&y->rng, SHELF_RECORDS)]);
    else if (what < 96)
        return deed_fill(y);
    else
        hands_join(y);
    return true;
}

static bool step(struct yard *y, bool crashes, bool faults)
{
    if (crashes && y->crash_in == 0 && rng_chance(&y->rng, 6))
        plan_crash(y, 200);
    if (faults && y->window == 0 && rng_chance(&y->rng, 5))
        plan_faults(y);
    bool ok = deed(y) && !y->why[0];
    if (ok && !y->ended && rng_chance(&y->rng, 2)) {
        hands_join(y);
        ok = y->ended || states_rot(y);
    }
    if (ok)
        ok = states_judge(y);
    if (ok && (y->ended || rng_chance(&y->rng, 1)))
        ok = restart(y, crashes);
    return ok && !y->why[0];
}

bool drill_store(const struct drill_options *o, uint64_t states, char why[1024])
{
    static struct yard y; /* large */
    y = (struct yard){ .o = o, .rng = { o->seed }, .states_left = states };
    calls_now_ms = CALLS_START_MS;
    shelf_init(&y.shelf);
    bool crashes = rng_chance(&y.rng, 75);
    y.crashes = crashes;
    bool faults = rng_chance(&y.rng, 50);
    y.shorts = rng_chance(&y.rng, 30);
    y.platter = platter_new(rng_next(&y.rng));
    struct calls before = calls_insert(
        (struct calls){ .platter = y.platter, .watch = yard_watch, .arg = &y, .rng = &y.rng });
    bool ok = open_again(&y, crashes);
    for (int i = 0; ok && i < STEPS; i++)
        ok = step(&y, crashes, faults);
    y.window = y.crash_in = y.states_left = 0;
    y.crashes = false;
    if (ok)
        ok = restart(&y, false);
    hands_join(&y);
    store_close(y.store);
    if (y.party)
        turns_leave(y.party);
    for (unsigned i = 0; i < y.queued; i++)
        platter_free(y.queue[i].platter);
    platter_free(y.next);
    platter_free(y.platter);
    calls_insert(before);
    figures.drills++;
    if (!ok)
        snprintf(why, 1024, "%s", y.why);
    return ok;
}
