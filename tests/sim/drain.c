/* SPDX-License-Identifier: MIT */
/* The end of a world: everything that was accepted runs and is forgotten. */
#include <inttypes.h>

#include "sim/steps.h"

#define ROUNDS_MAX 20000
#define DAY        INT64_C(86400000)

static size_t count(const struct world *w, unsigned states)
{
    size_t n = 0;

    for (size_t i = 0; i < w->model.count; i++)
        n += states >> w->model.jobs[i].state & 1;
    return n;
}

static void resume_all(struct world *w)
{
    engine_refuse_new(w->engine, false);
    w->model.refusing = false;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (w->model.queues[q].paused || w->model.queues[q].rate.count > 0)
            step_resume(w, q);
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        if (w->model.tenants[t].paused || w->model.tenants[t].maintenance ||
            w->model.tenants[t].rate.count > 0)
            step_open_tenant(w, t);
}

/* To the next moment at which something can be done. */
static void go_on(struct world *w)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < w->model.count; i++)
        if (w->model.jobs[i].state == JOB_SCHEDULED && w->model.jobs[i].at_ms < next)
            next = w->model.jobs[i].at_ms;
    if (next > w->wall_ms && next != INT64_MAX) {
        w->mono_ms += next - w->wall_ms;
        w->wall_ms = next;
        trace_note("drain: wall %" PRId64, next);
        clock_show(w);
    }
}

static void check_empty(struct world *w)
{
    struct engine_stats s;

    lanes_calm(w); /* bulks are done */
    w->wall_ms += 400 * DAY;
    w->mono_ms += 400 * DAY;
    trace_note("drain: everything is forgotten");
    clock_show(w);
    lanes_calm(w);
    lanes_calm(w);
    engine_stats(w->engine, &s);
    CHECK(s.hot_jobs == 0, "%" PRIu64 " jobs are left in memory", s.hot_jobs);
    CHECK(s.cold_jobs == 0, "%" PRIu64 " jobs are left on disk", s.cold_jobs);
}

void world_drain(struct world *w)
{
    unsigned open = 1u << JOB_SCHEDULED | 1u << JOB_READY | 1u << JOB_LEASED | 1u << JOB_WAITING;
    int rounds = 0;

    resume_all(w);
    lanes_calm(w);
    world_compare(w);
    step_delete_recurrences(w);
    while (count(w, open) > 0) {
        CHECK(rounds++ < ROUNDS_MAX, "jobs are left that are never delivered");
        step_ask_all(w);
        lanes_calm(w);
        step_lease_all(w);
        if (count(w, 1u << JOB_LEASED) == 0)
            go_on(w);
        step_complete_all(w);
    }
    world_compare(w);
    if (w->cold)
        cover_event(EVENT_DRAINED);
    check_empty(w);
}
