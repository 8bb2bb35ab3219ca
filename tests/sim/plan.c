/* SPDX-License-Identifier: MIT */
/* Which faults happen when. */
#include "sim/steps.h"

enum fault_action plan_decide(void *arg, enum fault_point point)
{
    struct world *w = arg;
    struct plan *p = &w->plan;

    if (p->paused)
        return FAULT_GO;
    if (p->killing)
        return point == FAULT_CAS_FAIL ? FAULT_FAIL : FAULT_GO;
    if (p->disk_full && point == FAULT_APPEND_FULL)
        return FAULT_FAIL;
    if (!p->armed || (p->point >= 0 && p->point != (int)point) ||
        (p->during && (!p->doing || strcmp(p->during, p->doing) != 0)) ||
        (p->action == FAULT_FAIL && !fault_can_fail(point)) || p->after-- > 0)
        return FAULT_GO;
    p->armed = false;
    p->fired = true;
    p->in_doubt = p->action == FAULT_FAIL &&
                  (point == FAULT_APPEND_INDOUBT_LOST || point == FAULT_APPEND_INDOUBT_APPLIED);
    cover_fault(point, p->action);
    if (p->doing)
        cover_doing(p->doing, p->action == FAULT_CRASH ? MOMENT_CRASHED : MOMENT_FAILED);
    trace_note("  fault: %s at %s", p->action == FAULT_CRASH ? "crash" : "failure",
               fault_name(point));
    return p->action;
}

void plan_begin(struct world *w, const char *doing)
{
    w->plan.fired = false;
    w->plan.doing = doing;
}

bool plan_end(struct world *w)
{
    bool fired = w->plan.fired;

    w->plan.fired = false;
    w->plan.doing = NULL;
    return fired;
}

bool plan_pause(struct world *w, bool pause)
{
    bool before = w->plan.paused;

    w->plan.paused = pause;
    return before;
}

void step_arm(struct world *w)
{
    struct plan *p = &w->plan;

    if (p->armed && rng_chance(&w->rng, 70))
        return;
    p->armed = true;
    p->action = rng_chance(&w->rng, 55) ? FAULT_CRASH : FAULT_FAIL;
    p->point = -1;
    p->after = rng_below(&w->rng, 60);
    if (rng_chance(&w->rng, 75)) {
        p->after = rng_below(&w->rng, 3);
        do
            p->point = (int)rng_below(&w->rng, FAULT_POINT_COUNT);
        while (p->action == FAULT_FAIL && !fault_can_fail((enum fault_point)p->point));
    }
    p->during = NULL;
    if (w->cold && rng_chance(&w->rng, 50)) {
        p->during = cover_name(rng_next(&w->rng));
        p->point = -1;
        p->after = rng_below(&w->rng, rng_chance(&w->rng, 50) ? 2 : 20); /* some are short */
    }
    trace_note("arm: %s at %s, after %llu%s%s", p->action == FAULT_CRASH ? "crash" : "failure",
               p->point < 0 ? "any point" : fault_name((enum fault_point)p->point),
               (unsigned long long)p->after, p->during ? ", " : "", p->during ? p->during : "");
}

void step_full(struct world *w)
{
    w->plan.disk_full = !w->plan.disk_full && rng_chance(&w->rng, 60);
    trace_note("the disk %s", w->plan.disk_full ? "is full" : "has room");
    if (rng_chance(&w->rng, 70)) {
        engine_refuse_new(w->engine, w->plan.disk_full);
        w->model.refusing = w->plan.disk_full;
    }
}
