/* SPDX-License-Identifier: MIT */
/* Why a job has not run: its obstacle, and the end of that if it is known. */
#include <stdio.h>

#include "base/time.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/pushing.h"
#include "engine/place/queue.h"
#include "engine/work/work.h"
#include "record/opts.h"

#define ASKED_LATELY_MS 60000

const char *reason_name(enum reason r)
{
    static const char *const names[] = {
#define NAME(name, text) [REASON_##name] = text,
        REASONS(NAME)
#undef NAME
    };
    return names[r];
}

static void explain_as(struct explanation *x, enum reason r, int64_t until_ms, const char *why)
{
    x->reason = r;
    x->until_ms = until_ms;
    snprintf(x->why, sizeof(x->why), "%s", why);
}

static void explain_ended(struct explanation *x)
{
    static const char *const why[JOB_STATE_COUNT] = {
        [JOB_DONE] = "it has run and is done",
        [JOB_DEAD] = "it failed for the last time; REDRIVE puts it back",
        [JOB_CANCELLED] = "it was cancelled",
        [JOB_EXPIRED] = "it was not started in the time that EXPIRE gave it",
    };

    explain_as(x, REASON_ENDED, -1, why[x->state]);
}

/* The whole queue is held. */
static void explain_hold(const struct engine *e, const struct queue *q, enum hold hold,
                         struct explanation *x)
{
    static const enum reason reasons[] = {
        [HOLD_PAUSED] = REASON_PAUSED,
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
    int64_t pause = 0;

    if (reasons[hold] == REASON_RATE_LIMIT)
        pause = queue_rate_pause_ms(e, q);
    else if (hold == HOLD_MAINTENANCE && q->tenant->settings.maintenance_until_ms > 0)
        pause = q->tenant->settings.maintenance_until_ms - e->now_ms;
    else if (hold == HOLD_SLOW_START && slow_start_wake(e) != INT64_MAX)
        pause = slow_start_wake(e) - e->mono_ms;
    else if (hold == HOLD_ENDPOINT) {
        pause = queue_endpoint_until(e, q) - e->mono_ms;
        pause = pause > 0 ? pause : ENDPOINT_LOOK_MS;
    }
    explain_as(x, reasons[hold], pause > 0 ? e->now_ms + pause : -1, hold_text(hold));
}

/* When a worker last asked for its queue, by whichever way; 0: never. One that waits does so. */
static int64_t asked_ms(const struct engine *e, const struct queue *q)
{
    if (q->post.waiters > 0 || q->kind->post.waiters > 0 || queue_pushes(q))
        return e->now_ms;
    return q->post.asked_ms > q->kind->post.asked_ms ? q->post.asked_ms : q->kind->post.asked_ms;
}

/* Another job is ahead in the lane. */
static void explain_behind(const struct engine *e, const struct job *first, struct explanation *x)
{
    char id[ID_TEXT], at[TIME_TEXT] = "";
    const char *does = first->state == JOB_LEASED  ? "runs"
                       : first->state == JOB_READY ? "is ready"
                                                   : "has not succeeded, and is tried again at ";

    if (first->state == JOB_SCHEDULED)
        time_format_moment(first->timer.at_ms, at);
    id_format(job_id_of(e, first), id);
    x->reason = REASON_ORDERING_KEY;
    snprintf(x->why, sizeof(x->why), "job %.*s is ahead of it with the same ordering key: it %s%s",
             ID_TEXT, id, does, at);
}

/* True if it waits for its ordering key. */
static bool explain_lane(const struct engine *e, const struct job *j, struct explanation *x)
{
    const struct job *first = j->ordered ? lane_first(e, j) : NULL;

    if (first && first->seq != j->seq) {
        explain_behind(e, first, x);
        return true;
    }
    if (first && !job_owns_lane(j) && queue_hold(e, j->queue, j->passing) == HOLD_NONE &&
        lanes_are_full(e, j->queue->tenant)) {
        explain_as(x, REASON_ORDERING_KEY, -1, hold_text(HOLD_LANES));
        return true;
    }
    return false;
}

static void explain_ready(const struct engine *e, const struct job *j, struct explanation *x)
{
    const struct queue *q = j->queue;
    enum hold hold = queue_hold(e, q, j->passing);
    int64_t asked = asked_ms(e, q), quiet = job_quiet_until(e, j);

    x->ready = q->jobs[JOB_READY];
    for (int i = 0; i < COLD_SLOTS; i++)
        x->ready += slot_is_backlog((enum cold_slot)i) ? (uint64_t)q->cold[i] : 0;
    if (explain_lane(e, j, x))
        return;
    if (quiet >= 0 && hold != HOLD_PAUSED && hold != HOLD_MAINTENANCE)
        explain_as(
            x, REASON_QUIET_HOURS, quiet,
            "its tenant has quiet hours: when a worker asks for it it is put off to their end");
    else if (hold != HOLD_NONE)
        explain_hold(e, q, hold, x);
    else if (asked == 0)
        explain_as(x, REASON_NO_WORKER, -1,
                   "no worker has asked for its queue since the server started");
    else if (e->now_ms - asked > ASKED_LATELY_MS)
        explain_as(x, REASON_NO_WORKER, -1,
                   "no worker has asked for its queue for more than a minute");
    else if (j->where != WHERE_HOT && j->where != WHERE_OWNS_LANE)
        explain_as(
            x, REASON_ON_DISK, -1,
            j->ordered
                ? "it is on disk, or about to be, behind others of its queue that have ordering "
                  "keys: it comes to memory as those are taken"
                : "it is on disk, or about to be, behind others of its queue and priority: it "
                  "comes to memory as those are taken");
    else
        explain_as(
            x, REASON_BEHIND, -1,
            queue_pushes(q)
                ? "others are pushed first: as fast as their endpoints answer"
                : "others of its queue are taken first: workers take them as fast as they ask");
}

static void explain_waiting(const struct engine *e, const struct job *j, struct explanation *x)
{
    struct wire_reader r = job_opts_reader(j);
    struct job_id first = { 0 };
    char id[ID_TEXT];
    struct opt o;
    size_t n = 0;

    while (job_opt_next(&r, &o))
        if (o.type == OPT_AFTER && n++ == 0)
            first = (struct job_id){ o.number, e->o.partition, o.seq };
    const struct job *parent = job_find(e, first.seq);

    id_format(first, id);
    explain_as(x, REASON_PARENT, -1, "");
    if (parent && state_is_ended(parent->state)) {
        snprintf(x->why, sizeof(x->why),
                 "job %.*s, for which it waits, has ended: the server tells those who wait for it, "
                 "one after the other",
                 ID_TEXT, id);
        return;
    }
    snprintf(x->why, sizeof(x->why), "it waits for %zu other job%s to be done: %.*s%s", n,
             n == 1 ? "" : "s", ID_TEXT, id, n > 1 ? " and others" : "");
}

int engine_explain(struct engine *e, struct job_id id, struct explanation *ret)
{
    int err;
    const struct job *j = job_seek(e, id, false, &err);

    if (!j)
        return err;
    *ret = (struct explanation){ .state = job_state_now(e, j), .until_ms = -1, .deferred_ms = -1 };
    if (j->trail) {
        ret->deferrals = j->trail->deferrals;
        if (state_is_ahead(ret->state) && j->trail->deferred_ms)
            ret->deferred_ms = j->trail->deferred_ms;
    }
    if (ret->state == JOB_WAITING)
        explain_waiting(e, j, ret);
    else if (state_is_ended(ret->state))
        explain_ended(ret);
    else if (ret->state == JOB_LEASED)
        explain_as(ret, REASON_RUNNING, j->trail->until_ms,
                   "a worker has it, until the end of its lease");
    else if (ret->state == JOB_READY)
        explain_ready(e, j, ret);
    else if (j->trail && j->trail->deferred_ms && !MUTANT(e->o.mutant, EXPLAIN_OFF))
        explain_as(
            ret, REASON_QUIET_HOURS, j->timer.at_ms,
            "its tenant had quiet hours when it was to be given out: it was put off to their end");
    else if (j->attempt > 0)
        explain_as(ret, REASON_BACKOFF, j->timer.at_ms,
                   "an attempt ended without success, or asked for it: it runs again then");
    else
        explain_as(ret, REASON_SCHEDULED, j->timer.at_ms, "its time has not come");
    return 0;
}
