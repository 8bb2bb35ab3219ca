/* SPDX-License-Identifier: MIT */
#include "sim/judge.h"

#include <inttypes.h>
#include <stdio.h>

#include "engine/cold.h"
#include "record/attempts.h"
#include "sim/cover.h"
#include "sim/labels.h"
#include "sim/look.h"
#include "sim/model_job.h"
#include "sim/text.h"
#include "sim/trace.h"

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

    SAME("state", v->state, model_shown(m, job));
    SAME("expiry", v->expires_ms, model_expires(job));
    SAME("labels", labels_are(v, job->labels), true);
    SAME("tenant", text_is(v->tenant, TEXT_TENANT, tenants_of(job->queue)), true);
    SAME("queue", text_is(v->queue, TEXT_KIND, tenants_kind(job->queue)), true);
    SAME("payload", text_is(v->payload, TEXT_PAYLOAD, job->payload), true);
    SAME("key", text_is(v->key, TEXT_KEY, job->key), true);
    SAME("order", text_is(v->order, TEXT_ORDER, job->order), true);
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
    SAME("notify", v->notify, job->notify);
    SAME("gates", v->passing, job->passing);
    SAME("number of deferrals", v->deferrals, job->deferrals);
    if (!model_ended(job) && !model_is_over(m, job))
        SAME("moment it is deferred to", v->deferred_ms, job->deferred_ms);
    SAME("recurrence", text_is(v->recurrence, TEXT_RECURRENCE, job->recurrence), true);
    if (job->recurrence)
        SAME("nominal time", v->nominal_ms, job->nominal_ms);
    return true;
}

static bool same_parents(const struct model_job *job, const struct job_view *v,
                         char ret[JUDGE_TEXT])
{
    SAME("number of jobs waited for", v->after_count, job->after_count);
    for (size_t i = 0; i < job->after_count; i++) {
        bool named = false;

        for (size_t k = 0; k < v->after_count; k++)
            named = named || (v->after[k].seq == job->after[i].id.seq &&
                              v->after[k].due_ms == job->after[i].id.due_ms);
        SAME("a job waited for", named, true);
    }
    return true;
}

static bool same_history(const struct model_job *job, const struct job_view *v,
                         char ret[JUDGE_TEXT])
{
    struct wire_reader r = attempts_reader(v->history);
    struct attempt b;

    SAME("number of attempts remembered", attempts_count(v->history), job->history_count);
    SAME("number of attempts left out", attempts_left_out(v->history), job->history_left_out);
    for (size_t i = 0; i < job->history_count; i++) {
        const struct model_attempt *a = &job->history[i];

        SAME("an attempt", attempts_next(&r, &b), true);
        SAME("number of an attempt", b.number, a->number);
        SAME("outcome of an attempt", b.outcome, a->outcome);
        SAME("start of an attempt", b.start_ms, a->start_ms);
        SAME("end of an attempt", b.end_ms, a->end_ms);
        SAME("lateness of an attempt", b.late_ms, a->late_ms);
        SAME("worker of an attempt", text_is(b.worker, TEXT_WORKER, a->worker), true);
        SAME("error of an attempt", error_is(b.error, a->error, true), true);
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
    if (!same_plan(m, job, v, ret) || !same_parents(job, v, ret) || !same_history(job, v, ret))
        return false;
    if (job->state == JOB_LEASED && !same_lease(job, v, ret))
        return false;
    if (job->state != JOB_LEASED)
        SAME("cancelling or replacing", v->cancelling || v->replacing, false);
    if (model_ended(job)) {
        SAME("end", v->ended_ms, job->ended_ms);
        /* On disk a hold that is over may begin again, by a clock that is set back. */
        if (!m->cold || v->keep_ms != job->hold_ms || job->hold_ms < job->keep_ms)
            SAME("moment to be forgotten", v->keep_ms,
                 job->held && job->hold_ms > job->keep_ms ? job->hold_ms : job->keep_ms);
    }
    SAME("log", model_log_is(&job->log, v->log), true);
    SAME("result", text_is(v->result, TEXT_RESULT, job->result), true);
    SAME("error", error_is(v->error, job->error, false), true);
    return true;
}

/* ---- Everything ---- */

struct walk {
    const struct model *m;
    uint64_t seen;
    bool same;
    char *ret;
    struct listed *listed; /* by tenant */
};

static void note_bytes(struct walk *w, const struct model_job *job, const struct job_view *v)
{
    struct listed *l = &w->listed[tenants_of(job->queue)];

    l->jobs++;
    l->bytes += v->kept_bytes;
    w->same = w->same && judge_bytes_of(job, v, w->ret);
}

static int compare_one(void *arg, const struct job_view *v)
{
    struct walk *w = arg;
    const struct model_job *job = model_find(w->m, v->id);

    if (!job && model_ghost(w->m, v->id)) {
        w->same = judge_job(w->m, model_ghost(w->m, v->id), v, w->ret);
        note_bytes(w, model_ghost(w->m, v->id), v);
        return w->same ? 0 : 1;
    }
    w->seen++;
    if (!job)
        snprintf(w->ret, JUDGE_TEXT, "job %" PRIu64 " (%s) should not be there", v->id.seq,
                 job_state_name(v->state));
    w->same = job && judge_job(w->m, job, v, w->ret);
    if (job)
        note_bytes(w, job, v);
    return w->same ? 0 : 1;
}

static bool same_jobs(struct partition *p, const struct model *m, struct listed *listed,
                      char ret[JUDGE_TEXT])
{
    struct list_filter all = { .state = -1, .to_ms = INT64_MAX, .limit = PAGE };
    struct list_cursor cursor = { 0 };
    struct look look = { .partition = p };
    struct walk w = { m, 0, true, ret, listed };
    int err;

    do
        err = look_list(&look, &all, compare_one, &w, &cursor);
    while (w.same && err >= 0 && cursor.more);
    look_end(&look);
    if (w.same && err < 0) {
        snprintf(ret, JUDGE_TEXT, "LIST answers %s", error_name(err));
        return false;
    }
    if (!w.same || w.seen == m->count)
        return w.same;
    for (size_t i = 0; i < m->count; i++) {
        if (!look_has(p, m->jobs[i].id)) {
            snprintf(ret, JUDGE_TEXT, "job %" PRIu64 " (%s) is lost", m->jobs[i].id.seq,
                     job_state_name(m->jobs[i].state));
            return false;
        }
    }
    snprintf(ret, JUDGE_TEXT, "LIST gives %" PRIu64 " jobs, expected %zu", w.seen, m->count);
    return false;
}

static bool same_keys(struct partition *p, const struct model *m, unsigned q, struct str name,
                      char ret[JUDGE_TEXT])
{
    struct look look = { .partition = p };

    for (uint32_t i = 0; i < MODEL_KEYS * (MODEL_ORDERS + 1); i++) {
        char key[TEXT_MAX], order[TEXT_MAX];
        uint32_t k = i / MODEL_KEYS * KEYS_OF_ORDER + 1 + i % MODEL_KEYS;
        struct job_id id = { 0 };
        const struct model_job *job = model_find_key(m, q, k);
        int err = look_key(&look, name, text_make(TEXT_ORDER, k / KEYS_OF_ORDER, order),
                           text_make(TEXT_KEY, k, key), &id);

        look_end(&look);
        if (job && model_is_over(m, job))
            job = NULL;
        if (!err && !job && model_may_hold(m, q, k, id))
            continue;
        if (err == BELFRY_NOTFOUND && job && job->held && !model_surely_holds(m, job))
            continue;
        if (err != (job ? 0 : BELFRY_NOTFOUND) || (job && id.seq != job->id.seq)) {
            snprintf(ret, JUDGE_TEXT, "key k%u of q%u: job %" PRIu64 ", expected %" PRIu64, k, q,
                     err ? 0 : id.seq, job ? job->id.seq : 0);
            return false;
        }
    }
    return true;
}

static bool same_rate(const struct rate *a, const struct rate *b)
{
    return a->count == b->count && a->per_ms == b->per_ms && a->burst == b->burst;
}

static bool same_settings(const struct model_queue *q, const struct queue_settings *s)
{
    return q->paused == s->paused && q->lease_ms == s->lease_ms && q->attempts == s->attempts &&
           strcmp(backoffs_text(q->backoff), s->backoff) == 0 && q->retain_ms == s->retain_ms &&
           q->retain_dead_ms == s->retain_dead_ms && q->key_hold_ms == s->key_hold_ms &&
           q->past_grace_ms == s->past_grace_ms && q->max_running == s->max_running &&
           same_rate(&q->rate, &s->rate);
}

/* Where history may go for want of room, the model cannot tell how much goes. Elsewhere none goes.
 * `fewer`: the counts of a forgotten tenant may be missing. */
static bool same_counters(const struct model *m, const struct counters *expected,
                          const struct counters *c, bool fewer)
{
    struct counters is = *c;

    if (m->forgetful || m->bytes_bite)
        is.history_dropped = expected->history_dropped;
#define FEWER(name, help) &&is.name <= expected->name
    return memcmp(&is, expected, sizeof(is)) == 0 || (fewer ENGINE_COUNTERS(FEWER));
#undef FEWER
}

static bool same_sums(const struct engine *e, const struct model *m, unsigned t, struct str name)
{
    struct counters expected = { 0 };
    struct tenant_stats sums;
    struct engine_stats s;

    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
#define ADD(name, help) expected.name += tenants_of(q) == t ? m->queues[q].counters.name : 0;
        ENGINE_COUNTERS(ADD)
#undef ADD
    }
    engine_stats(e, &s);
    engine_tenant_stats(e, name, &sums);
    if (s.queues_forgotten > 0 && s.tenants_forgotten == 0 && sums.counters.scheduled > 0)
        cover_event(EVENT_QUEUE_FORGOTTEN);
    return same_counters(m, &expected, &sums.counters, s.tenants_forgotten > 0);
}

/* Ended jobs that were forgotten: on disk some of them may still be counted. */
static uint64_t count_forgotten(const struct model *m, unsigned queue, enum job_state state)
{
    uint64_t n = 0;

    for (size_t i = 0; i < m->graveyard->count; i++) {
        const struct model_job *job = &m->graveyard->graves[i].job;
        n += job->queue == queue && job->state == state;
    }
    return n;
}

static bool same_counts(const struct model *m, unsigned q, const uint64_t is[JOB_STATE_COUNT],
                        char ret[JUDGE_TEXT])
{
    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        enum job_state state = (enum job_state)i;
        uint64_t least = model_count(m, q, state), most = least, n = is[i];

        if (m->cold && state == JOB_READY) /* the backlog is ready early: with the next */
            continue;
        if (m->cold && state == JOB_SCHEDULED) {
            least = most = least + model_count(m, q, JOB_READY);
            n += is[JOB_READY];
        }
        if (m->cold && state > JOB_LEASED)
            most += count_forgotten(m, q, state);
        if (n < least || n > most) {
            snprintf(ret, JUDGE_TEXT, "q%u counts %" PRIu64 " jobs %s, expected %" PRIu64, q, n,
                     job_state_name(state), least);
            return false;
        }
    }
    return true;
}

static bool same_queue(struct partition *p, const struct model *m, unsigned q, char ret[JUDGE_TEXT])
{
    char text[TEXT_MAX];
    struct queue_view v;
    struct engine_stats stats;
    struct str name = text_make(TEXT_QUEUE, q, text);

    /* A queue that nobody uses may be forgotten. */
    if (engine_queue_get(partition_engine(p), name, &v))
        v = (struct queue_view){ .settings = &queue_defaults };
    if (!same_settings(&m->queues[q], v.settings)) {
        snprintf(ret, JUDGE_TEXT, "settings of q%u differ", q);
        return false;
    }
    engine_stats(partition_engine(p), &stats);
    if (v.counters &&
        !same_counters(m, &m->queues[q].counters, v.counters, stats.queues_forgotten > 0)) {
        snprintf(ret, JUDGE_TEXT, "counters of q%u differ", q);
        return false;
    }
    if (!v.counters) /* it is not there */
        return same_counts(m, q, v.jobs, ret) && same_keys(p, m, q, name, ret);
    if (m->cold && (v.hold == HOLD_LANES || v.hold == HOLD_TENANT_LEASED ||
                    v.hold == HOLD_TENANT_MAX_LEASED || v.hold == HOLD_SERVER_LEASED))
        v.hold = HOLD_NONE;
    if (v.hold == HOLD_NONE ? model_hold(m, q, false) != HOLD_NONE : model_gives(m, q)) {
        snprintf(ret, JUDGE_TEXT, "what holds q%u back: \"%s\", expected: \"%s\"", q,
                 hold_text(v.hold), hold_text(model_hold(m, q, false)));
        return false;
    }
    return same_counts(m, q, v.jobs, ret) && same_keys(p, m, q, name, ret);
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

static int note_tenant(void *arg, const struct tenant_view *v)
{
    return note_name(arg, &(struct queue_view){ .name = v->name });
}

static bool same_tenant(const struct engine *e, const struct model *m, unsigned t,
                        char ret[JUDGE_TEXT])
{
    char text[TEXT_MAX];
    struct str name = text_make(TEXT_TENANT, t, text);
    const struct tenant_settings *a = &m->tenants[t], *b;
    struct names n = { .sorted = true };
    struct tenant_view v;

    /* One without queues and settings is forgotten. */
    if (engine_tenant_get(e, name, &v))
        v = (struct tenant_view){ .settings = &tenant_defaults };
    b = v.settings;
    if (a->weight != b->weight || a->paused != b->paused || a->maintenance != b->maintenance ||
        a->maintenance_until_ms != b->maintenance_until_ms || a->max_pending != b->max_pending ||
        a->max_running != b->max_running || !same_rate(&a->rate, &b->rate) ||
        strcmp(a->quiet, b->quiet) || strcmp(a->tz, b->tz) || a->spread_ms != b->spread_ms ||
        a->max_queues != b->max_queues || a->max_recurrences != b->max_recurrences ||
        a->max_connections != b->max_connections || a->requests != b->requests ||
        a->max_bytes != b->max_bytes || a->max_streams != b->max_streams ||
        a->max_leased != b->max_leased) {
        snprintf(ret, JUDGE_TEXT, "settings of tenant %u differ", t);
        return false;
    }
    if (!same_sums(e, m, t, name)) {
        snprintf(ret, JUDGE_TEXT, "sums of tenant %u differ", t);
        return false;
    }
    if (v.pending != model_pending(m, t) || v.running != model_running(m, t)) {
        snprintf(ret, JUDGE_TEXT,
                 "tenant %u has %" PRIu64 " jobs, %" PRIu64 " leased, expected %" PRIu64
                 " and %" PRIu64,
                 t, v.pending, v.running, model_pending(m, t), model_running(m, t));
        return false;
    }
    if (engine_queues(e, name, STR(""), SIZE_MAX, note_name, &n) || n.count != v.queues) {
        snprintf(ret, JUDGE_TEXT, "QUEUES gives %" PRIu64 " names of tenant %u, expected %" PRIu64,
                 n.count, t, v.queues);
        return false;
    }
    return true;
}

static bool same_tenants(const struct engine *e, const struct model *m, uint64_t expected,
                         char ret[JUDGE_TEXT])
{
    struct names n = { .sorted = true };

    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        if (!same_tenant(e, m, t, ret))
            return false;
    if (engine_tenants(e, STR(""), SIZE_MAX, note_tenant, &n) == 0 && n.sorted &&
        n.count == expected && n.count <= MODEL_TENANTS)
        return true;
    snprintf(ret, JUDGE_TEXT, "TENANTS gives %" PRIu64 " names%s, expected %" PRIu64, n.count,
             n.sorted ? "" : " out of order", expected);
    return false;
}

static bool same_names(const struct engine *e, uint64_t expected, char ret[JUDGE_TEXT])
{
    struct names n = { .sorted = true };

    if (engine_queues(e, STR("*"), STR(""), SIZE_MAX, note_name, &n) == 0 && n.sorted &&
        n.count == expected)
        return true;
    snprintf(ret, JUDGE_TEXT, "QUEUES gives %" PRIu64 " names%s, expected %" PRIu64, n.count,
             n.sorted ? "" : " out of order", expected);
    return false;
}

static bool same_stats(const struct engine *e, const struct model *m, char ret[JUDGE_TEXT])
{
    struct engine_stats s;
    uint64_t picked = 0, jobs = 0, most = m->count;

    engine_stats(e, &s);
    if (m->cold)
        most += m->graveyard->count;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        picked += m->queues[q].counters.picked;
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        jobs += s.jobs[i];
    if (jobs >= m->count && jobs <= most && s.hot_jobs + s.cold_jobs >= jobs &&
        s.counters.picked == picked && s.lateness->count == picked && s.wait->count == m->served)
        return same_names(e, s.queues, ret) && same_tenants(e, m, s.tenants, ret);
    snprintf(ret, JUDGE_TEXT,
             "there are %" PRIu64 " jobs, expected %zu; %" PRIu64 " leases, expected %" PRIu64,
             jobs, m->count, s.counters.picked, picked);
    return false;
}

/* Only on disk a job may be there when it should have expired. */
static bool expired_in_memory(struct engine *e, const struct model *m, char ret[JUDGE_TEXT])
{
    struct job_view v;

    engine_answer(e, NULL);
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *job = &m->jobs[i];
        if (model_is_over(m, job) && engine_get(e, job->id, &v) == 0 && v.ended_ms == 0) {
            snprintf(ret, JUDGE_TEXT, "job %" PRIu64 " is in memory, and was to expire at %" PRId64,
                     job->id.seq, model_expires(job));
            return false;
        }
    }
    return true;
}

bool judge_same(struct partition *p, const struct model *m, char ret[JUDGE_TEXT])
{
    const struct engine *e = partition_engine(p);
    struct listed listed[MODEL_TENANTS] = { 0 };

    if (engine_now(e) != m->now_ms) {
        snprintf(ret, JUDGE_TEXT, "the engine's time is %" PRId64 ", expected %" PRId64,
                 engine_now(e), m->now_ms);
        return false;
    }
    if (!expired_in_memory(partition_engine(p), m, ret))
        return false;
    if (!same_jobs(p, m, listed, ret) || !same_stats(e, m, ret) || !judge_recurrences(p, m, ret))
        return false;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (!same_queue(p, m, q, ret))
            return false;
    return judge_bytes(p, m, listed, ret);
}
