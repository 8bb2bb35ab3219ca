/* SPDX-License-Identifier: MIT */
/* Steps in which time passes, on both clocks or on one. */
#include <inttypes.h>

#include "sim/steps.h"

#define ROUNDS_MAX 1000
#define MINUTE     INT64_C(60000)
#define DAY        (24 * 60 * MINUTE)

/* The engine must not sleep past anything that happens by itself. */
static void check_wake(struct world *w, int64_t wake_wall_ms, int64_t wake_mono_ms)
{
    int64_t wall, mono;

    model_next(&w->model, &wall, &mono);
    for (size_t i = 0; i < WAITS_MAX; i++)
        if (w->waits[i].live && w->waits[i].deadline_ms < mono)
            mono = w->waits[i].deadline_ms;
    CHECK(wake_wall_ms <= wall, "the engine sleeps until %" PRId64 ", expected %" PRId64,
          wake_wall_ms, wall);
    CHECK(wake_mono_ms <= mono, "the engine sleeps until %" PRId64 " (mono), expected %" PRId64,
          wake_mono_ms, mono);
}

void clock_show(struct world *w)
{
    char why[JUDGE_TEXT];
    int64_t wall, mono;
    int rounds = 0;

    do {
        CHECK(rounds++ < ROUNDS_MAX, "the engine asks for the same moment again and again");
        engine_advance(w->engine, w->wall_ms, w->mono_ms);
        engine_next_wake(w->engine, &wall, &mono);
    } while (wall <= engine_now(w->engine) || mono <= w->mono_ms);

    model_advance(&w->model, w->wall_ms, w->mono_ms);
    CHECK(judge_adopt(w->engine, &w->model, why), "%s", why);
    check_wake(w, wall, mono);
    world_dispatch(w);
    for (size_t i = 0; i < WAITS_MAX; i++)
        CHECK(!w->waits[i].live || w->waits[i].deadline_ms > w->mono_ms,
              "worker %zu waits longer than it wanted", i);
    world_release(w);
}

static void pass(struct world *w, int64_t ms)
{
    w->wall_ms += ms;
    w->mono_ms += ms;
    trace_note("%" PRId64 " ms pass: wall %" PRId64 ", mono %" PRId64, ms, w->wall_ms, w->mono_ms);
    clock_show(w);
}

void step_tick(struct world *w)
{
    pass(w, rng_between(&w->rng, 0, 120));
}

void step_pass(struct world *w)
{
    pass(w, rng_duration(&w->rng, 20 * MINUTE));
}

void step_days(struct world *w)
{
    pass(w, rng_between(&w->rng, 0, (rng_chance(&w->rng, 20) ? 31 : 2) * DAY));
}

/* To the next moment exactly, or to just before it. */
void step_wake(struct world *w)
{
    int64_t wall, mono, ms;

    engine_next_wake(w->engine, &wall, &mono);
    ms = wall == INT64_MAX ? INT64_MAX : wall - w->wall_ms;
    if (mono != INT64_MAX && mono - w->mono_ms < ms)
        ms = mono - w->mono_ms;
    if (ms == INT64_MAX || ms < 0)
        return;
    if (ms > 0 && rng_chance(&w->rng, 30))
        ms--;
    pass(w, ms < 60 * DAY ? ms : 60 * DAY);
}

static void jump(struct world *w, int64_t ms)
{
    w->wall_ms += ms;
    trace_note("the wall clock jumps by %" PRId64 " ms to %" PRId64, ms, w->wall_ms);
    clock_show(w);
}

void step_wall_forward(struct world *w)
{
    jump(w, rng_duration(&w->rng, 2 * DAY));
}

void step_wall_back(struct world *w)
{
    if (rng_chance(&w->rng, 20)) /* where standing still ends and going back begins */
        jump(w, -rng_between(&w->rng, 999, 1001));
    else if (w->wall_ms > YEAR_2026)
        jump(w, -rng_duration(&w->rng, rng_chance(&w->rng, 80) ? 5 * MINUTE : DAY));
}
