/* SPDX-License-Identifier: MIT */
/* What EXPLAIN must say of a job: each cause that the model knows, no other, and in order. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/steps.h"

struct case_of {
    const struct world *w;
    const struct model *m;
    const struct model_job *job;
    const struct explanation *x;
    char *wrong;
};

/* Notes the first thing that is wrong. */
#define EXPECT(c, holds, ...) ((holds) || (snprintf((c)->wrong, 200, __VA_ARGS__), false))

static const struct cause *cause_of(const struct explanation *x, enum reason r)
{
    for (size_t i = 0; i < x->cause_count; i++)
        if (x->causes[i].reason == r)
            return &x->causes[i];
    return NULL;
}

/* The cause is there if it should be, and only then. */
static bool has(const struct case_of *c, enum reason r, bool should)
{
    return EXPECT(c, !cause_of(c->x, r) == !should, "%s, and %s is %s", reason_name(c->x->reason),
                  reason_name(r), should ? "not told" : "told without need");
}

static bool first_is(const struct case_of *c, enum reason r, int64_t until_ms)
{
    return EXPECT(c, c->x->reason == r && c->x->until_ms == until_ms,
                  "%s until %" PRId64 ", expected %s until %" PRId64, reason_name(c->x->reason),
                  c->x->until_ms, reason_name(r), until_ms);
}

static bool is_shut(const struct case_of *c)
{
    return model_is_shut(c->m, tenants_of(c->job->queue)) && !c->job->passing;
}

static bool is_tenant_paused(const struct case_of *c)
{
    return c->m->tenants[tenants_of(c->job->queue)].paused;
}

/* The gates that hold it at that moment, and the end of its maintenance. */
static bool has_gates(const struct case_of *c, int64_t when_ms)
{
    int64_t open_ms = c->m->tenants[tenants_of(c->job->queue)].maintenance_until_ms;
    const struct cause *shut = cause_of(c->x, REASON_MAINTENANCE);

    if (shut && open_ms > 0)
        cover_event(EVENT_EXPLAINED_UNTIL);
    return has(c, REASON_PAUSED, c->m->queues[c->job->queue].paused) &&
           has(c, REASON_TENANT_PAUSED, is_tenant_paused(c)) &&
           has(c, REASON_MAINTENANCE, is_shut(c) && (open_ms == 0 || open_ms > when_ms)) &&
           EXPECT(c, !shut || shut->until_ms == (open_ms > 0 ? open_ms : -1),
                  "its tenant is shut until %" PRId64 ", expected %" PRId64,
                  shut ? shut->until_ms : 0, open_ms);
}

/* ---- Rates ---- */

static bool rate_fits(const struct case_of *c, const struct model_takes *t, const struct rate *r,
                      int64_t until_ms)
{
    const struct model *m = c->m;
    int64_t ahead = c->x->ahead >= 0 ? c->x->ahead : 0, pause = until_ms - m->now_ms;

    return r->count > 0 && pause >= takes_pause_low(t, r, m->mono_ms, ahead) &&
           (c->x->ahead < 0 || pause <= takes_pause_high(t, r, m->mono_ms, ahead));
}

/* Each job has a time of its own, behind those before it. */
static bool rates_fit(const struct case_of *c)
{
    unsigned q = c->job->queue, t = tenants_of(q);

    for (size_t i = 0; i < c->x->cause_count; i++) {
        const struct cause *cause = &c->x->causes[i];

        if (cause->reason != REASON_RATE_LIMIT)
            continue;
        if (!EXPECT(
                c,
                rate_fits(c, &c->m->queue_rated[q], &c->m->queues[q].rate, cause->until_ms) ||
                    rate_fits(c, &c->m->tenant_rated[t], &c->m->tenants[t].rate, cause->until_ms),
                "a rate holds it until %" PRId64 ", with %" PRId64 " before it", cause->until_ms,
                c->x->ahead))
            return false;
        if (c->x->ahead > 0)
            cover_event(EVENT_EXPLAINED_RATE);
    }
    return true;
}

/* ---- The moment ---- */

/* It follows from the causes, whatever these are. */
static bool moment_fits(const struct case_of *c)
{
    const struct explanation *x = c->x;
    int64_t at_ms = c->m->now_ms, expires = model_expires(c->job);
    bool known = true;

    for (size_t i = 0; i < x->cause_count; i++) {
        const struct cause *cause = &x->causes[i];
        bool passes = cause->reason == REASON_BEHIND || cause->reason == REASON_ON_DISK ||
                      cause->reason == REASON_NEXT || cause->reason == REASON_EXPIRY;

        known = known && (passes || cause->until_ms >= 0);
        if (!passes && cause->until_ms > at_ms)
            at_ms = cause->until_ms;
    }
    bool dies = known && expires >= 0 && at_ms >= expires;
    return has(c, REASON_EXPIRY, dies) &&
           EXPECT(c, x->at_ms == (known && !dies ? at_ms : -1), "it can go at %" PRId64, x->at_ms);
}

/* ---- Workers ---- */

static bool asked_fits(const struct case_of *c)
{
    const struct explanation *x = c->x;
    bool waits = false;

    for (size_t i = 0; i < WAITS_MAX; i++)
        waits = waits || (c->w->waits[i].live && c->w->waits[i].reach >> c->job->queue & 1);
    if (waits)
        return EXPECT(c, x->asked_ms == c->m->now_ms && !cause_of(x, REASON_NO_WORKER),
                      "a worker waits, and one asked at %" PRId64, x->asked_ms);
    if (!(c->w->asked >> c->job->queue & 1))
        return EXPECT(c, x->asked_ms == -1 && !cause_of(x, REASON_NEXT),
                      "no worker asked, and one did at %" PRId64, x->asked_ms);
    return EXPECT(c, x->asked_ms <= c->m->now_ms, "a worker asked at %" PRId64, x->asked_ms);
}

/* ---- States ---- */

/* Whether a job surely goes before another one of its queue. Jobs that pass all gates go in the
 * order of time among themselves; another job waits for the first of them only, which is left open
 * here. */
static bool surely_before(const struct model_job *job, const struct model_job *other)
{
    if (job->passing)
        return other->passing && job->at_ms < other->at_ms;
    return model_rank(job) < model_rank(other);
}

/* The number of ready jobs that surely go before it, or that may. Orders, the disk and a clock that
 * was set back leave more to the engine than the model knows. */
static bool ahead_fits(const struct case_of *c)
{
    const struct model *m = c->m;
    const struct explanation *x = c->x;
    int64_t others = 0, before = 0;
    bool plain = !c->w->cold && !m->set_back && !c->job->order;

    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *job = &m->jobs[i];

        if (job == c->job || job->queue != c->job->queue || job->state != JOB_READY)
            continue;
        plain = plain && !job->order;
        others++;
        before += surely_before(job, c->job) && model_quiet_until(m, job) < 0 &&
                  !model_is_over(m, job) &&
                  (job->passing || !c->job->passing || !model_is_shut(m, tenants_of(job->queue)));
    }
    return EXPECT(c, x->ahead <= others && x->ahead <= x->ahead_most,
                  "%" PRId64 " to %" PRId64 " go before it, and there are %" PRId64 " others",
                  x->ahead, x->ahead_most, others) &&
           EXPECT(c, !plain || before <= x->ahead_most,
                  "%" PRId64 " to %" PRId64 " go before it, and %" PRId64 " have a lower rank",
                  x->ahead, x->ahead_most, before);
}

static bool is_held(const struct explanation *x)
{
    return cause_of(x, REASON_RUNNING_LIMIT) || cause_of(x, REASON_RATE_LIMIT) ||
           cause_of(x, REASON_SLOW_START) || cause_of(x, REASON_LEASED_MEMORY) ||
           cause_of(x, REASON_ORDERING_KEY);
}

/* The first cause of a job that no gate holds. */
static bool turn_fits(const struct case_of *c)
{
    const struct model *m = c->m;
    const struct explanation *x = c->x;
    unsigned q = c->job->queue;

    if (x->reason == REASON_NO_WORKER || x->reason == REASON_BEHIND || x->reason == REASON_NEXT ||
        (x->reason == REASON_ON_DISK && c->w->cold))
        return EXPECT(c, model_hold(m, q, c->job->passing) == HOLD_NONE,
                      "%s, and its queue is held", reason_name(x->reason));
    if (x->reason == REASON_LEASED_MEMORY)
        return EXPECT(c, c->w->cold && model_running(m, tenants_of(q)) > 0,
                      "no lease takes memory");
    return EXPECT(c, is_held(x) && (c->job->passing || c->job->order || !model_gives(m, q)),
                  "%s, and its queue gives", reason_name(x->reason));
}

static bool ready_fits(const struct case_of *c)
{
    const struct explanation *x = c->x;
    const struct model_job *job = c->job;
    const struct cause *quiet = cause_of(x, REASON_QUIET_HOURS);
    int64_t quiet_ms = model_quiet_until(c->m, job);
    bool paused = c->m->queues[job->queue].paused;

    if (!has_gates(c, c->m->now_ms) || !has(c, REASON_QUIET_HOURS, quiet_ms >= 0) ||
        !rates_fit(c) || !ahead_fits(c) ||
        !EXPECT(c, !quiet || quiet->until_ms == quiet_ms, "it is quiet until %" PRId64,
                quiet ? quiet->until_ms : 0))
        return false;
    if (job->order && (x->reason == REASON_ORDERING_KEY || !model_can_go(c->m, job)))
        return EXPECT(c, x->reason == REASON_ORDERING_KEY || c->w->cold,
                      "%s, and another one has its ordering key", reason_name(x->reason));
    if (paused || is_tenant_paused(c) || is_shut(c))
        return EXPECT(c,
                      x->reason == (paused                ? REASON_PAUSED
                                    : is_tenant_paused(c) ? REASON_TENANT_PAUSED
                                                          : REASON_MAINTENANCE),
                      "%s", reason_name(x->reason));
    return quiet ? EXPECT(c, x->reason == REASON_QUIET_HOURS, "%s", reason_name(x->reason))
                 : turn_fits(c);
}

/* The reason why it is not due. A moment that is not its due time may be that of a request which
 * came before the clock was set back. */
static bool later_fits(const struct case_of *c)
{
    const struct model_job *job = c->job;
    bool apart = job->at_ms != job->due_ms && job->history_count > 0;

    if (job->deferred_ms >= 0)
        return first_is(c, REASON_QUIET_HOURS, job->at_ms);
    if (apart && !job->retried)
        return EXPECT(c, c->m->set_back && c->x->until_ms == job->at_ms, "%s, and it was moved",
                      reason_name(c->x->reason));
    return first_is(c, apart ? REASON_BACKOFF : REASON_SCHEDULED, job->at_ms);
}

static bool scheduled_fits(const struct case_of *c)
{
    const struct model_job *job = c->job;
    const struct explanation *x = c->x;
    int64_t quiet_ms =
        job->notify && !job->passing
            ? gate_quiet_until(str_of(c->m->tenants[tenants_of(job->queue)].quiet), job->at_ms)
            : -1;
    bool quiet = false;

    for (size_t i = 1; i < x->cause_count; i++)
        quiet = quiet ||
                (x->causes[i].reason == REASON_QUIET_HOURS && x->causes[i].until_ms == quiet_ms);
    return later_fits(c) && has_gates(c, job->at_ms) && rates_fit(c) &&
           EXPECT(c, quiet == (quiet_ms >= 0), "it is quiet at its time until %" PRId64,
                  quiet_ms) &&
           EXPECT(c, x->ahead == -1, "%" PRId64 " go before it", x->ahead);
}

static bool waiting_fits(const struct case_of *c)
{
    const struct model_job *job = c->job;
    const struct cause *due = cause_of(c->x, REASON_SCHEDULED);
    bool known = false;

    for (size_t i = 0; i < job->after_count; i++)
        known = known || job->after[i].id.seq == c->x->parent.seq;
    return first_is(c, REASON_PARENT, -1) && has_gates(c, c->m->now_ms) &&
           has(c, REASON_SCHEDULED, job->due_ms > c->m->now_ms) &&
           EXPECT(c, !due || due->until_ms == job->due_ms, "it is due at another time") &&
           EXPECT(c, known, "it does not wait for job %" PRIu64, c->x->parent.seq);
}

static bool leased_fits(const struct case_of *c)
{
    int64_t left = c->job->end_mono_ms - c->m->mono_ms;

    return first_is(c, REASON_RUNNING, c->m->now_ms + (left > 0 ? left : 0));
}

static bool ended_fits(const struct case_of *c)
{
    const struct model_job *job = c->job;
    bool lost = job->state == JOB_CANCELLED && job->error == ERROR_OF_ENGINE && job->token == 0;
    int64_t ended_ms =
        job->state == JOB_EXPIRED || !model_is_over(c->m, job) ? job->ended_ms : model_expires(job);

    if (lost)
        cover_event(EVENT_EXPLAINED_LOST);
    return first_is(c, REASON_ENDED, -1) &&
           EXPECT(c, c->x->cause_count == 1, "an ended job has %zu causes", c->x->cause_count) &&
           EXPECT(c, c->x->ended_ms == ended_ms, "it ended at %" PRId64 ", expected %" PRId64,
                  c->x->ended_ms, ended_ms) &&
           EXPECT(c, lost == (c->x->parent.seq != 0), "job %" PRIu64 " cost it its life",
                  c->x->parent.seq);
}

bool explained_right(const struct world *w, const struct model_job *job,
                     const struct explanation *x, char ret[200])
{
    struct case_of c = { w, &w->model, job, x, ret };

    if (!EXPECT(&c, x->attempt == job->attempt, "attempt %u, expected %u", x->attempt,
                job->attempt))
        return false;
    switch (model_shown(&w->model, job)) {
    case JOB_READY: return ready_fits(&c) && moment_fits(&c) && asked_fits(&c);
    case JOB_SCHEDULED: return scheduled_fits(&c) && moment_fits(&c) && asked_fits(&c);
    case JOB_WAITING: return waiting_fits(&c) && asked_fits(&c);
    case JOB_LEASED: return leased_fits(&c);
    default: return ended_fits(&c);
    }
}
