/* SPDX-License-Identifier: MIT */
/* Which faults happen when. */
#include "sim/steps.h"

enum fault_action plan_decide(void *arg, enum fault_point point)
{
    struct world *w = arg;
    struct plan *p = &w->plan;

    if (p->killing)
        return point == FAULT_CAS_FAIL ? FAULT_FAIL : FAULT_GO;
    if (p->disk_full && point == FAULT_APPEND_FULL)
        return FAULT_FAIL;
    if (!p->armed || (p->point >= 0 && p->point != (int)point) ||
        (p->action == FAULT_FAIL && !fault_can_fail(point)) || p->after-- > 0)
        return FAULT_GO;
    p->armed = false;
    p->fired = true;
    p->in_doubt = p->action == FAULT_FAIL &&
                  (point == FAULT_APPEND_INDOUBT_LOST || point == FAULT_APPEND_INDOUBT_APPLIED);
    cover_fault(point, p->action);
    trace_note("  fault: %s at %s", p->action == FAULT_CRASH ? "crash" : "failure",
               fault_name(point));
    return p->action;
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
    trace_note("arm: %s at %s, after %llu", p->action == FAULT_CRASH ? "crash" : "failure",
               p->point < 0 ? "any point" : fault_name((enum fault_point)p->point),
               (unsigned long long)p->after);
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
