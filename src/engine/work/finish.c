/* SPDX-License-Identifier: MIT */
/* Requests of workers about their jobs, and the end of leases without a word. */
#include "engine/work/work.h"

#include <assert.h>

#include "base/time.h"
#include "engine/log/log.h"
#include "engine/place/awaited.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/backoff.h"
#include "record/opts.h"
#include "record/record.h"

/* xorshift64*: jitter needs no better. */
uint64_t engine_random(struct engine *e)
{
    e->work.random ^= e->work.random >> 12;
    e->work.random ^= e->work.random << 25;
    e->work.random ^= e->work.random >> 27;
    return (e->work.random * UINT64_C(0x2545f4914f6cdd1d)) >> 16;
}

/* now + d, never beyond the last moment there is. */
static int64_t after(const struct engine *e, int64_t d)
{
    return d > TIME_MOMENT_MAX - e->now_ms ? TIME_MOMENT_MAX : e->now_ms + d;
}

/* Says why the caller's token is not the current one. */
static int refuse_token(struct engine *e, const struct job *j)
{
    const char *state = job_state_name(job_state_now(e, j));

    if (j->state == JOB_LEASED)
        return engine_error(e, BELFRY_STALE, "the job is leased with another token");
    if (state_is_ended(j->state))
        return engine_error(e, BELFRY_STALE, "the job is already %s", state);
    if (!j->trail || !j->trail->history)
        return engine_error(e, BELFRY_STALE, "the job is %s, and was never leased", state);
    return engine_error(e, BELFRY_STALE, "the job is %s, and has no lease", state);
}

/* A job as long as the caller's token is the current one. */
static int job_of_token(struct engine *e, struct job_id id, uint64_t token, struct job **ret)
{
    int err;
    struct job *j = job_seek(e, id, false, &err);

    if (!j)
        return err;
    if (j->state != JOB_LEASED ||
        (j->trail->token != token && !MUTANT(e->o.mutant, STALE_ACCEPTED)))
        return refuse_token(e, j);
    *ret = j;
    return 0;
}

static struct str cut(struct str s, size_t max)
{
    return s.len > max ? (struct str){ s.ptr, max } : s;
}

/* How long the key of a job stays taken after it ends in this state. The hold of the queue counts
 * for done jobs. The job's own hold counts for every end but expiry, because jobs on disk expire by
 * time alone. */
static int64_t key_hold_of(const struct engine *e, const struct queue_settings *s,
                           const struct job_opts *o, enum job_state state)
{
    int64_t own = state == JOB_EXPIRED ? 0 : o->key_hold_ms;
    int64_t queue = state == JOB_DONE ? s->key_hold_ms : 0;

    if (MUTANT(e->o.mutant, HOLD_FORGOTTEN))
        return 0;
    if (MUTANT(e->o.mutant, OWN_HOLD_IGNORED))
        return queue;
    return own > queue ? own : queue;
}

int job_end(struct engine *e, struct job *j, enum job_state state, unsigned outcome,
            uint32_t stalls, struct str error, struct str result)
{
    const struct queue_settings *s = j->queue->settings;
    struct queue *q = j->queue;
    struct job_opts o;
    bool bare = job_is_bare(j);
    struct end_record r = {
        .seq = j->seq,
        .state = state,
        .ended_ms = e->now_ms,
        .outcome = outcome,
        .stalls = stalls,
        .error = error,
        .result = result,
        .kept = e->o.attempts_kept,
    };

    assert(state_is_ended(state) && !state_is_ended(j->state));
    if (!bare)
        job_opts_get(j, &o);
    if (state == JOB_DEAD)
        r.keep_ms = after(e, s->retain_dead_ms);
    else
        r.keep_ms = after(e, !bare && o.retain_ms >= 0 ? o.retain_ms : s->retain_ms);
    /* A client that waits for the result sees it, also if nothing else keeps the job. */
    if (r.keep_ms < after(e, AWAITED_KEEP_MS) && job_is_awaited(e, j->seq))
        r.keep_ms = after(e, AWAITED_KEEP_MS);
    int64_t hold_ms = bare || o.key.len == 0 ? 0 : key_hold_of(e, s, &o, state);
    if (hold_ms > 0)
        r.hold_ms = after(e, hold_ms);
    int err = emit_end(e, &r);
    if (err)
        return err;
    if (state == JOB_DEAD)
        COUNT(e, q, dead);
    else if (state == JOB_CANCELLED)
        COUNT(e, q, cancelled);
    else if (state == JOB_EXPIRED)
        COUNT(e, q, expired);
    return 0;
}

int job_expire(struct engine *e, struct job *j)
{
    assert(state_is_ahead(j->state));
    return job_end(e, j, JOB_EXPIRED, OUTCOME_NONE, j->stalls, (struct str){ 0 },
                   (struct str){ 0 });
}

/* The attempt has ended and the job was replaced meanwhile: it starts anew. */
static int job_replace(struct engine *e, struct job *j, unsigned outcome, struct str error)
{
    struct job_image image;

    e->scratch.len = 0;
    history_append(&e->scratch, j, e->o.attempts_kept, e->now_ms, outcome, error);
    if (engine_scratch(e) < 0)
        return BELFRY_NOMEM;
    job_image_of(j, &image);
    image.state = JOB_SCHEDULED;
    image.payload = image.trail.pending;
    image.due_ms = image.trail.pending_due_ms;
    image.at_ms = image.due_ms > e->now_ms || j->ordered ? image.due_ms : e->now_ms;
    image.attempt = 0;
    image.stalls = 0;
    image.trail.history = buf_view(&e->scratch);
    if (error.len > 0)
        image.trail.error = error;
    image.trail.pending = (struct str){ 0 };
    image.trail.flags = 0;
    return emit_put(e, &image);
}

static int64_t pause_of(struct engine *e, const struct job *j)
{
    struct job_opts o;
    struct backoff b;
    const char *why;

    job_opts_get(j, &o);
    if (backoff_parse(o.backoff.len ? o.backoff : str_of(j->queue->settings->backoff), &b, &why) <
        0)
        return 0; /* cannot be: both were checked when they were set */
    return backoff_pause(&b, j->attempt ? j->attempt : 1, engine_random(e));
}

/* Marks that were set while a job ran take effect when its attempt ends, unless by COMPLETE. 1:
 * they did. */
static int end_as_marked(struct engine *e, struct job *j, unsigned outcome, struct str error)
{
    unsigned flags = j->trail->flags;
    int err;

    assert(j->state == JOB_LEASED);
    if (flags & TRAIL_REPLACING)
        err = job_replace(e, j, outcome, error);
    else if (flags & TRAIL_CANCELLING && !MUTANT(e->o.mutant, CANCEL_RETRIED))
        err = job_end(e, j, JOB_CANCELLED, outcome, j->stalls, error, (struct str){ 0 });
    else
        return 0;
    return err ? err : 1;
}

int attempt_fail(struct engine *e, struct job *j, unsigned outcome, struct str error,
                 int64_t pause_ms, bool final)
{
    uint32_t stalls = outcome == ATTEMPT_STALLED ? j->stalls + 1u : 0;
    int64_t attempts = job_attempts(j);
    struct queue *q = j->queue;
    int err = end_as_marked(e, j, outcome, error);

    if (err)
        return err < 0 ? err : 0;
    if (stalls >= POISON_STALLS) {
        error = STR("poison: its lease ended without a word too many times in a row");
        final = true;
    }
    if (final || (attempts > 0 && j->attempt >= attempts))
        return job_end(e, j, JOB_DEAD, outcome, stalls, error, (struct str){ 0 });
    err =
        emit_back(e, &(struct back_record){
                         .seq = j->seq,
                         .due_ms = j->due_ms,
                         .at_ms = after(e, pause_ms >= 0 ? pause_ms : pause_of(e, j)),
                         .attempt = j->attempt - (uint32_t)(MUTANT(e->o.mutant, UNCOUNTED_STALL) &&
                                                            outcome == ATTEMPT_STALLED),
                         .stalls = stalls,
                         .outcome = outcome,
                         .end_ms = e->now_ms,
                         .error = error,
                         .kept = e->o.attempts_kept,
                     });
    if (!err)
        COUNT(e, q, retried);
    return err;
}

static void count_runtime(struct engine *e, const struct job *j)
{
    hist_add(&e->work.runtime, e->now_ms - j->trail->start_ms);
    GAUGE(e, j->queue, runtime, e->now_ms - j->trail->start_ms);
}

int engine_complete(struct engine *e, struct job_id id, uint64_t token, struct str result,
                    int64_t again_ms)
{
    struct job *j;
    int err = job_of_token(e, id, token, &j);

    if (err)
        return err;
    if (result.len > RESULT_MAX_BYTES)
        return engine_error(e, BELFRY_TOOLARGE, "result: %zu bytes, the limit is %d", result.len,
                            RESULT_MAX_BYTES);
    struct queue *q = j->queue;
    count_runtime(e, j);
    if (j->trail->flags & TRAIL_REPLACING)
        err = job_replace(e, j, ATTEMPT_DONE, (struct str){ 0 });
    else if (j->trail->flags & TRAIL_CANCELLING)
        err = job_end(e, j, again_ms < 0 ? JOB_DONE : JOB_CANCELLED, ATTEMPT_DONE, j->stalls,
                      (struct str){ 0 }, result);
    else if (again_ms >= 0)
        err = emit_back(e, &(struct back_record){
                               .seq = j->seq,
                               .due_ms = after(e, again_ms),
                               .at_ms = after(e, again_ms),
                               .outcome = ATTEMPT_AGAIN,
                               .end_ms = e->now_ms,
                               .kept = e->o.attempts_kept,
                           });
    else
        err = job_end(e, j, JOB_DONE, ATTEMPT_DONE, j->stalls, (struct str){ 0 }, result);
    if (!err) {
        COUNT(e, q, succeeded);
        q->gauges.success_ms = e->now_ms;
    }
    return err;
}

int engine_fail(struct engine *e, struct job_id id, uint64_t token, struct str error,
                int64_t retry_ms, bool final, struct fail_result *ret)
{
    struct job *j;
    uint64_t cancelled = e->counters.cancelled;
    int err = job_of_token(e, id, token, &j);

    if (err)
        return err;
    struct queue *q = j->queue;
    int64_t attempt = j->attempt, attempts = job_attempts(j);
    count_runtime(e, j);
    err = attempt_fail(e, j, ATTEMPT_FAILED, cut(error, ERROR_MAX_BYTES), retry_ms, final);
    if (err)
        return err;
    COUNT(e, q, failed);
    j = job_of(e, id); /* gone if its queue keeps nothing */
    ret->state = j ? j->state : e->counters.cancelled > cancelled ? JOB_CANCELLED : JOB_DEAD;
    if (ret->state == JOB_READY)
        ret->state = JOB_SCHEDULED;
    ret->at_ms = ret->state == JOB_SCHEDULED ? j->timer.at_ms : 0;
    ret->attempt = attempt;
    ret->attempts = attempts;
    return 0;
}

int engine_extend(struct engine *e, struct job_id id, uint64_t token, const struct extend_spec *x,
                  struct extend_result *ret)
{
    struct job *j;
    int err = job_of_token(e, id, token, &j);

    if (err)
        return err;
    struct extend_record r = {
        .seq = j->seq,
        .lease_ms = x->for_ms >= 0 ? x->for_ms : j->trail->lease_ms,
        .progress = x->progress,
        .has_note = x->note.ptr != NULL,
        .note = cut(x->note, ERROR_MAX_BYTES),
    };
    r.until_ms = after(e, r.lease_ms);
    err = emit_extend(e, &r);
    if (err)
        return err;
    ret->until_ms = r.until_ms;
    ret->cancelled = j->trail->flags & TRAIL_CANCELLING;
    return 0;
}

int engine_release(struct engine *e, struct job_id id, uint64_t token, int64_t in_ms)
{
    struct job *j;
    int err = job_of_token(e, id, token, &j);

    if (err)
        return err;
    struct queue *q = j->queue;
    err = end_as_marked(e, j, ATTEMPT_RELEASED, (struct str){ 0 });
    if (err == 0)
        err =
            emit_back(e, &(struct back_record){
                             .seq = j->seq,
                             .due_ms = j->due_ms,
                             .at_ms = after(e, in_ms),
                             .attempt = j->attempt - (MUTANT(e->o.mutant, WRONG_ATTEMPT) ? 0u : 1u),
                             .stalls = j->stalls,
                             .outcome = ATTEMPT_RELEASED,
                             .end_ms = e->now_ms,
                             .kept = e->o.attempts_kept,
                         });
    if (err < 0)
        return err;
    COUNT(e, q, released);
    return 0;
}

/* ---- Forgetting an ended job before its time ---- */

static int emit_end_at(struct engine *e, const struct job *j, enum job_state state, int64_t at_ms)
{
    return emit_end(e, &(struct end_record){ .seq = j->seq,
                                             .state = state,
                                             .ended_ms = at_ms,
                                             .keep_ms = at_ms,
                                             .outcome = OUTCOME_NONE });
}

int emit_forget(struct engine *e, const struct job *j)
{
    return emit_end_at(e, j, (enum job_state)j->state, j->trail->ended_ms);
}

int emit_gone(struct engine *e, const struct job *j)
{
    return emit_end_at(e, j, JOB_CANCELLED, e->now_ms);
}

int engine_delete(struct engine *e, struct job_id id)
{
    int err;
    struct job *j = job_seek(e, id, false, &err);

    if (!j)
        return want_grows(e, err);
    enum job_state state = job_state_now(e, j);
    if (!state_is_ended(state))
        return engine_error(e, BELFRY_STATE, "the job is %s", job_state_name(state));
    j = job_seek(e, id, true, &err);
    if (j && !state_is_ended(j->state)) { /* by time only */
        err = job_expire(e, j);
        j = err ? NULL : job_of(e, id);
    }
    if (!j)
        return err;
    if (j->trail->flags & TRAIL_TELLING)
        return engine_error(e, BELFRY_STATE, "those who wait for it are being told of its end");
    return emit_forget(e, j);
}

/* A job that has not ended: those that wait for it are told that it was cancelled, and it is kept
 * until then. */
static int discard_ahead(struct engine *e, const struct job *j)
{
    struct queue *q = j->queue;
    int err;

    if (MUTANT(e->o.mutant, DELETION_LOST))
        err = apply_end(e, &(struct end_record){ .seq = j->seq,
                                                 .state = JOB_CANCELLED,
                                                 .ended_ms = e->now_ms,
                                                 .keep_ms = e->now_ms,
                                                 .outcome = OUTCOME_NONE });
    else
        err = emit_gone(e, j);
    if (!err)
        COUNT(e, q, cancelled);
    return err;
}

int engine_discard(struct engine *e, struct job_id id)
{
    int err;
    struct job *j = job_seek(e, id, false, &err);

    if (!j)
        return err;
    enum job_state state = job_state_now(e, j);
    if (state_is_ended(state))
        return engine_delete(e, id);
    if (state == JOB_LEASED)
        return engine_error(e, BELFRY_STATE,
                            "a worker has the job: CANCEL it, and delete it when it has ended");
    j = job_seek(e, id, true, &err);
    return j ? discard_ahead(e, j) : err;
}
