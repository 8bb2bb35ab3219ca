/* SPDX-License-Identifier: MIT */
/* Jobs that are given out: whether it may be these, and whether it must be more. */
#include <inttypes.h>

#include "sim/labels.h"
#include "sim/steps.h"

/* More than a leased job takes besides its texts, and an attempt in its history. */
#define LEASED_BYTES  500
#define ATTEMPT_BYTES 320
#define ERROR_BYTES   1600 /* the longest error that workers tell */

#define EVERY_TENANT ((1u << MODEL_TENANTS) - 1)

/* Jobs that pass all gates are in the order of time, whatever their priority. Only the first of
 * them is compared with other jobs, by its rank. */
static bool is_before(const struct model *m, const struct model_job *passing,
                      const struct model_job *job)
{
    if (job->passing && !job->order)
        return passing->at_ms < job->at_ms;
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *first = &m->jobs[i];
        if (first->queue == job->queue && first->passing && !first->order &&
            model_may_give(m, first) && first->at_ms <= passing->at_ms &&
            model_rank(first) >= model_rank(job))
            return false;
    }
    return true;
}

/* A job that was ready before the clock was set back keeps its place, whatever its time. It loses
 * the place when it is passed over, which may be in this step. */
static bool keeps_place(const struct model *m, const struct model_job *job)
{
    return job->ahead && (job->state == JOB_READY || job->moved == m->steps);
}

static void check_rank(const struct model *m, const struct model_job *job)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].queue == job->queue && keeps_place(m, &m->jobs[i]))
            return;
    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *other = &m->jobs[i];
        bool in_time = other->passing && !other->order; /* see is_before */
        CHECK(other->queue != job->queue || !model_may_give(m, other) ||
                  (in_time ? !is_before(m, other, job) : model_rank(other) >= model_rank(job)),
              "job %" PRIu64 " (rank %" PRId64 ") overtakes job %" PRIu64 " (rank %" PRId64 ")",
              job->id.seq, model_rank(job), other->id.seq, model_rank(other));
    }
}

/* Where jobs are on disk, a job may overtake another of its class by the lookahead, and by the time
 * that loading was held up. But a job that was in its place and due when everything was calm is not
 * overtaken by jobs that came later. */
static void check_class(const struct world *w, const struct model_job *job)
{
    const struct model *m = &w->model;

    for (size_t i = 0; i < m->count; i++) {
        const struct model_job *other = &m->jobs[i];
        if (job->order || other->order)
            continue;
        CHECK(other->queue != job->queue || other->passing != job->passing ||
                  (!job->passing && other->priority != job->priority) ||
                  !model_may_give(m, other) || other->at_ms > job->calm_ms ||
                  other->placed >= job->calm_step ||
                  other->at_ms + w->options.lookahead_ms >= job->at_ms,
              "job %" PRIu64 " (at %" PRId64 ") overtakes job %" PRIu64 " (at %" PRId64
              ") of its class",
              job->id.seq, job->at_ms, other->id.seq, other->at_ms);
    }
}

/* One at a time, and in order, whatever is on disk. */
static void check_lane(const struct model *m, const struct model_job *job)
{
    const struct model_job *ahead = model_ahead(m, job);

    CHECK(!ahead,
          "job %" PRIu64 " (due %" PRId64 ") is given though job %" PRIu64 " (%s, due %" PRId64
          ") of its ordering key is ahead of it",
          job->id.seq, job->due_ms, ahead->id.seq, job_state_name(ahead->state), ahead->due_ms);
    for (size_t i = 0; i < m->count && job->order; i++) {
        const struct model_job *other = &m->jobs[i];
        if (other->state == JOB_READY && model_ahead(m, other) == job)
            cover_event(job->holding ? EVENT_LANE_RETRIED : EVENT_LANE_WAITED);
    }
}

/* Nothing keeps its queue from giving it, and it is its turn. */
static void check_queue(struct world *w, const struct wait *request, const struct model_job *job)
{
    unsigned q = job->queue;
    enum hold hold = model_hold(&w->model, q, job->passing);
    bool by_turn = request->kinds >> tenants_kind(q) & 1 && !(request->queues >> q & 1);

    CHECK(request->reach >> q & 1, "job %" PRIu64 " is not of a queue asked for", job->id.seq);
    CHECK(hold == HOLD_NONE, "job %" PRIu64 " is given though %s", job->id.seq, hold_text(hold));
    if (by_turn)
        cover_event(request->live ? EVENT_KIND_PARKED : EVENT_KIND);
    int late = model_pass(&w->model, q, by_turn);
    /* What is on disk cannot be given, and loses its place. */
    CHECK(late < 0 || w->cold, "q%u gets less than its turn, now by job %" PRIu64, late,
          job->id.seq);
}

static void cover_gates(const struct model *m, const struct model_job *job)
{
    const struct tenant_settings *t = &m->tenants[tenants_of(job->queue)];

    if (job->deferrals > 0)
        cover_event(EVENT_DEFERRED_GIVEN);
    if (job->passing && model_is_shut(m, tenants_of(job->queue)))
        cover_event(EVENT_PASSED);
    if (job->passing && job->notify && gate_quiet_until(str_of(t->quiet), m->now_ms) >= 0)
        cover_event(EVENT_PASSED_QUIET);
}

static void leased(struct world *w, const struct wait *request, const struct job_view *v)
{
    struct model_job *job = model_find(&w->model, v->id);
    char why[JUDGE_TEXT];

    CHECK(job, "job %" PRIu64 " is leased but does not exist", v->id.seq);
    CHECK(!model_is_over(&w->model, job), "job %" PRIu64 " is leased though it has expired",
          v->id.seq);
    CHECK(job->state == JOB_READY, "job %" PRIu64 " is leased while %s (at %" PRId64 ")", v->id.seq,
          job_state_name(job->state), job->at_ms);
    CHECK(model_quiet_until(&w->model, job) < 0, "job %" PRIu64 " is given in quiet hours",
          v->id.seq);
    cover_gates(&w->model, job);
    check_queue(w, request, job);
    check_lane(&w->model, job);
    if (w->cold)
        check_class(w, job);
    else
        check_rank(&w->model, job);
    if (job->ahead)
        cover_event(EVENT_READY_AHEAD);
    CHECK(v->token > w->token_max, "token %" PRIx64 " after token %" PRIx64, v->token,
          w->token_max);
    w->token_max = v->token;
    w->tokens[w->token_count++ % TOKENS_MAX] = (struct token){ v->id, v->token };
    w->leases++;
    model_lease(&w->model, job, request->for_ms, request->worker, v->token);
    model_turns(&w->model);
    CHECK(judge_job(&w->model, job, v, why), "as it is leased, %s", why);
    trace_note("  job %" PRIu64 " of q%u, attempt %u, token %" PRIx64 ", until %" PRId64,
               job->id.seq, job->queue, job->attempt, job->token, job->until_ms);
}

static size_t label_bytes(uint32_t number)
{
    struct labels l;
    size_t bytes = 0;

    labels_make(number, &l);
    for (size_t i = 0; i < l.tag_count; i++)
        bytes += l.tags[i].len;
    for (size_t i = 0; i < l.meta_count; i++)
        bytes += l.meta[i].name.len + l.meta[i].value.len;
    return bytes;
}

/* The most memory that a leased job takes. */
static uint64_t leased_bytes(const struct model_job *job)
{
    char text[TEXT_MAX];

    return LEASED_BYTES + 2 * text_make(TEXT_PAYLOAD, job->payload, text).len +
           2 * label_bytes(job->labels) + text_make(TEXT_PAYLOAD, job->next_payload, text).len +
           ERROR_BYTES + model_log_bytes(&job->log) + job->history_count * ATTEMPT_BYTES;
}

/* A tenant that has max_leased bytes is given no further job. So before the last of these jobs it
 * had less. */
static void check_leased(const struct world *w, struct job *const *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char text[TEXT_MAX];
        struct tenant_view t;
        struct job_view v;
        engine_view(w->engine, jobs[i], &v);
        const struct model_job *job = model_find(&w->model, v.id);
        unsigned tenant = tenants_of(job->queue);
        uint64_t most = (uint64_t)w->model.tenants[tenant].max_leased, last = 0;

        for (size_t k = 0; k < n && most > 0; k++) {
            engine_view(w->engine, jobs[k], &v);
            job = model_find(&w->model, v.id);
            if (tenants_of(job->queue) == tenant && leased_bytes(job) > last)
                last = leased_bytes(job);
        }
        if (most == 0 || engine_tenant_get(w->engine, text_make(TEXT_TENANT, tenant, text), &t))
            continue;
        CHECK(t.leased_bytes < most + last,
              "leased jobs of tenant %u take %" PRIu64 " bytes, its max_leased is %" PRIu64, tenant,
              t.leased_bytes, most);
    }
}

void world_leased(struct world *w, const struct wait *request, struct job *const *jobs, size_t n)
{
    w->lease_facts = 0;
    world_adopt_met(w);
    w->model.served += n > 0;
    for (size_t i = 0; i < n; i++) {
        struct job_view v;
        engine_view(w->engine, jobs[i], &v);
        const struct model_job *job = model_find(&w->model, v.id);
        if (job && job->fact > w->lease_facts)
            w->lease_facts = job->fact;
        leased(w, request, &v);
    }
    check_leased(w, jobs, n);
}

static void deliver(struct world *w, void *owner, struct job *const *jobs, size_t n)
{
    struct wait *wait = owner;

    CHECK(wait->live, "a parked worker is answered twice");
    trace_note("  worker %td gets %zu jobs", wait - w->waits, n);
    w->lease_facts = 0;
    if (n == 0) {
        CHECK(w->mono_ms >= wait->deadline_ms, "a worker's wait ends too early");
        cover_event(EVENT_PARKED_LATE);
    } else {
        cover_event(EVENT_PARKED);
        if (wait->held)
            cover_event(EVENT_UNHELD);
        CHECK(n <= wait->count, "a worker gets more jobs than it asked for");
        world_leased(w, wait, jobs, n);
    }
    wait->live = false;
    world_hold_lease(w, "parked LEASE");
}

void world_advance(struct world *w)
{
    if (w->wall_ms > w->wall_high_ms)
        w->wall_high_ms = w->wall_ms;
    void *owner;

    engine_advance(w->engine, w->wall_ms, w->mono_ms);
    while (engine_timeout(w->engine, &owner))
        deliver(w, owner, NULL, 0);
}

/* The queues of tenants that must be given more jobs. Leased jobs stay in memory. A tenant gets no
 * more when its leased jobs take as much of half the memory as all leave. No tenant gets more when
 * all take nine sixteenths. The bytes of a tenant beyond the largest share do not count for others.
 * A tenant at its max_leased gets no more, either. */
static unsigned leasing_queues(const struct world *w)
{
    uint64_t bytes[MODEL_TENANTS] = { 0 }, all = 0, half = w->options.memory_bytes / 2;
    unsigned queues = 0;

    for (size_t i = 0; i < w->model.count; i++)
        if (w->model.jobs[i].state == JOB_LEASED)
            bytes[tenants_of(w->model.jobs[i].queue)] += leased_bytes(&w->model.jobs[i]);
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        all += bytes[t] < half / 2 ? bytes[t] : half / 2;
    for (unsigned q = 0; q < MODEL_QUEUES; q++) {
        uint64_t mine = bytes[tenants_of(q)];
        uint64_t most = (uint64_t)w->model.tenants[tenants_of(q)].max_leased;

        if (most > 0 && mine > 0 && mine >= most)
            continue;
        if (!w->cold || (all < half / 8 * 9 && (mine == 0 || mine + all < half)))
            queues |= 1u << q;
    }
    return queues;
}

/* The tenants that must be given new ordering keys. Jobs that own their ordering keys stay in
 * memory. A tenant gets no new keys while such jobs of it take more than all leave of an eighth. */
static unsigned fresh_tenants(const struct world *w)
{
    uint64_t bytes[MODEL_TENANTS] = { 0 }, all = 0;
    unsigned fresh = 0;

    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];

        if (!job->holding || job->state == JOB_LEASED)
            continue;
        bytes[tenants_of(job->queue)] += leased_bytes(job);
        all += leased_bytes(job);
    }
    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        if (!w->cold || bytes[t] == 0 || bytes[t] + all < w->options.memory_bytes / 8)
            fresh |= 1u << t;
    return fresh;
}

static bool has_quiet(const struct model *m, unsigned queues)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].state == JOB_READY && (queues >> m->jobs[i].queue & 1) &&
            model_quiet_until(m, &m->jobs[i]) >= 0)
            return true;
    return false;
}

size_t world_owed(const struct world *w, unsigned queues, size_t count)
{
    size_t n = model_deliverable(&w->model, queues & leasing_queues(w), fresh_tenants(w));

    /* Behind what quiet hours hold there may be something on disk. */
    if (w->cold && has_quiet(&w->model, queues))
        return 0;
    if (w->cold)
        return w->calm && n > 0 ? 1 : 0;
    return n < count ? n : count;
}

/* The engine wakes when a rate, or slow start, allows the next job for a worker that waits. */
static void check_rates(struct world *w)
{
    int64_t wall, mono, moment = INT64_MAX;

    if (w->cold && (!w->calm || leasing_queues(w) != (1u << MODEL_QUEUES) - 1 ||
                    fresh_tenants(w) != EVERY_TENANT))
        return;
    for (size_t i = 0; i < WAITS_MAX; i++) {
        if (!w->waits[i].live)
            continue;
        int64_t next = model_rate_moment(&w->model, w->waits[i].reach);
        moment = next < moment ? next : moment;
        next = model_start_moment(&w->model, w->waits[i].reach);
        moment = next < moment ? next : moment;
    }
    engine_next_wake(w->engine, &wall, &mono);
    CHECK(mono <= moment,
          "the engine sleeps until %" PRId64 " (mono), but a job may be given at %" PRId64, mono,
          moment);
}

void world_dispatch(struct world *w)
{
    struct delivery d;
    void *owner;

    while (engine_dispatch_next(w->engine, &owner)) {
        if (!engine_dispatch(w->engine, &d))
            continue;
        CHECK(d.owner == owner, "another worker is served than the host was told");
        deliver(w, d.owner, d.jobs, d.n);
    }
    world_adopt_met(w);
    for (size_t i = 0; i < WAITS_MAX; i++) {
        struct wait *wait = &w->waits[i];
        if (!wait->live)
            continue;
        CHECK(world_owed(w, wait->reach, 1) == 0, "worker %zu waits though there is work", i);
        wait->held = wait->held || (!w->cold && model_has_ready(&w->model, wait->reach));
    }
    check_rates(w);
}
