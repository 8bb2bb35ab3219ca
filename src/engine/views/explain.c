/* SPDX-License-Identifier: MIT */
/*
 * Why a job has not run: all causes, in the order in which they matter, and their ends as far as
 * they are known.
 *
 * A cause that ends at an unknown moment makes the moment of the job unknown, too. Causes that only
 * say who goes before the job do not: by them, a job can go at any moment.
 */
#include <assert.h>
#include <stdio.h>

#include "base/time.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/pushing.h"
#include "engine/place/queue.h"
#include "engine/views/look.h"
#include "engine/work/work.h"
#include "record/opts.h"

#define ASKED_LATELY_MS 60000

/* Holds that an admin sets. */
#define HOLDS_GATES (1u << HOLD_PAUSED | 1u << HOLD_TENANT_PAUSED | 1u << HOLD_MAINTENANCE)
/* Holds that are as they are when a job becomes due, whatever runs now. */
#define HOLDS_LATER (HOLDS_GATES | 1u << HOLD_ENDPOINT)
/* Holds of a whole queue that the job itself is asked about. */
#define HOLDS_OWN (1u << HOLD_LANES)

const char *reason_name(enum reason r)
{
    static const char *const names[] = {
#define NAME(name, text) [REASON_##name] = text,
        REASONS(NAME)
#undef NAME
    };
    return names[r];
}

/* The next cause, whose sentence the caller writes. */
static struct cause *cause_add(struct explanation *x, enum reason r, int64_t until_ms)
{
    struct cause *c = &x->causes[x->cause_count];

    assert(x->cause_count < CAUSES_MAX);
    x->cause_count++;
    c->reason = r;
    c->until_ms = until_ms;
    c->why[0] = '\0';
    return c;
}

static void explain_as(struct explanation *x, enum reason r, int64_t until_ms, const char *why)
{
    snprintf(cause_add(x, r, until_ms)->why, WHY_MAX, "%s", why);
}

static bool has_cause(const struct explanation *x, enum reason r)
{
    for (size_t i = 0; i < x->cause_count; i++)
        if (x->causes[i].reason == r)
            return true;
    return false;
}

/* ---- Holds of the queue ---- */

static void explain_hold(const struct engine *e, const struct queue *q, enum hold hold,
                         uint64_t ahead, struct explanation *x)
{
    static const enum reason reasons[] = {
        [HOLD_PAUSED] = REASON_PAUSED,
        [HOLD_TENANT_PAUSED] = REASON_TENANT_PAUSED,
        [HOLD_MAINTENANCE] = REASON_MAINTENANCE,
        [HOLD_QUEUE_RUNNING] = REASON_RUNNING_LIMIT,
        [HOLD_TENANT_RUNNING] = REASON_RUNNING_LIMIT,
        [HOLD_SERVER_RUNNING] = REASON_RUNNING_LIMIT,
        [HOLD_QUEUE_RATE] = REASON_RATE_LIMIT,
        [HOLD_TENANT_RATE] = REASON_RATE_LIMIT,
        [HOLD_LANES] = REASON_ORDERING_KEY,
        [HOLD_SLOW_START] = REASON_SLOW_START,
        [HOLD_ENDPOINT] = REASON_ENDPOINT,
        [HOLD_TENANT_PUSHES] = REASON_RUNNING_LIMIT,
        [HOLD_TENANT_LEASED] = REASON_LEASED_MEMORY,
        [HOLD_TENANT_MAX_LEASED] = REASON_LEASED_MEMORY,
        [HOLD_SERVER_LEASED] = REASON_LEASED_MEMORY,
    };
    int64_t pause = hold_pause_ms(e, q, hold, MUTANT(e->o.mutant, EXPLAIN_RATE) ? 0 : ahead);

    explain_as(x, reasons[hold], pause > 0 ? e->now_ms + pause : -1, hold_text(hold));
}

/* All of these holds (bits) that the queue has now. Returns those that it has. */
static unsigned explain_holds(const struct engine *e, const struct job *j, unsigned holds,
                              uint64_t ahead, struct explanation *x)
{
    unsigned passed = ~holds;
    enum hold hold;

    while ((hold = queue_hold_beyond(e, j->queue, j->passing, passed)) != HOLD_NONE) {
        explain_hold(e, j->queue, hold, ahead, x);
        passed |= 1u << hold;
    }
    return passed & holds;
}

/* Rates that will hold the job at that moment, because of those before it. */
static void explain_rates(const struct engine *e, const struct job *j, unsigned told,
                          uint64_t ahead, int64_t when_ms, struct explanation *x)
{
    static const enum hold rates[] = { HOLD_QUEUE_RATE, HOLD_TENANT_RATE };

    for (int i = 0; i < 2; i++)
        if (!(told >> rates[i] & 1) &&
            e->now_ms + hold_pause_ms(e, j->queue, rates[i], ahead) > when_ms)
            explain_hold(e, j->queue, rates[i], ahead, x);
}

/* ---- Ordering keys ---- */

/* Another job is ahead in the lane. */
static void explain_behind(const struct engine *e, const struct job *first, struct explanation *x)
{
    char id[ID_TEXT], at[TIME_TEXT] = "";
    const char *does = first->state == JOB_LEASED  ? "runs"
                       : first->state == JOB_READY ? "is ready"
                                                   : "has not succeeded, and is tried again at ";

    if (first->state == JOB_SCHEDULED)
        time_format_moment(first->timer.at_ms, at);
    x->first = job_id_of(e, first);
    id_format(x->first, id);
    snprintf(cause_add(x, REASON_ORDERING_KEY, -1)->why, WHY_MAX,
             "job %.*s is ahead of it with the same ordering key: it %s%s", ID_TEXT, id, does, at);
}

/* Another job owns the lane, and waits for a moment behind `when_ms`; INT64_MIN: any moment. */
static void explain_lane(const struct engine *e, const struct job *j, int64_t when_ms,
                         struct explanation *x)
{
    const struct job *first = j->ordered ? lane_first(e, j) : NULL;

    if (!first || first->seq == j->seq)
        return;
    if (when_ms == INT64_MIN || (first->state == JOB_SCHEDULED && first->timer.at_ms > when_ms))
        explain_behind(e, first, x);
}

/* ---- Workers, and those who go before it ---- */

static bool workers_wait(const struct queue *q)
{
    return q->post.waiters > 0 || q->kind->post.waiters > 0 || queue_pushes(q);
}

int64_t queue_asked_ms(const struct engine *e, const struct queue *q)
{
    int64_t asked =
        q->post.asked_ms > q->kind->post.asked_ms ? q->post.asked_ms : q->kind->post.asked_ms;

    if (workers_wait(q) || asked > e->now_ms) /* the clock may have been set back */
        return e->now_ms;
    return asked > 0 ? asked : -1;
}

static void explain_no_worker(const struct engine *e, const struct queue *q, struct explanation *x)
{
    int64_t start_ms = e->now_ms - (e->mono_ms - e->start_ms);
    int64_t since_ms = x->asked_ms >= 0             ? x->asked_ms
                       : q->post.made_ms > start_ms ? q->post.made_ms
                                                    : start_ms;
    char since[TIME_TEXT];

    time_format_moment(since_ms < e->now_ms ? since_ms : e->now_ms, since);
    snprintf(cause_add(x, REASON_NO_WORKER, -1)->why, WHY_MAX,
             "no worker has asked for its queue since %s%s", since,
             x->asked_ms >= 0             ? ""
             : q->post.made_ms > start_ms ? ", when the queue was made"
                                          : ", when the server started");
}

static void explain_line(const struct engine *e, const struct job *j, const struct ahead *a,
                         struct explanation *x)
{
    const char *how = queue_pushes(j->queue) ? "they are pushed as fast as their endpoints answer"
                                             : "workers take them as fast as they ask";
    struct cause *c = cause_add(x, REASON_BEHIND, -1);
    char id[ID_TEXT], first[64] = "";

    if (a->first) {
        x->first = job_id_of(e, a->first);
        id_format(x->first, id);
        snprintf(first, sizeof(first), ", first job %.*s", ID_TEXT, id);
    }
    if (a->least == 0)
        snprintf(c->why, WHY_MAX, "others of its queue may go before it%s: %s", first, how);
    else
        snprintf(c->why, WHY_MAX, "%s%llu of its queue %s before it%s: %s",
                 a->exact ? "" : "at least ", (unsigned long long)a->least,
                 a->least == 1 ? "goes" : "go", first, how);
}

/* Nothing but these causes is left when all holds have ended. */
static void explain_turn(const struct engine *e, const struct job *j, const struct ahead *a,
                         struct explanation *x)
{
    bool waits = workers_wait(j->queue), hot = j->where == WHERE_HOT || j->where == WHERE_OWNS_LANE;
    bool lately = waits || (x->asked_ms >= 0 && e->now_ms - x->asked_ms <= ASKED_LATELY_MS);
    bool next = a->exact && a->least == 0;

    if (!lately || (!waits && next && hot && x->cause_count == 0))
        explain_no_worker(e, j->queue, x);
    if (!hot)
        explain_as(
            x, REASON_ON_DISK, -1,
            j->ordered
                ? "it is on disk, or about to be, behind others of its queue that have ordering "
                  "keys: it comes to memory as those are taken"
                : "it is on disk, or about to be, behind others of its queue and priority: it "
                  "comes to memory as those are taken");
    else if (!next && !has_cause(x, REASON_ORDERING_KEY))
        explain_line(e, j, a, x);
    else if (x->cause_count == 0)
        explain_as(x, REASON_NEXT, -1,
                   queue_pushes(j->queue) ? "nothing holds it: it is pushed next"
                                          : "nothing holds it: a worker that waits gets it next");
}

/* ---- States ---- */

static void explain_ready(const struct engine *e, const struct job *j, struct explanation *x)
{
    int64_t quiet = job_quiet_until(e, j);
    unsigned told;
    struct ahead a;

    ahead_of(e, j, &a);
    x->ahead = (int64_t)a.least;
    x->ahead_most = a.exact || x->ready <= a.least ? x->ahead : (int64_t)x->ready - 1;
    explain_lane(e, j, INT64_MIN, x);
    explain_holds(e, j, HOLDS_GATES, a.least, x);
    if (quiet >= 0)
        explain_as(
            x, REASON_QUIET_HOURS, quiet,
            "its tenant has quiet hours: when a worker asks for it it is put off to their end");
    told = explain_holds(e, j, ~(HOLDS_GATES | HOLDS_OWN), a.least, x);
    if (j->ordered && !job_owns_lane(j) && lanes_are_full(e, j->queue->tenant))
        explain_as(x, REASON_ORDERING_KEY, -1, hold_text(HOLD_LANES));
    explain_turn(e, j, &a, x);
    explain_rates(e, j, told, a.least, e->now_ms, x);
}

/* The holds (bits) of HOLDS_LATER that do not end before that moment. */
static unsigned holds_later(const struct engine *e, const struct queue *q, int64_t when_ms)
{
    int64_t endpoint_ms = e->now_ms + hold_pause_ms(e, q, HOLD_ENDPOINT, 0);
    int64_t open_ms = q->tenant->settings.maintenance_until_ms;
    unsigned holds = HOLDS_LATER;

    if (endpoint_ms <= when_ms)
        holds &= ~(1u << HOLD_ENDPOINT);
    if (open_ms > 0 && open_ms <= when_ms)
        holds &= ~(1u << HOLD_MAINTENANCE);
    return holds;
}

/* Facts that hold a job when its moment has come. */
static void explain_later(const struct engine *e, const struct job *j, int64_t when_ms,
                          struct explanation *x)
{
    int64_t quiet = job_quiet_at(e, j, when_ms);
    struct ahead a;

    if (MUTANT(e->o.mutant, EXPLAIN_HALF))
        return;
    explain_lane(e, j, when_ms, x);
    explain_holds(e, j, holds_later(e, j->queue, when_ms), 0, x);
    if (quiet >= 0) {
        explain_as(x, REASON_QUIET_HOURS, quiet,
                   "its tenant has quiet hours then: it is put off to their end");
        when_ms = quiet;
    }
    ahead_of(e, j, &a);
    explain_rates(e, j, 0, a.least, when_ms, x);
}

/* A moment that another than RESCHEDULE gave it is behind its due time. */
static bool is_tried_again(const struct job *j)
{
    return j->timer.at_ms != j->due_ms && j->trail && j->trail->history;
}

static void explain_scheduled(const struct engine *e, const struct job *j, struct explanation *x)
{
    int64_t at_ms = j->timer.at_ms;
    char attempt[WHY_MAX];

    if (j->trail && j->trail->deferred_ms && !MUTANT(e->o.mutant, EXPLAIN_OFF)) {
        explain_as(
            x, REASON_QUIET_HOURS, at_ms,
            "its tenant had quiet hours when it was to be given out: it was put off to their end");
    } else if (is_tried_again(j)) {
        explain_attempt(j, attempt);
        snprintf(cause_add(x, REASON_BACKOFF, at_ms)->why, WHY_MAX,
                 "%.250s: it runs again at its time", attempt);
    } else {
        explain_as(x, REASON_SCHEDULED, at_ms, "its time has not come");
    }
    explain_later(e, j, at_ms, x);
}

static void explain_parent(const struct engine *e, const struct job *j, struct explanation *x)
{
    struct wire_reader r = job_opts_reader(j);
    struct cause *c = cause_add(x, REASON_PARENT, -1);
    char id[ID_TEXT];
    struct opt o;
    size_t n = 0;

    while (job_opt_next(&r, &o))
        if (o.type == OPT_AFTER && n++ == 0)
            x->parent = (struct job_id){ o.number, e->o.partition, o.seq };
    const struct job *parent = job_find(e, x->parent.seq);

    id_format(x->parent, id);
    if (parent && state_is_ended(parent->state))
        snprintf(c->why, WHY_MAX,
                 "job %.*s, for which it waits, has ended: the server tells those who wait for it, "
                 "one after the other",
                 ID_TEXT, id);
    else
        snprintf(c->why, WHY_MAX, "it waits for %zu other job%s to be done: %.*s%s", n,
                 n == 1 ? "" : "s", ID_TEXT, id, n > 1 ? " and others" : "");
}

static void explain_waiting(const struct engine *e, const struct job *j, struct explanation *x)
{
    explain_parent(e, j, x);
    if (j->due_ms > e->now_ms)
        explain_as(x, REASON_SCHEDULED, j->due_ms, "its own time has not come, either");
    explain_holds(e, j, HOLDS_GATES, 0, x);
}

static void explain_leased(const struct engine *e, const struct job *j, struct explanation *x)
{
    const struct trail *t = j->trail;
    int64_t left = t->timer.at_ms - e->mono_ms; /* a start, or the clock, may have changed it */

    snprintf(cause_add(x, REASON_RUNNING, e->now_ms + (left > 0 ? left : 0))->why, WHY_MAX,
             "a worker has it, until the end of its lease%s%s",
             t->flags & TRAIL_REPLACING
                 ? "; it was replaced meanwhile, and runs anew when its attempt ends"
                 : "",
             t->flags & TRAIL_CANCELLING && !(t->flags & TRAIL_REPLACING)
                 ? "; it was cancelled meanwhile, and is not tried again"
                 : "");
}

/* The moment before which it does not run; -1: not known. */
static int64_t earliest_ms(const struct engine *e, const struct explanation *x)
{
    int64_t at_ms = e->now_ms;

    for (size_t i = 0; i < x->cause_count; i++) {
        const struct cause *c = &x->causes[i];

        if (c->reason == REASON_BEHIND || c->reason == REASON_ON_DISK || c->reason == REASON_NEXT)
            continue;
        if (c->until_ms < 0)
            return -1;
        at_ms = c->until_ms > at_ms ? c->until_ms : at_ms;
    }
    return at_ms;
}

static void explain_ahead(const struct engine *e, const struct job *j, struct explanation *x)
{
    int64_t expires_ms = job_expires_ms(j);

    if (x->state == JOB_WAITING)
        explain_waiting(e, j, x);
    else if (x->state == JOB_READY)
        explain_ready(e, j, x);
    else
        explain_scheduled(e, j, x);
    x->at_ms = earliest_ms(e, x);
    if (x->at_ms >= 0 && expires_ms >= 0 && x->at_ms >= expires_ms) {
        explain_as(x, REASON_EXPIRY, expires_ms, "it is not started before that, and expires");
        x->at_ms = -1;
    }
}

/* Facts about the job and its queue, whatever its state. */
static void explain_facts(const struct engine *e, const struct job *j, struct explanation *x)
{
    const struct queue *q = j->queue;
    const struct trail *t = j->trail;

    x->until_ms = x->at_ms = x->ahead = x->ahead_most = x->deferred_ms = x->ended_ms = -1;
    x->ready = q->jobs[JOB_READY];
    for (int i = 0; i < COLD_SLOTS; i++)
        x->ready += slot_is_backlog((enum cold_slot)i) ? (uint64_t)q->cold[i] : 0;
    x->asked_ms = queue_asked_ms(e, q);
    x->attempt = j->attempt;
    x->attempts = job_attempts(j);
    if (!t)
        return;
    x->error = blob_str(t->error);
    x->deferrals = t->deferrals;
    if (state_is_ahead(x->state) && t->deferred_ms)
        x->deferred_ms = t->deferred_ms;
}

int engine_explain(struct engine *e, struct job_id id, struct explanation *ret)
{
    int err;
    const struct job *j = job_seek(e, id, false, &err);

    if (!j)
        return err;
    *ret = (struct explanation){ .state = job_state_now(e, j) };
    explain_facts(e, j, ret);
    if (state_is_ended(ret->state)) {
        explain_ended(e, j, ret);
        explain_as(ret, REASON_ENDED, -1, ret->why);
    } else if (ret->state == JOB_LEASED) {
        explain_leased(e, j, ret);
    } else {
        explain_ahead(e, j, ret);
    }
    ret->reason = ret->causes[0].reason;
    ret->until_ms = ret->causes[0].until_ms;
    memcpy(ret->why, ret->causes[0].why, WHY_MAX);
    return 0;
}
