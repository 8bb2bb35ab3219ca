/* SPDX-License-Identifier: MIT */
/* What the verbs promise. */
#include "base/error.h"
#include "base/time.h"
#include "sim/cover.h"
#include "sim/model_job.h"

void model_changed(struct model *m, struct model_job *job)
{
    job->fact = ++m->changes;
    job->moved = job->placed = m->steps;
    job->calm_ms = m->calm_ms;
    job->calm_step = m->calm_step;
}

static void set_due(struct model_job *job, int64_t due_ms)
{
    job->dues += job->due_ms != due_ms;
    job->due_ms = due_ms;
}

int64_t model_at_of(const struct model *m, uint32_t order, int64_t due_ms)
{
    return due_ms > m->now_ms || order ? due_ms : m->now_ms;
}

/* ---- Schedule ---- */

static int schedule_on(struct model *m, const struct model_spec *spec, struct model_job *job,
                       enum schedule_outcome *ret_outcome)
{
    struct counters *counters = &m->queues[spec->queue].counters;
    if (spec->if_exists == IFEXISTS_REJECT)
        return BELFRY_KEYEXISTS;
    *ret_outcome = SCHEDULE_KEPT;
    if (spec->if_exists == IFEXISTS_KEEP || job->held) {
        if (job->held)
            cover_event(EVENT_KEPT_HELD);
        counters->kept++;
        return 0;
    }
    *ret_outcome = SCHEDULE_REPLACED;
    counters->replaced++;
    int64_t due = spec->due_ms < 0 ? m->now_ms : spec->due_ms;
    model_changed(m, job);
    if (job->state == JOB_LEASED) {
        job->replacing = true;
        job->next_payload = spec->payload;
        job->next_due_ms = due;
        return 0;
    }
    model_lose_turn(m, job->queue);
    job->deferred_ms = -1;
    job->payload = spec->payload;
    set_due(job, due);
    job->holding = false;
    job->attempt = job->stalls = 0;
    if (job->state != JOB_WAITING)
        job->state = JOB_SCHEDULED;
    job->at_ms = job->state == JOB_WAITING ? due : model_at_of(m, job->order, due);
    job->retried = false;
    model_fire(m);
    return 0;
}

int model_schedule(struct model *m, const struct model_spec *spec, struct job_id *ret_id,
                   enum schedule_outcome *ret_outcome)
{
    struct model_job *job;
    int64_t due = spec->due_ms < 0 ? m->now_ms : spec->due_ms;
    int64_t grace = m->queues[spec->queue].past_grace_ms;
    if (grace >= 0 && due < m->now_ms - grace)
        return cover_event(EVENT_PAST), BELFRY_PAST;
    if (spec->key && (job = model_find_key(m, spec->queue, spec->key))) {
        *ret_id = job->id;
        return schedule_on(m, spec, job, ret_outcome);
    }
    if (m->refusing)
        return BELFRY_FULL;
    int err = model_after_check(m, spec);
    if (err)
        return err;
    const struct tenant_settings *tenant = &m->tenants[tenants_of(spec->queue)];
    if (tenant->max_pending > 0 &&
        model_pending(m, tenants_of(spec->queue)) >= (uint64_t)tenant->max_pending)
        return cover_event(EVENT_LIMIT), BELFRY_LIMIT;

    m->queues[spec->queue].exists = true;
    job = model_add(m);
    *ret_outcome = SCHEDULE_CREATED;
    job->queue = spec->queue;
    job->key = spec->key;
    job->order = spec->order;
    job->payload = spec->payload;
    job->priority = spec->priority;
    job->attempts = spec->attempts;
    job->backoff = spec->backoff;
    job->lease_ms = spec->lease_ms;
    job->retain_ms = spec->retain_ms;
    job->expire_ms = spec->expire_ms;
    job->key_hold_ms = spec->key_hold_ms;
    job->labels = spec->labels;
    job->notify = spec->notify;
    job->passing = spec->passing;
    job->created_ms = m->now_ms;
    job->due_ms = due;
    job->at_ms = model_at_of(m, job->order, due);
    job->progress = -1;
    job->state = due <= m->now_ms ? JOB_READY : JOB_SCHEDULED;
    model_changed(m, job);
    m->queues[spec->queue].counters.scheduled++;
    model_after_begin(m, spec);
    return 0;
}

/* ---- Attempts ---- */

void model_lease(struct model *m, struct model_job *job, int64_t for_ms, uint32_t worker,
                 uint64_t token)
{
    int64_t length = for_ms >= 0          ? for_ms
                     : job->lease_ms >= 0 ? job->lease_ms
                                          : m->queues[job->queue].lease_ms;
    job->state = JOB_LEASED;
    job->holding = job->order != 0;
    job->deferred_ms = -1;
    job->attempt++;
    job->token = token;
    job->worker = worker;
    job->start_ms = m->now_ms;
    job->late_ms = m->now_ms - job->at_ms;
    job->length_ms = length;
    job->graced = false;
    job->until_ms = m->now_ms + length;
    job->end_mono_ms = m->mono_ms + length;
    job->progress = -1;
    job->note = 0;
    job->cancelling = job->replacing = false;
    job->moved = m->steps;
    m->leases++;
    m->queues[job->queue].counters.picked++;
    unsigned t = tenants_of(job->queue);
    if (!job->passing && job->at_ms < model_reopened(m, t)) {
        m->queues[job->queue].counters.deferred++;
        cover_event(EVENT_REOPENED);
    }
    m->rated += m->queues[job->queue].rate.count > 0 || m->tenants[t].rate.count > 0;
    takes_add(&m->queue_rated[job->queue], &m->queues[job->queue].rate, m->now_ms, m->mono_ms);
    takes_add(&m->tenant_rated[t], &m->tenants[t].rate, m->now_ms, m->mono_ms);
}

/* Leaves out one attempt, so that at most `first` of the oldest stay. */
static void attempt_leave_out(struct model_job *job, size_t first)
{
    if (job->history_left_out == 0)
        job->history_first = first;
    size_t i = job->history_first > first ? --job->history_first : job->history_first;
    job->history_count--;
    memmove(job->history + i, job->history + i + 1,
            (job->history_count - i) * sizeof(job->history[0]));
    job->history_left_out++;
    cover_event(EVENT_ATTEMPT_LEFT_OUT);
}

static void attempt_over(struct model *m, struct model_job *job, unsigned outcome, uint32_t error)
{
    while (job->history_count >= m->attempts_kept)
        attempt_leave_out(job, m->attempts_kept / 2 < 10 ? m->attempts_kept / 2 : 10);
    job->history[job->history_count++] = (struct model_attempt){
        .number = job->attempt,
        .outcome = outcome,
        .start_ms = job->start_ms,
        .end_ms = m->now_ms,
        .late_ms = job->late_ms,
        .worker = job->worker,
        .error = error,
    };
    if (error)
        job->error = error;
    model_changed(m, job);
}

void model_end(struct model *m, struct model_job *job, enum job_state state, uint32_t result)
{
    const struct model_queue *q = &m->queues[job->queue];
    int64_t retain = job->retain_ms >= 0 ? job->retain_ms : q->retain_ms;
    if (state == JOB_DEAD)
        retain = q->retain_dead_ms;
    job->state = state;
    job->holding = false;
    job->result = result;
    job->cancelling = job->replacing = false;
    job->ended_ms = m->now_ms;
    job->keep_ms = m->now_ms + retain;
    job->hold_ms = 0;
    int64_t hold = state == JOB_DONE ? q->key_hold_ms : 0;
    if (state != JOB_EXPIRED && job->key_hold_ms > hold)
        hold = job->key_hold_ms;
    if (job->key && hold > 0) {
        job->hold_ms = m->now_ms + hold;
        job->held = true;
    }
    if (state == JOB_DEAD)
        m->queues[job->queue].counters.dead++;
    if (state == JOB_CANCELLED)
        m->queues[job->queue].counters.cancelled++;
    if (state == JOB_EXPIRED) {
        m->queues[job->queue].counters.expired++;
        cover_event(EVENT_EXPIRED);
        if (job->after_count > 0)
            cover_event(EVENT_EXPIRED_WAITING);
    }
    job->telling = job->listeners > 0;
    model_changed(m, job);
    model_after_ended(m, job);
    model_recur_ended(m, job, true);
}

void model_again(struct model *m, struct model_job *job, int64_t due_ms, int64_t at_ms)
{
    job->state = JOB_SCHEDULED;
    set_due(job, due_ms);
    job->at_ms = at_ms;
    job->retried = false;
    model_changed(m, job);
}

/* What the end of an attempt brings before its own outcome counts: true if that was it. */
static bool marked(struct model *m, struct model_job *job)
{
    if (job->replacing)
        cover_event(job->cancelling ? EVENT_CANCELLED_REPLACED : EVENT_REPLACED_RUNNING);
    else if (job->cancelling)
        cover_event(EVENT_CANCELLED_RUNNING);
    if (!job->replacing && job->cancelling) {
        model_end(m, job, JOB_CANCELLED, 0);
        return true;
    }
    if (!job->replacing)
        return false;
    job->cancelling = job->replacing = false;
    job->payload = job->next_payload;
    job->attempt = job->stalls = 0;
    job->holding = false;
    model_again(m, job, job->next_due_ms, model_at_of(m, job->order, job->next_due_ms));
    return true;
}

static void retry(struct model *m, struct model_job *job)
{
    unsigned backoff = job->backoff ? job->backoff : m->queues[job->queue].backoff;
    backoffs_range(backoff, job->attempt, &job->at_low, &job->at_high);
    job->at_low += m->now_ms;
    job->at_high += m->now_ms;
    job->at_open = true;
    model_again(m, job, job->due_ms, job->at_high);
    job->retried = true;
    m->queues[job->queue].counters.retried++;
}

static bool exhausted(const struct model *m, const struct model_job *job)
{
    int64_t attempts = job->attempts >= 0 ? job->attempts : m->queues[job->queue].attempts;
    return attempts > 0 && job->attempt >= attempts;
}

/* Does not fire: the caller walks the jobs. */
void model_stall(struct model *m, struct model_job *job)
{
    cover_event(EVENT_STALL);
    m->queues[job->queue].counters.stalled++;
    job->stalls++;
    attempt_over(m, job, ATTEMPT_STALLED, ERROR_OF_ENGINE);
    if (marked(m, job))
        return;
    if (exhausted(m, job))
        cover_event(EVENT_EXHAUSTED);
    else if (job->stalls >= POISON_STALLS)
        cover_event(EVENT_POISON);
    if (job->stalls >= POISON_STALLS || exhausted(m, job))
        model_end(m, job, JOB_DEAD, 0);
    else
        retry(m, job);
}

/* The job if this token is its current lease. */
static int leased(const struct model *m, struct job_id id, uint64_t token, struct model_job **ret)
{
    *ret = model_seek(m, id);
    if (!*ret)
        return BELFRY_NOTFOUND;
    return (*ret)->state == JOB_LEASED && (*ret)->token == token ? 0 : BELFRY_STALE;
}

int model_complete(struct model *m, struct job_id id, uint64_t token, uint32_t result,
                   int64_t again_ms)
{
    struct model_job *job;
    int err = leased(m, id, token, &job);
    if (err)
        return err;
    m->queues[job->queue].counters.succeeded++;
    bool once_more = again_ms >= 0 && !job->cancelling && !job->replacing;
    attempt_over(m, job, once_more ? ATTEMPT_AGAIN : ATTEMPT_DONE, 0);
    if (once_more) {
        job->attempt = job->stalls = 0;
        job->holding = false;
        model_again(m, job, m->now_ms + again_ms, m->now_ms + again_ms);
    } else if (job->replacing) {
        marked(m, job);
    } else {
        model_end(m, job, job->cancelling && again_ms >= 0 ? JOB_CANCELLED : JOB_DONE, result);
    }
    model_fire(m);
    return 0;
}

int model_fail(struct model *m, struct job_id id, uint64_t token, uint32_t error, int64_t retry_ms,
               bool final, enum job_state *ret_state)
{
    struct model_job *job;
    int err = leased(m, id, token, &job);
    if (err)
        return err;
    m->queues[job->queue].counters.failed++;
    attempt_over(m, job, ATTEMPT_FAILED, error);
    job->stalls = 0;
    if (!marked(m, job)) {
        if (final || exhausted(m, job)) {
            model_end(m, job, JOB_DEAD, 0);
        } else if (retry_ms >= 0) {
            model_again(m, job, job->due_ms, m->now_ms + retry_ms);
            job->retried = true;
            m->queues[job->queue].counters.retried++;
        } else {
            retry(m, job);
        }
    }
    *ret_state = job->state;
    model_fire(m);
    return 0;
}

int model_extend(struct model *m, struct job_id id, uint64_t token, int64_t for_ms,
                 int64_t progress, bool has_note, uint32_t note)
{
    struct model_job *job;
    int err = leased(m, id, token, &job);
    if (err)
        return err;
    if (for_ms >= 0)
        job->length_ms = for_ms;
    job->until_ms = m->now_ms + job->length_ms;
    job->graced = false;
    job->end_mono_ms = m->mono_ms + job->length_ms;
    if (progress >= 0)
        job->progress = progress;
    if (has_note)
        job->note = note;
    model_changed(m, job);
    return 0;
}

int model_release(struct model *m, struct job_id id, uint64_t token, int64_t in_ms)
{
    struct model_job *job;
    int err = leased(m, id, token, &job);
    if (err)
        return err;
    m->queues[job->queue].counters.released++;
    attempt_over(m, job, ATTEMPT_RELEASED, 0);
    if (!marked(m, job)) {
        job->attempt--;
        model_again(m, job, job->due_ms, m->now_ms + in_ms);
        job->retried = true;
    }
    model_fire(m);
    return 0;
}

/* ---- Control ---- */

int model_cancel(struct model *m, struct job_id id)
{
    struct model_job *job = model_seek(m, id);
    if (!job)
        return CANCEL_NOTFOUND;
    if (model_ended(job))
        return BELFRY_STATE;
    if (job->state == JOB_LEASED) {
        if (!job->cancelling || job->replacing)
            model_changed(m, job);
        job->cancelling = true;
        job->replacing = false;
        return CANCEL_RUNNING;
    }
    model_end(m, job, JOB_CANCELLED, 0);
    model_fire(m);
    return CANCEL_CANCELLED;
}

int model_delete(struct model *m, struct job_id id)
{
    struct model_job *job = model_seek(m, id);
    if (!job)
        return BELFRY_NOTFOUND;
    if (model_is_over(m, job)) /* that is noted first */
        model_end(m, job, JOB_EXPIRED, 0);
    if (job->state == JOB_LEASED || (model_ended(job) && job->telling))
        return BELFRY_STATE;
    if (!model_ended(job))
        model_end(m, job, JOB_CANCELLED, 0);
    job->keep_ms = m->now_ms;
    job->hold_ms = 0;
    job->held = false;
    m->changes++;
    if (!job->telling)
        *job = m->jobs[--m->count];
    model_fire(m);
    return 0;
}

int model_reschedule(struct model *m, struct job_id id, int64_t due_ms)
{
    struct model_job *job = model_seek(m, id);
    if (!job)
        return BELFRY_NOTFOUND;
    if (job->state != JOB_SCHEDULED && job->state != JOB_READY && job->state != JOB_WAITING)
        return BELFRY_STATE;
    if (job->state == JOB_WAITING) {
        set_due(job, due_ms);
        job->at_ms = due_ms;
        model_changed(m, job);
        return 0;
    }
    model_lose_turn(m, job->queue); /* it may have been the last one, and be ready again */
    job->holding = false;
    job->deferred_ms = -1;
    model_again(m, job, due_ms, model_at_of(m, job->order, due_ms));
    model_fire(m);
    return 0;
}

struct model_job *model_rival(const struct model *m, const struct model_job *job)
{
    struct model_job *rival = job->key ? model_find_key(m, job->queue, job->key) : NULL;
    return rival != job ? rival : NULL;
}

int model_redrive(struct model *m, struct job_id id)
{
    struct model_job *job = model_seek(m, id);
    if (!job)
        return BELFRY_NOTFOUND;
    if (job->state != JOB_DEAD)
        return BELFRY_STATE;
    if (model_rival(m, job))
        return cover_event(EVENT_REDRIVE_TAKEN), BELFRY_KEYEXISTS;
    cover_event(job->held ? EVENT_REDRIVEN_HELD : EVENT_REDRIVEN);
    job->held = false;
    job->hold_ms = 0;
    job->attempt = job->stalls = 0;
    model_again(m, job, m->now_ms, m->now_ms);
    model_after_revived(m, job);
    model_fire(m);
    return 0;
}

void model_disturb(struct model *m, unsigned queue)
{
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        if (job->queue != queue || job->state != JOB_DEAD)
            continue;
        job->moved = m->steps;
        struct model_job *rival = model_rival(m, job);
        if (rival)
            rival->placed = rival->moved = m->steps;
    }
}

struct model_job *model_redrivable(const struct model *m, unsigned queue)
{
    struct model_job *oldest = NULL;
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        if (job->queue != queue || job->state != JOB_DEAD || job->telling || model_rival(m, job))
            continue;
        if (!oldest || job->ended_ms < oldest->ended_ms)
            oldest = job;
    }
    return oldest;
}

/* ---- Queues ---- */

void model_queue_set(struct model *m, unsigned queue, const struct model_queue *s, unsigned fields)
{
    struct model_queue *q = &m->queues[queue];
    struct model_queue before = *q;
    q->exists = true;
    if (fields & 1u << QUEUE_PAUSED)
        q->paused = s->paused;
    if (fields & 1u << QUEUE_LEASE)
        q->lease_ms = s->lease_ms;
    if (fields & 1u << QUEUE_ATTEMPTS)
        q->attempts = s->attempts;
    if (fields & 1u << QUEUE_BACKOFF)
        q->backoff = s->backoff;
    if (fields & 1u << QUEUE_RETAIN)
        q->retain_ms = s->retain_ms;
    if (fields & 1u << QUEUE_RETAIN_DEAD)
        q->retain_dead_ms = s->retain_dead_ms;
    if (fields & 1u << QUEUE_KEY_HOLD)
        q->key_hold_ms = s->key_hold_ms;
    if (fields & 1u << QUEUE_PAST_GRACE)
        q->past_grace_ms = s->past_grace_ms;
    if (fields & 1u << QUEUE_MAX_RUNNING)
        q->max_running = s->max_running;
    if (fields & (1u << QUEUE_RATE | 1u << QUEUE_BURST)) {
        takes_change(&m->queue_rated[queue], &q->rate);
        model_rate_set(&q->rate, &s->rate, fields & 1u << QUEUE_RATE, fields & 1u << QUEUE_BURST);
    }
    m->changes += memcmp(&before, q, sizeof(before)) != 0;
}
