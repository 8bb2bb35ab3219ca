/* SPDX-License-Identifier: MIT */
/* Which faults happen when. */
#include "sim/steps.h"

/* Whether it springs at this offer of a point. */
static bool springs(struct trap *t, const char *doing, enum fault_point point)
{
    return t->armed && (t->point < 0 || t->point == (int)point) &&
           (!t->during || (doing && strcmp(t->during, doing) == 0)) &&
           (t->action != FAULT_FAIL || fault_can_fail(point)) && t->after-- == 0;
}

static void note_fault(const struct plan *p, enum fault_point point)
{
    enum fault_action action = p->trap.action;

    cover_fault(point, action);
    if (p->doing)
        cover_doing(p->doing, action == FAULT_CRASH ? MOMENT_CRASHED : MOMENT_FAILED);
    if (p->second)
        cover_event(action == FAULT_CRASH ? EVENT_SECOND_CRASH : EVENT_SECOND_FAILURE);
    trace_note("  fault: %s at %s", action == FAULT_CRASH ? "crash" : "failure", fault_name(point));
}

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
    if (!springs(&p->trap, p->doing, point))
        return FAULT_GO;
    enum fault_action action = p->trap.action;
    /* Of two faults the other may keep it from being resolved. */
    p->in_doubt = !p->fired && action == FAULT_FAIL &&
                  (point == FAULT_APPEND_INDOUBT_LOST || point == FAULT_APPEND_INDOUBT_APPLIED);
    p->fired = true;
    note_fault(p, point);
    p->second = p->next.armed;
    p->trap = p->next;
    p->next.armed = false;
    return action;
}

void plan_disarm(struct world *w)
{
    w->plan.trap.armed = w->plan.next.armed = w->plan.second = false;
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

static void arm(struct world *w, struct trap *t)
{
    t->armed = true;
    t->action = rng_chance(&w->rng, 55) ? FAULT_CRASH : FAULT_FAIL;
    t->point = -1;
    t->after = rng_below(&w->rng, 60);
    if (rng_chance(&w->rng, 75)) {
        t->after = rng_below(&w->rng, 3);
        do
            t->point = (int)rng_below(&w->rng, FAULT_POINT_COUNT);
        while (t->action == FAULT_FAIL && !fault_can_fail((enum fault_point)t->point));
    }
    t->during = NULL;
    if (w->cold && rng_chance(&w->rng, 50)) {
        t->during = cover_name(rng_next(&w->rng));
        t->point = -1;
        t->after = rng_below(&w->rng, rng_chance(&w->rng, 50) ? 2 : 20); /* some are short */
    }
    trace_note("arm: %s at %s, after %llu%s%s", t->action == FAULT_CRASH ? "crash" : "failure",
               t->point < 0 ? "any point" : fault_name((enum fault_point)t->point),
               (unsigned long long)t->after, t->during ? ", " : "", t->during ? t->during : "");
}

/* The next fault after another, mostly at once: while that one is being coped with. */
static void arm_second(struct world *w)
{
    struct trap *t = &w->plan.next;

    arm(w, t);
    if (rng_chance(&w->rng, 70)) {
        t->during = NULL;
        t->point = -1;
        t->after = rng_below(&w->rng, 8);
    }
}

void step_arm(struct world *w)
{
    struct plan *p = &w->plan;

    if (p->trap.armed && rng_chance(&w->rng, 70))
        return;
    plan_disarm(w);
    arm(w, &p->trap);
    if (rng_chance(&w->rng, 30))
        arm_second(w);
}

void step_full(struct world *w)
{
    w->plan.disk_full = !w->plan.disk_full && rng_chance(&w->rng, 60);
    trace_note("the disk %s", w->plan.disk_full ? "is full" : "has room");
    if (rng_chance(&w->rng, 70))
        world_refuse(w, w->plan.disk_full);
}
