/* SPDX-License-Identifier: MIT */
/* Steps in which time passes, on both clocks or on one. */
#include <inttypes.h>

#include "sim/steps.h"

#define ROUNDS_MAX 10000
#define MINUTE     INT64_C(60000)
#define DAY        (24 * 60 * MINUTE)

/* Where jobs are on disk: the first moment that the engine must wake for. What is in a backlog is
 * not waited for, and what is being loaded is there when it is. */
static int64_t next_far(const struct world *w)
{
    int64_t wall = INT64_MAX;

    for (size_t i = 0; i < w->model.count && w->calm; i++) {
        const struct model_job *job = &w->model.jobs[i];
        if (job->state == JOB_SCHEDULED && job->at_ms < wall)
            wall = job->at_ms;
    }
    return wall <= w->model.latest_ms + 2 * w->options.lookahead_ms ? INT64_MAX : wall;
}

/* The engine must not sleep past anything that happens by itself. */
void clock_check(struct world *w)
{
    int64_t wake_wall_ms, wake_mono_ms, wall, mono;

    engine_next_wake(w->engine, &wake_wall_ms, &wake_mono_ms);
    model_next(&w->model, &wall, &mono);
    for (size_t i = 0; i < WAITS_MAX; i++)
        if (w->waits[i].live && w->waits[i].deadline_ms < mono)
            mono = w->waits[i].deadline_ms;
    if (w->cold)
        wall = next_far(w);
    CHECK(wake_wall_ms <= wall, "the engine sleeps until %" PRId64 ", expected %" PRId64,
          wake_wall_ms, wall);
    CHECK(wake_mono_ms <= mono, "the engine sleeps until %" PRId64 " (mono), expected %" PRId64,
          wake_mono_ms, mono);
}

void world_remember(struct world *w)
{
    bool paused = plan_pause(w, true);

    judge_resurrect(w->partition, &w->model);
    plan_pause(w, paused);
}

/* A queue loses its turn when its last ready jobs expire, although others become ready in the same
 * step. */
static void lose_turns(struct model *m)
{
    bool stays[MODEL_QUEUES] = { 0 };

    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].state == JOB_READY && m->jobs[i].moved < m->steps)
            stays[m->jobs[i].queue] = true;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (!stays[q])
            model_lose_turn(m, q);
}

void clock_show(struct world *w)
{
    int64_t wall, mono;
    int rounds = 0;

    do {
        CHECK(rounds++ < ROUNDS_MAX, "the engine asks for the same moment again and again");
        world_advance(w);
        engine_next_wake(w->engine, &wall, &mono);
    } while (wall <= engine_now(w->engine) || mono <= w->mono_ms);

    bool back = model_advance(&w->model, w->wall_ms, w->mono_ms);
    if (back && w->cold)
        world_remember(w);
    world_adopt(w);
    clock_check(w);
    lose_turns(&w->model);
    model_turns(&w->model);
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

/* The clock jumps to where an occurrence that was not made is missed, or just before that. */
void step_miss(struct world *w)
{
    const struct model_recurrence *r = &w->model.recurrences[rng_below(&w->rng, MODEL_RECURRENCES)];

    if (r->exists && !r->paused && r->next_ms > w->wall_ms && r->next_ms < w->wall_ms + 3 * DAY)
        jump(w, r->next_ms + MINUTE + rng_between(&w->rng, 0, 1) - w->wall_ms);
}

void step_wall_back(struct world *w)
{
    if (rng_chance(&w->rng, 20)) /* where standing still ends and going back begins */
        jump(w, -rng_between(&w->rng, 999, 1001));
    else if (w->wall_ms > YEAR_2026)
        jump(w, -rng_duration(&w->rng, rng_chance(&w->rng, 80) ? 5 * MINUTE : DAY));
}
