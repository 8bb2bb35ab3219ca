/* SPDX-License-Identifier: MIT */
/* Applying records. A function consults only the record and the state before it. It succeeds, or
 * changes nothing (NOMEM). A record about a job that does not exist is skipped. Such a job ended
 * and was forgotten, and its older records may be gone with their segment. */
#include "engine/log/log.h"

#include <assert.h>

#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/pushing.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record.h"

int apply_begin(struct engine *e, const struct begin_record *r)
{
    if (!MUTANT(e->o.mutant, SEQ_REUSED) && r->next_seq > e->log.next_seq)
        e->log.next_seq = r->next_seq;
    if (r->oldest > e->log.oldest)
        e->log.oldest = r->oldest;
    return 0;
}

/* Puts a job whose newest whole image stands in this segment. */
static int put_image(struct engine *e, const struct job_image *r, uint32_t segment)
{
    struct job *old = r->seq < e->log.next_seq ? job_find(e, r->seq) : NULL;
    struct queue *q = queue_obtain(e, r->queue);
    struct job *j = q ? job_new(e, r, q) : NULL;

    if (!j)
        return BELFRY_NOMEM;
    j->left = old && (old->fed || old->left);
    j->segment = segment;
    int err = job_enter(e, j, false);
    if (err < 0) {
        job_free(e, j);
        return err;
    }
    if (old) {
        /* A walk under way knows the job by `loaded`, so the new image keeps it. The new image does
         * not keep `again`: the walk need not come back for a job that a request has changed.
         * Otherwise two bulks that move the same jobs to and fro would keep each other going. */
        j->loaded = old->loaded;
        job_leave(e, old);
    }
    if (!(MUTANT(e->o.mutant, SEQ_REUSED) && !e->started) && r->seq >= e->log.next_seq)
        e->log.next_seq = r->seq + 1;
    return 0;
}

int apply_put(struct engine *e, const struct job_image *r)
{
    return put_image(e, r, e->segment);
}

/* The record is no whole image, so the job still stands in the segment of the last one. */
int apply_revised(struct engine *e, const struct revised_record *r)
{
    const struct job *j = job_find(e, r->seq);
    struct str payload = j ? job_payload(j) : (struct str){ 0 };
    struct buf revised = { 0 };
    struct job_image image;

    if (!j)
        return 0;
    if (r->keep > payload.len)
        return BELFRY_CORRUPT;
    buf_append(&revised, payload.ptr, r->keep);
    buf_str(&revised, r->rest);
    job_image_of(j, &image);
    image.state = JOB_SCHEDULED;
    image.due_ms = r->due_ms;
    image.at_ms = r->at_ms;
    image.payload = buf_view(&revised);
    int err = revised.failed ? BELFRY_NOMEM : put_image(e, &image, j->segment);
    buf_fini(&revised);
    return err;
}

static int lease_job(struct engine *e, struct job *j, const struct lease_record *r)
{
    struct trail *t = j->trail ? j->trail : trail_new(e, j);
    if (!t)
        return BELFRY_NOMEM;
    if (!blob_set(&e->pool, &t->worker, r->worker)) {
        if (!j->trail)
            trail_free(e, t);
        return BELFRY_NOMEM;
    }
    job_unplace(e, j);
    j->trail = t;
    j->attempt = r->attempt & ATTEMPT_MAX;
    t->token = r->token;
    t->start_ms = r->start_ms;
    t->until_ms = r->until_ms;
    t->lease_ms = r->lease_ms;
    t->late_ms = r->late_ms;
    t->progress = -1;
    t->flags = j->ordered ? TRAIL_OWNS_LANE : 0;
    t->deferred_ms = 0;
    blob_set(&e->pool, &t->note, (struct str){ 0 });
    trail_recount(e, t);
    job_place(e, j, JOB_LEASED);
    return 0;
}

int apply_lease(struct engine *e, const struct lease_record *r)
{
    struct job *j = job_find(e, r->seq);
    int err = j ? lease_job(e, j, r) : 0;

    if (!err && r->rated.len > 0)
        rated_take(e, r->rated, r->start_ms);
    return err;
}

int apply_extend(struct engine *e, const struct extend_record *r)
{
    struct job *j = job_find(e, r->seq);
    struct trail *t = j ? j->trail : NULL;

    if (!t || j->state != JOB_LEASED)
        return 0;
    if (r->has_note && !blob_set(&e->pool, &t->note, r->note))
        return BELFRY_NOMEM;
    job_unplace(e, j);
    t->until_ms = r->until_ms;
    t->lease_ms = r->lease_ms;
    t->flags &= (uint8_t)~TRAIL_GRACED;
    if (r->progress >= 0)
        t->progress = (int8_t)r->progress;
    trail_recount(e, t);
    job_place(e, j, JOB_LEASED);
    return 0;
}

/* Adds the attempt that ended to the job's trail, with its error if there is one. */
static int trail_add_attempt(struct engine *e, struct job *j, uint32_t kept, int64_t end_ms,
                             unsigned outcome, struct str error)
{
    struct trail *t = j->trail;
    struct blob *history, *kept_error = NULL;

    if (MUTANT(e->o.mutant, KEPT_BY_OPTION))
        kept = e->o.attempts_kept;
    e->scratch.len = 0;
    history_append(&e->scratch, j, kept, end_ms, outcome, error);
    history = blob_new(&e->pool, buf_view(&e->scratch));
    if (error.len)
        kept_error = blob_new(&e->pool, error);
    if (e->scratch.failed || !history || (error.len && !kept_error)) {
        e->scratch.failed = false;
        blob_free(&e->pool, history);
        blob_free(&e->pool, kept_error);
        return BELFRY_NOMEM;
    }
    blob_free(&e->pool, t->history);
    t->history = history;
    if (kept_error) {
        blob_free(&e->pool, t->error);
        t->error = kept_error;
    }
    return 0;
}

static void trail_clear_pending(struct engine *e, struct trail *t, bool holds)
{
    t->flags = holds ? t->flags & TRAIL_OWNS_LANE : 0;
    blob_free(&e->pool, t->pending);
    t->pending = NULL;
}

int apply_back(struct engine *e, const struct back_record *r)
{
    struct job *j = job_find(e, r->seq);

    if (!j)
        return 0;
    if (j->trail) {
        if (trail_add_attempt(e, j, r->kept, r->end_ms, r->outcome, r->error) < 0)
            return BELFRY_NOMEM;
    }
    job_unplace(e, j);
    if (j->trail) {
        trail_clear_pending(e, j->trail, r->outcome != ATTEMPT_AGAIN);
        trail_recount(e, j->trail);
    }
    j->due_ms = r->due_ms;
    j->timer.at_ms = r->at_ms;
    j->attempt = r->attempt & ATTEMPT_MAX;
    j->stalls = r->stalls & 127u;
    job_place(e, j, JOB_SCHEDULED);
    return 0;
}

int apply_end(struct engine *e, const struct end_record *r)
{
    struct job *j = job_find(e, r->seq);
    struct trail *t;
    struct blob *result;

    if (!j)
        return 0;
    size_t listeners = job_listeners(j);
    /* A record about a job that has ended before says that it is deleted. */
    if ((listeners == 0 || state_is_ended(j->state)) && r->keep_ms <= r->ended_ms &&
        r->hold_ms <= r->ended_ms) {
        job_leave(e, j);
        return 0;
    }
    t = j->trail ? j->trail : trail_new(e, j);
    result = blob_new(&e->pool, r->result);
    if (!t || (r->result.len && !result))
        goto nomem;
    j->trail = t;
    if (r->outcome != OUTCOME_NONE &&
        trail_add_attempt(e, j, r->kept, r->ended_ms, r->outcome, r->error) < 0)
        goto nomem;
    if (r->outcome == OUTCOME_NONE && r->error.len && !blob_set(&e->pool, &t->error, r->error))
        goto nomem;
    job_unplace(e, j);
    trail_clear_pending(e, t, false);
    t->flags = listeners > 0 ? TRAIL_TELLING : 0;
    if (j->queue->tenant->telling.seq ==
        r->seq) /* it was put back before all listeners were told */
        j->queue->tenant->telling.seq = 0;
    blob_free(&e->pool, t->result);
    t->result = result;
    t->ended_ms = r->ended_ms;
    t->keep_ms = r->keep_ms;
    t->hold_ms = r->hold_ms;
    if (MUTANT(e->o.mutant, HOLD_LOST) && !e->started && r->state == JOB_DEAD)
        t->hold_ms = 0;
    j->stalls = r->stalls & 127u;
    trail_recount(e, t);
    if (!t->hold_ms)
        key_release(e, j);
    job_place(e, j, (enum job_state)r->state);
    return 0;
nomem:
    if (t && !j->trail)
        trail_free(e, t);
    blob_free(&e->pool, result);
    return BELFRY_NOMEM;
}

int apply_told(struct engine *e, const struct told_record *r)
{
    struct job *j = job_find(e, r->seq);

    if (!j || !j->trail || !(j->trail->flags & TRAIL_TELLING))
        return 0;
    if (j->trail->keep_ms <= j->trail->ended_ms && j->trail->hold_ms <= j->trail->ended_ms) {
        job_leave(e, j);
        return 0;
    }
    job_unplace(e, j);
    j->trail->flags &= (uint8_t)~TRAIL_TELLING;
    job_place(e, j, (enum job_state)j->state);
    return 0;
}

/* The place of one more option: directly behind the key, which stands first. So the new option
 * stands before options of a newer version, because nothing behind an unknown option can be read.
 */
static size_t room_for_opt(const struct job *j)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;
    size_t at = (size_t)((const char *)r.p - j->tail);

    if (job_opt_next(&r, &o) && o.type == OPT_KEY)
        at = (size_t)((const char *)r.p - j->tail);
    return at;
}

/* The newest listener stands first, at `at`, and numbers grow. So mostly one look is enough. */
static bool has_listener(const struct job *j, size_t at, uint64_t seq)
{
    struct wire_reader r = wire_reader_of((struct str){ j->tail + at, j->opts_len - at });
    struct opt o;

    while (job_listeners(j) > 0 && job_opt_next(&r, &o)) {
        if (o.type == OPT_LISTENER && o.seq == seq)
            return true;
        if (o.type == OPT_LISTENER && o.seq < seq)
            break;
    }
    return false;
}

int apply_listen(struct engine *e, const struct listen_record *r)
{
    struct job *j = job_find(e, r->seq);
    size_t at = j ? room_for_opt(j) : 0;

    if (!j || state_is_ended(j->state) || has_listener(j, at, r->listener))
        return 0;
    e->scratch.len = 0;
    opts_put_id(&e->scratch, OPT_LISTENER, (struct job_id){ r->due_ms, 0, r->listener });
    if (engine_scratch(e) < 0)
        return BELFRY_NOMEM;
    return job_regrow(e, j, at, buf_view(&e->scratch));
}

/* Marks the job of this number as one that the job no longer waits for: an option of equal length.
 * False: it does not wait for it. */
static bool tell_after(struct job *j, uint64_t parent)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;

    for (;;) {
        char *at = j->tail + ((const char *)r.p - j->tail);

        if (!job_opt_next(&r, &o))
            return false;
        if (o.type == OPT_AFTER && o.seq == parent) {
            *at = (char)OPT_TOLD;
            return true;
        }
    }
}

int apply_released(struct engine *e, const struct released_record *r)
{
    struct job *j = job_find(e, r->seq);

    if (!j || !job_is_waiting(j))
        return 0;
    job_unplace(e, j); /* a batch that has the job has its options as they were */
    tell_after(j, r->parent);
    j->timer.at_ms = r->at_ms;
    job_place(e, j, JOB_SCHEDULED);
    return 0;
}

int apply_move(struct engine *e, const struct move_record *r)
{
    struct job *j = job_find(e, r->seq);

    if (!j)
        return 0;
    struct trail *t = j->trail || !r->deferred ? j->trail : trail_new(e, j);
    if (r->deferred && !t)
        return BELFRY_NOMEM;
    job_unplace(e, j);
    j->trail = t;
    j->due_ms = r->due_ms;
    j->timer.at_ms = r->at_ms;
    if (t) {
        t->deferred_ms = r->deferred ? r->at_ms : 0;
        t->deferrals += r->deferred;
        /* Another due time is another place in its lane; quiet hours leave it where it is. */
        t->flags = r->deferred && j->ordered ? TRAIL_OWNS_LANE : 0;
        trail_recount(e, t);
    }
    job_place(e, j, JOB_SCHEDULED);
    return 0;
}

int apply_mark(struct engine *e, const struct mark_record *r)
{
    struct job *j = job_find(e, r->seq);
    struct trail *t = j ? j->trail : NULL;

    if (!t || j->state != JOB_LEASED)
        return 0;
    if (!blob_set(&e->pool, &t->pending, r->pending))
        return BELFRY_NOMEM;
    t->flags =
        (uint8_t)((r->flags & ~TRAIL_OWNS_LANE) | (t->flags & (TRAIL_OWNS_LANE | TRAIL_GRACED)));
    t->pending_due_ms = r->pending_due_ms;
    trail_recount(e, t);
    if (!MUTANT(e->o.mutant, PENDING_UNCOUNTED))
        trail_reweigh(e, t);
    return 0;
}

int apply_queue(struct engine *e, const struct queue_record *r)
{
    struct queue *q = queue_obtain(e, r->queue);

    if (!q)
        return BELFRY_NOMEM;
    struct rate old = q->settings->rate;
    size_t before = rated_bytes(&q->rated);
    if (r->settings.rate.count > 0 && rated_settle(e, &q->rated, &r->settings.rate) < 0)
        return BELFRY_NOMEM;
    if (queue_settings_set(e, q, &r->settings) < 0) {
        rated_settle(e, &q->rated, &old);
        return BELFRY_NOMEM;
    }
    rated_settle(e, &q->rated, &q->settings->rate);
    if (q->rated.log && !e->started)
        *q->rated.log = r->taken;
    standing_count(e, q, rated_bytes(&q->rated) - before);
    /* The defaults need no copy: segments with older settings go before this one. */
    queue_noted(e, q, NOTE_SETTINGS, q->settings == &queue_defaults ? 0 : e->segment);
    queue_settle(e, q);
    queue_offer(e, q);
    if (!e->started && q->settings == &queue_defaults)
        queue_drop(e, q); /* it may have been deleted */
    return 0;
}

int apply_series(struct engine *e, const struct series_record *r)
{
    if (!series_valid(r->step)) /* a start is not refused for figures */
        return 0;
    return r->kind == SERIES_ADDS
               ? steps_add(e, r->at_ms, r->step, r->most)
               : step_set(e, r->kind == SERIES_MINUTE ? STEP_MINUTES : STEP_HOURS, r->at_ms,
                          r->step);
}

int apply_tenant(struct engine *e, const struct tenant_record *r)
{
    struct tenant *t = tenant_obtain(e, r->name);

    if (!t)
        return BELFRY_NOMEM;
    if (rated_settle(e, &t->rated, &r->settings.rate) < 0)
        return BELFRY_NOMEM;
    if (t->rated.log && !e->started)
        *t->rated.log = r->taken;
    t->reopened_ms = tenant_is_shut(e, t) && e->started ? e->now_ms : tenant_reopened_ms(e, t);
    t->settings = r->settings;
    if (MUTANT(e->o.mutant, TENANT_PAUSE_LOST) && !e->started)
        t->settings.paused = false;
    gate_arm(e, t);
    /* As with queues, the defaults need no copy. */
    t->segment = tenant_settings_equal(&r->settings, &tenant_defaults) ? 0 : e->segment;
    t->quiet_asked_ms = -1;
    kept_settle(e, t);
    leased_settle(e, t);
    list_each_of (struct queue, q, &t->queues, of_tenant)
        if (q->credit > t->settings.weight)
            q->credit = t->settings.weight;
    tenant_unpark(e, t);
    if (!e->started)
        tenant_settle(e, t); /* it may have been deleted */
    return 0;
}

/* ---- Replay ---- */

static int replay_record(void *arg, enum record_type type, struct str body)
{
    struct engine *e = arg;
    union {
#define MEMBER(NAME, number, codec, kind, type, what) type kind;
        RECORDS(MEMBER)
#undef MEMBER
    } r;

    switch (type) {
#define REPLAY(NAME, number, codec, kind, type, what) \
    case RECORD_##NAME:                               \
        return record_get_##codec(body, &r.kind) ? apply_##kind(e, &r.kind) : BELFRY_CORRUPT;
        RECORDS(REPLAY)
#undef REPLAY
    }
    return BELFRY_CORRUPT;
}

int engine_replay(struct engine *e, struct str commit, uint32_t segment)
{
    struct commit_head head = { 0 };

    assert(!e->started);
    e->segment = segment;
    int err = record_walk(commit, &head, replay_record, e);
    if (head.epoch > e->log.last_epoch)
        e->log.last_epoch = head.epoch;
    return err;
}
