/* SPDX-License-Identifier: MIT */
#include "sim/judge.h"

#include <inttypes.h>
#include <stdio.h>

#include "sim/cover.h"
#include "sim/model_job.h"
#include "sim/text.h"

#define PAGE 7 /* small, so that there are many */

static bool differs(char ret[JUDGE_TEXT], struct job_id id, const char *what, int64_t is,
                    int64_t expected)
{
    snprintf(ret, JUDGE_TEXT, "job %" PRIu64 ": %s is %" PRId64 ", expected %" PRId64, id.seq, what,
             is, expected);
    return false;
}

/* Attempts of the past remember at least so much of an error. */
#define ERROR_KEPT 256

static bool error_is(struct str s, uint32_t number, bool may_be_cut)
{
    char text[TEXT_MAX];
    struct str whole = text_make(TEXT_ERROR, number, text);

    if (number == ERROR_OF_ENGINE)
        return s.len > 0;
    if (whole.len > ERROR_MAX_BYTES)
        whole.len = ERROR_MAX_BYTES;
    if (may_be_cut && s.len >= ERROR_KEPT && s.len < whole.len)
        whole.len = s.len;
    return str_eq(s, whole);
}

/* ---- One job ---- */

#define SAME(what, is, expected)                                                  \
    do {                                                                          \
        if ((is) != (expected))                                                   \
            return differs(ret, v->id, what, (int64_t)(is), (int64_t)(expected)); \
    } while (0)

static bool same_plan(const struct model *m, const struct model_job *job, const struct job_view *v,
                      char ret[JUDGE_TEXT])
{
    int64_t attempts = job->attempts >= 0 ? job->attempts : m->queues[job->queue].attempts;

    SAME("state", v->state, job->state);
    SAME("queue", text_is(v->queue, TEXT_QUEUE, job->queue), true);
    SAME("payload", text_is(v->payload, TEXT_PAYLOAD, job->payload), true);
    SAME("key", text_is(v->key, TEXT_KEY, job->key), true);
    SAME("priority", v->priority, job->priority);
    SAME("created", v->created_ms, job->created_ms);
    SAME("due", v->due_ms, job->due_ms);
    if (!model_ended(job)) {
        SAME("at", v->at_ms, job->at_ms);
        SAME("stalls", v->stalls, job->stalls);
    }
    SAME("attempt", v->attempt, job->attempt);
    SAME("attempts", v->attempts, attempts);
    SAME("token", v->token, job->token);
    return true;
}

static bool same_history(const struct model_job *job, const struct job_view *v,
                         char ret[JUDGE_TEXT])
{
    SAME("number of attempts remembered", v->history_count, job->history_count);
    for (size_t i = 0; i < job->history_count; i++) {
        const struct model_attempt *a = &job->history[i];
        const struct attempt *b = &v->history[i];

        SAME("number of an attempt", b->number, a->number);
        SAME("outcome of an attempt", b->outcome, a->outcome);
        SAME("start of an attempt", b->start_ms, a->start_ms);
        SAME("end of an attempt", b->end_ms, a->end_ms);
        SAME("lateness of an attempt", b->late_ms, a->late_ms);
        SAME("worker of an attempt", text_is(b->worker, TEXT_WORKER, a->worker), true);
        SAME("error of an attempt", error_is(b->error, a->error, true), true);
    }
    return true;
}

static bool same_lease(const struct model_job *job, const struct job_view *v, char ret[JUDGE_TEXT])
{
    SAME("lease", v->lease_ms, job->length_ms);
    SAME("until", v->until_ms, job->until_ms);
    SAME("worker", text_is(v->worker, TEXT_WORKER, job->worker), true);
    SAME("progress", v->progress, job->progress);
    SAME("note", text_is(v->note, TEXT_NOTE, job->note), true);
    SAME("cancelling", v->cancelling, job->cancelling);
    SAME("replacing", v->replacing, job->replacing);
    return true;
}

bool judge_job(const struct model *m, const struct model_job *job, const struct job_view *v,
               char ret[JUDGE_TEXT])
{
    if (!same_plan(m, job, v, ret) || !same_history(job, v, ret))
        return false;
    if (job->state == JOB_LEASED && !same_lease(job, v, ret))
        return false;
    if (job->state != JOB_LEASED)
        SAME("cancelling or replacing", v->cancelling || v->replacing, false);
    if (model_ended(job)) {
        SAME("end", v->ended_ms, job->ended_ms);
        SAME("moment to be forgotten", v->keep_ms,
             job->held && job->hold_ms > job->keep_ms ? job->hold_ms : job->keep_ms);
    }
    SAME("result", text_is(v->result, TEXT_RESULT, job->result), true);
    SAME("error", error_is(v->error, job->error, false), true);
    return true;
}

/* ---- Gaps ---- */

static bool adopt_at(struct model_job *job, const struct job_view *v, char ret[JUDGE_TEXT])
{
    if (v->at_ms < job->at_low || v->at_ms > job->at_high) {
        snprintf(ret, JUDGE_TEXT,
                 "job %" PRIu64 ": its retry is at %" PRId64 ", not within %" PRId64 "..%" PRId64,
                 v->id.seq, v->at_ms, job->at_low, job->at_high);
        return false;
    }
    job->at_ms = v->at_ms;
    job->at_open = false;
    return true;
}

/* Where history has little room its oldest goes when it must. */
static void adopt_trimmed(const struct engine *e, struct model *m)
{
    for (size_t i = 0; i < m->count;) {
        struct model_job *job = &m->jobs[i];
        struct job_view v;

        if (model_ended(job) && job->state != JOB_DEAD && !job->held &&
            engine_get(e, job->id, &v)) {
            cover_event(EVENT_TRIMMED);
            model_forget(m, i);
        } else {
            i++;
        }
    }
}

bool judge_adopt(const struct engine *e, struct model *m, char ret[JUDGE_TEXT])
{
    bool filled = false;

    if (m->forgetful)
        adopt_trimmed(e, m);
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        struct job_view v;

        if (!job->at_open)
            continue;
        if (engine_get(e, job->id, &v)) {
            snprintf(ret, JUDGE_TEXT, "job %" PRIu64 " is lost", job->id.seq);
            return false;
        }
        if (!adopt_at(job, &v, ret))
            return false;
        filled = true;
    }
    if (filled)
        model_fire(m);
    return true;
}

/* ---- Everything ---- */

struct walk {
    const struct model *m;
    uint64_t seen;
    bool same;
    char *ret;
};

static int compare_one(void *arg, const struct job_view *v)
{
    struct walk *w = arg;
    const struct model_job *job = model_find(w->m, v->id);

    w->seen++;
    if (!job)
        snprintf(w->ret, JUDGE_TEXT, "job %" PRIu64 " (%s) should not be there", v->id.seq,
                 job_state_name(v->state));
    w->same = job && judge_job(w->m, job, v, w->ret);
    return w->same ? 0 : 1;
}

static bool same_jobs(const struct engine *e, const struct model *m, char ret[JUDGE_TEXT])
{
    struct list_filter all = { .state = -1, .to_ms = INT64_MAX, .limit = PAGE };
    struct list_cursor cursor = { 0 };
    struct walk w = { m, 0, true, ret };

    do {
        int err = engine_list(e, &all, compare_one, &w, &cursor);
        if (w.same && err < 0) {
            snprintf(ret, JUDGE_TEXT, "LIST answers %s", error_name(err));
            return false;
        }
    } while (w.same && cursor.more);
    if (!w.same || w.seen == m->count)
        return w.same;
    for (size_t i = 0; i < m->count; i++) {
        struct job_view v;
        if (engine_get(e, m->jobs[i].id, &v)) {
            snprintf(ret, JUDGE_TEXT, "job %" PRIu64 " (%s) is lost", m->jobs[i].id.seq,
                     job_state_name(m->jobs[i].state));
            return false;
        }
    }
    snprintf(ret, JUDGE_TEXT, "LIST gives %" PRIu64 " jobs, expected %zu", w.seen, m->count);
    return false;
}

static bool same_keys(const struct engine *e, const struct model *m, unsigned q, struct str name,
                      char ret[JUDGE_TEXT])
{
    for (uint32_t k = 1; k <= MODEL_KEYS; k++) {
        char text[TEXT_MAX];
        struct job_id id = { 0 };
        const struct model_job *job = model_find_key(m, q, k);
        int err = engine_find_key(e, name, text_make(TEXT_KEY, k, text), &id);

        if (err != (job ? 0 : BELFRY_NOTFOUND) || (job && id.seq != job->id.seq)) {
            snprintf(ret, JUDGE_TEXT, "key k%u of q%u: job %" PRIu64 ", expected %" PRIu64, k, q,
                     err ? 0 : id.seq, job ? job->id.seq : 0);
            return false;
        }
    }
    return true;
}

static bool same_settings(const struct model_queue *q, const struct queue_settings *s)
{
    return q->paused == s->paused && q->lease_ms == s->lease_ms && q->attempts == s->attempts &&
           strcmp(backoffs_text(q->backoff), s->backoff) == 0 && q->retain_ms == s->retain_ms &&
           q->retain_dead_ms == s->retain_dead_ms && q->key_hold_ms == s->key_hold_ms &&
           q->past_grace_ms == s->past_grace_ms;
}

static bool same_queue(const struct engine *e, const struct model *m, unsigned q,
                       char ret[JUDGE_TEXT])
{
    char text[TEXT_MAX];
    struct queue_view v;
    uint64_t none[JOB_STATE_COUNT] = { 0 };
    struct str name = text_make(TEXT_QUEUE, q, text);

    /* A queue that nobody uses may be forgotten. */
    if (engine_queue_get(e, name, &v))
        v = (struct queue_view){ .settings = &queue_defaults, .jobs = none };
    if (!same_settings(&m->queues[q], v.settings)) {
        snprintf(ret, JUDGE_TEXT, "settings of q%u differ", q);
        return false;
    }
    if (v.counters && memcmp(v.counters, &m->queues[q].counters, sizeof(struct counters))) {
        snprintf(ret, JUDGE_TEXT, "counters of q%u differ", q);
        return false;
    }
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        uint64_t expected = model_count(m, q, (enum job_state)s);
        if (v.jobs[s] != expected) {
            snprintf(ret, JUDGE_TEXT, "q%u counts %" PRIu64 " jobs %s, expected %" PRIu64, q,
                     v.jobs[s], job_state_name((enum job_state)s), expected);
            return false;
        }
    }
    return same_keys(e, m, q, name, ret);
}

struct names {
    uint64_t count;
    bool sorted;
    char last[TEXT_MAX];
};

static int note_name(void *arg, const struct queue_view *v)
{
    struct names *n = arg;
    char name[TEXT_MAX];

    snprintf(name, sizeof(name), "%.*s", STR_ARG(v->name));
    n->sorted = n->sorted && strcmp(n->last, name) < 0;
    memcpy(n->last, name, sizeof(name));
    n->count++;
    return 0;
}

static bool same_names(const struct engine *e, uint64_t expected, char ret[JUDGE_TEXT])
{
    struct names n = { .sorted = true };

    if (engine_queues(e, STR(""), SIZE_MAX, note_name, &n) == 0 && n.sorted && n.count == expected)
        return true;
    snprintf(ret, JUDGE_TEXT, "QUEUES gives %" PRIu64 " names%s, expected %" PRIu64, n.count,
             n.sorted ? "" : " out of order", expected);
    return false;
}

static bool same_stats(const struct engine *e, const struct model *m, char ret[JUDGE_TEXT])
{
    struct engine_stats s;
    uint64_t picked = 0, jobs = 0;

    engine_stats(e, &s);
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        picked += m->queues[q].counters.picked;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        jobs += s.jobs[i];
    if (jobs == m->count && s.counters.picked == picked && s.lateness->count == picked)
        return same_names(e, s.queues, ret);
    snprintf(ret, JUDGE_TEXT,
             "there are %" PRIu64 " jobs, expected %zu; %" PRIu64 " leases, expected %" PRIu64,
             jobs, m->count, s.counters.picked, picked);
    return false;
}

bool judge_same(const struct engine *e, const struct model *m, char ret[JUDGE_TEXT])
{
    if (engine_now(e) != m->now_ms) {
        snprintf(ret, JUDGE_TEXT, "the engine's time is %" PRId64 ", expected %" PRId64,
                 engine_now(e), m->now_ms);
        return false;
    }
    if (!same_jobs(e, m, ret) || !same_stats(e, m, ret))
        return false;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (!same_queue(e, m, q, ret))
            return false;
    return true;
}

/* ---- A clock set back ---- */

static bool has_grave(const struct model *m, const struct model_job *job)
{
    for (size_t i = 0; i < m->graveyard->count; i++) {
        const struct model_job *dead = &m->graveyard->graves[i].job;
        if (dead->id.seq == job->id.seq && dead->ended_ms == job->ended_ms)
            return true;
    }
    return false;
}

void judge_bury(const struct engine *e, struct model *m)
{
    for (size_t i = 0; i < m->count;) {
        struct job_view v;
        if (model_ended(&m->jobs[i]) && has_grave(m, &m->jobs[i]) &&
            engine_get(e, m->jobs[i].id, &v))
            model_forget(m, i);
        else
            i++;
    }
}

size_t judge_resurrect(const struct engine *e, struct model *m)
{
    struct job_view v;
    size_t n = 0;

    for (size_t i = m->graveyard->count; i-- > 0;) { /* newest first: one may have died twice */
        const struct model_grave *g = &m->graveyard->graves[i];
        if (g->changes > m->changes ||
            (g->job.keep_ms <= m->now_ms && g->job.hold_ms <= m->now_ms) ||
            model_find(m, g->job.id) || engine_get(e, g->job.id, &v))
            continue;
        *model_add(m) = g->job;
        cover_event(EVENT_REMEMBERED);
        n++;
    }
    /* A hold that was over may be on again, unless another job has taken the key. */
    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];
        char queue[TEXT_MAX], key[TEXT_MAX];
        struct job_id id;

        if (model_ended(job) && job->key && !job->held && job->hold_ms > m->now_ms &&
            !engine_find_key(e, text_make(TEXT_QUEUE, job->queue, queue),
                             text_make(TEXT_KEY, job->key, key), &id) &&
            id.seq == job->id.seq)
            job->held = true;
    }
    return n;
}
