/* SPDX-License-Identifier: MIT */
/* Steps in which workers take jobs and end them. */
#include <inttypes.h>

#include "sim/steps.h"

#define MINUTE INT64_C(60000)
#define COUNT  5

/* ---- Getting jobs ---- */

/* A request for leases as the engine wants it, with memory for its slices. */
struct lease {
    struct str queues[MODEL_QUEUES + MODEL_KINDS];
    char names[MODEL_QUEUES + MODEL_KINDS][TEXT_MAX];
    char worker[TEXT_MAX];
    struct lease_request r;
};

static void random_wait(struct world *w, struct wait *ret)
{
    struct rng *r = &w->rng;
    unsigned names = MODEL_QUEUES + MODEL_KINDS;
    unsigned chosen = rng_chance(r, 40) ? 1u << rng_below(r, names)
                                        : (unsigned)rng_between(r, 1, (1 << names) - 1);
    if (rng_chance(r, 30)) /* mostly workers ask one or the other */
        chosen = (unsigned)rng_between(r, 1, (1 << MODEL_KINDS) - 1) << MODEL_QUEUES;
    *ret = (struct wait){
        .world = w,
        .queues = chosen & ((1u << MODEL_QUEUES) - 1),
        .kinds = chosen >> MODEL_QUEUES,
        .count = rng_chance(r, 60) ? 1 : (size_t)rng_between(r, 1, COUNT),
        .for_ms = rng_chance(r, 70) ? -1 : 1 + rng_duration(r, 10 * MINUTE),
        .worker = (uint32_t)rng_below(r, MODEL_WORKERS),
    };
    ret->reach = tenants_reach(ret->queues, ret->kinds);
}

static void request_of(const struct wait *wait, struct lease *ret)
{
    size_t n = 0;

    wait->world->asked |= wait->queues | wait->reach;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (wait->queues >> q & 1) {
            ret->queues[n] = text_make(TEXT_QUEUE, q, ret->names[n]);
            n++;
        }
    for (unsigned k = 0; k < MODEL_KINDS; k++)
        if (wait->kinds >> k & 1) {
            ret->queues[n] = text_make(TEXT_ALL, k, ret->names[n]);
            n++;
        }
    ret->r = (struct lease_request){
        .queues = ret->queues,
        .queue_count = n,
        .count = wait->count,
        .for_ms = wait->for_ms,
        .worker = text_make(TEXT_WORKER, wait->worker, ret->worker),
    };
}

/* What kept queues with ready jobs from giving. */
static void cover_holds(const struct model *m, unsigned queues)
{
    static const enum event events[] = {
        [HOLD_PAUSED] = EVENT_HELD_PAUSED,
        [HOLD_TENANT_PAUSED] = EVENT_HELD_TENANT_PAUSED,
        [HOLD_MAINTENANCE] = EVENT_HELD_MAINTENANCE,
        [HOLD_QUEUE_RUNNING] = EVENT_HELD_QUEUE_RUNNING,
        [HOLD_TENANT_RUNNING] = EVENT_HELD_TENANT_RUNNING,
        [HOLD_QUEUE_RATE] = EVENT_HELD_QUEUE_RATE,
        [HOLD_TENANT_RATE] = EVENT_HELD_TENANT_RATE,
        [HOLD_SERVER_RUNNING] = EVENT_HELD_SERVER_RUNNING,
        [HOLD_SLOW_START] = EVENT_HELD_SLOW_START,
    };

    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if ((queues >> q & 1) && model_count(m, q, JOB_READY) > 0 && model_hold(m, q, false))
            cover_event(events[model_hold(m, q, false)]);
}

/* A worker asks and takes nothing: jobs on disk may have to be asked for. */
static void ask(struct world *w, const struct lease *request)
{
    struct lease_request r = request->r;

    r.count = 0;
    CHECK(engine_lease(w->engine, &r, NULL) == 0, "LEASE gives jobs that were not asked for");
}

void step_ask_all(struct world *w)
{
    struct wait wait = { .world = w, .queues = (1u << MODEL_QUEUES) - 1 };
    struct lease request;

    request_of(&wait, &request);
    ask(w, &request);
}

void step_lease(struct world *w)
{
    struct wait wait;
    struct lease request;
    struct job *jobs[COUNT];

    random_wait(w, &wait);
    request_of(&wait, &request);
    if (w->cold && rng_chance(&w->rng, 20)) {
        ask(w, &request);
        lanes_calm(w);
        w->calm = true;
    }
    size_t owed = world_owed(w, wait.reach, wait.count);
    w->calm = true;
    /* In memory or on disk; a job is given out when its records are durable. */
    bool there = w->cold && engine_lsn(w->engine) == partition_durable_lsn(w->partition) &&
                 world_owed(w, wait.queues, 1) > 0;
    w->calm = false;
    cover_holds(&w->model, wait.reach);
    uint64_t visible = engine_visible_lsn(w->engine), offered = engine_offered_lsn(w->engine);
    uint64_t changes = w->model.changes, rated = w->model.rated;
    int n = engine_lease(w->engine, &request.r, jobs);
    world_adopt_met(w);
    bool waits = engine_offered_lsn(w->engine) != offered ||
                 (engine_visible_lsn(w->engine) != visible && w->model.changes == changes);
    trace_note("LEASE queues %x kinds %x count %zu for %" PRId64 ": %d", wait.queues, wait.kinds,
               wait.count, wait.for_ms, n);
    CHECK(n <= (int)wait.count, "LEASE gives more jobs than asked for");
    world_leased(w, &wait, jobs, (size_t)n);
    CHECK(!waits || w->mono_ms < w->strict_until_ms || w->model.rated > rated,
          "the answer to a LEASE waits for its own record");
    CHECK(n >= (int)owed, "LEASE gives %d jobs, expected %zu", n, owed);
    CHECK(n > 0 || !there || engine_owes(w->engine, &request.r),
          "LEASE does not wait for jobs on disk");
    world_answer_lease(w);
}

void step_wait(struct world *w)
{
    struct wait wait;
    struct lease request;
    size_t i = rng_below(&w->rng, WAITS_MAX);

    if (w->waits[i].live)
        return;
    random_wait(w, &wait);
    request_of(&wait, &request);
    int64_t wait_ms = 1 + rng_duration(&w->rng, 2 * MINUTE);
    wait.live = true;
    wait.deadline_ms = w->mono_ms + wait_ms;
    w->waits[i] = wait;
    trace_note("LEASE by worker %zu, queues %x kinds %x count %zu for %" PRId64 " wait %" PRId64, i,
               wait.queues, wait.kinds, wait.count, wait.for_ms, wait_ms);
    int err = engine_wait(w->engine, &request.r, wait_ms, &w->waits[i], &w->waits[i].waiter);
    CHECK(err == 0, "a worker cannot wait: %s", error_name(err));
    world_dispatch(w);
    world_release(w);
}

void step_unwait(struct world *w)
{
    struct wait *wait = &w->waits[rng_below(&w->rng, WAITS_MAX)];

    if (!wait->live)
        return;
    trace_note("worker %td goes away", wait - w->waits);
    wait->live = false;
    engine_wait_cancel(w->engine, wait->waiter);
}

/* ---- Ending attempts ---- */

/* Mostly a lease of now; at times one of before, or a token of another job. */
static struct token random_token(struct world *w)
{
    struct rng *r = &w->rng;
    size_t known = w->token_count < TOKENS_MAX ? (size_t)w->token_count : TOKENS_MAX;
    struct token t = known ? w->tokens[rng_below(r, known)] : (struct token){ 0 };

    if (known && rng_chance(r, 20))
        return t;
    struct job_id id = world_pick(w, 1u << JOB_LEASED);
    const struct model_job *job = model_find(&w->model, id);
    uint64_t token = job && rng_chance(r, 92) ? job->token : t.token;
    return (struct token){ id, token };
}

static void check_error(const struct world *w, const char *verb, const struct request *r, int is,
                        int expected)
{
    if (is == BELFRY_STALE && r->token >> 40 < w->epoch)
        cover_event(EVENT_STALE_EPOCH);
    CHECK(is == expected, "%s of job %" PRIu64 " answers %s, expected %s", verb, r->id.seq,
          is ? error_name(is) : "ok", expected ? error_name(expected) : "ok");
}

/* A request that names a lease. */
static struct request random_request(struct world *w, request_fn *execute)
{
    struct token t = random_token(w);

    return (struct request){
        .execute = execute, .id = t.id, .token = t.token, .scope = world_scope(w, t.id)
    };
}

static bool complete(struct world *w, const struct request *r)
{
    char text[TEXT_MAX];
    int err;

    request_enter(w, r);
    err = engine_complete(w->engine, r->id, r->token, text_make(TEXT_RESULT, r->text, text), r->ms);
    trace_note("COMPLETE job %" PRIu64 " token %" PRIx64 " result %u again %" PRId64 ": %s",
               r->id.seq, r->token, r->text, r->ms, err ? error_name(err) : "ok");
    request_leave(w, r, err);
    if (err == BELFRY_COLD)
        return false;
    world_adopt_job(w, r->id);
    check_error(w, "COMPLETE", r, err, model_complete(&w->model, r->id, r->token, r->text, r->ms));
    world_answer(w, "COMPLETE");
    return true;
}

void step_complete(struct world *w)
{
    struct request r = random_request(w, complete);

    r.text = rng_chance(&w->rng, 60) ? 0 : world_text(w);
    r.ms = rng_chance(&w->rng, 15) ? rng_duration(&w->rng, 10 * MINUTE) : -1;
    request_send(w, &r);
}

/* What FAIL says of a job that there still is. */
static void check_failed(struct world *w, const struct request *r, const struct fail_result *is,
                         enum job_state expected)
{
    CHECK(is->state == expected, "FAIL: %s, expected %s", job_state_name(is->state),
          job_state_name(expected));
    world_adopt(w);
    const struct model_job *job = model_find(&w->model, r->id);
    if (expected != JOB_SCHEDULED)
        return;
    CHECK(is->at_ms == job->at_ms, "FAIL: again at %" PRId64 ", expected %" PRId64, is->at_ms,
          job->at_ms);
    /* A job that was replaced meanwhile counts anew. */
    CHECK(job->attempt == 0 ||
              (is->attempt == job->attempt && (is->attempts == 0 || is->attempt < is->attempts)),
          "FAIL: attempt %" PRId64 " of %" PRId64 ", expected %u", is->attempt, is->attempts,
          job->attempt);
}

static bool fail(struct world *w, const struct request *r)
{
    char text[TEXT_MAX];
    enum job_state expected = JOB_STATE_COUNT;
    struct fail_result is = { .state = JOB_STATE_COUNT };
    int err;

    request_enter(w, r);
    err = engine_fail(w->engine, r->id, r->token, text_make(TEXT_ERROR, r->text, text), r->ms,
                      r->flag, &is);
    trace_note("FAIL job %" PRIu64 " token %" PRIx64 " error %u retry %" PRId64 " final %d: %s, %s",
               r->id.seq, r->token, r->text, r->ms, r->flag, err ? error_name(err) : "ok",
               err ? "" : job_state_name(is.state));
    request_leave(w, r, err);
    if (err == BELFRY_COLD)
        return false;
    if (err)
        world_adopt_job(w, r->id);
    check_error(w, "FAIL", r, err,
                model_fail(&w->model, r->id, r->token, r->text, r->ms, r->flag, &expected));
    if (!err)
        check_failed(w, r, &is, expected);
    world_answer(w, "FAIL");
    return true;
}

void step_fail(struct world *w)
{
    struct request r = random_request(w, fail);

    r.text = rng_chance(&w->rng, 30) ? 0 : world_text(w);
    r.ms =
        rng_chance(&w->rng, 25) ? rng_duration(&w->rng, w->cold ? 2000 * MINUTE : 10 * MINUTE) : -1;
    r.flag = r.ms < 0 && rng_chance(&w->rng, 15);
    request_send(w, &r);
}

static bool extend(struct world *w, const struct request *r)
{
    char text[TEXT_MAX];
    struct extend_spec x = { .for_ms = r->ms, .progress = r->progress };
    struct extend_result is = { 0 };

    if (r->flag)
        x.note = text_make(TEXT_NOTE, r->text, text);
    request_enter(w, r);
    int err = engine_extend(w->engine, r->id, r->token, &x, &is);
    trace_note("EXTEND job %" PRIu64 " token %" PRIx64 " for %" PRId64 " progress %" PRId64
               " note %d %u: %s",
               r->id.seq, r->token, r->ms, r->progress, r->flag, r->text,
               err ? error_name(err) : "ok");
    request_leave(w, r, err);
    if (err == BELFRY_COLD)
        return false;
    world_adopt_job(w, r->id);
    check_error(w, "EXTEND", r, err,
                model_extend(&w->model, r->id, r->token, r->ms, r->progress, r->flag, r->text));
    if (!err) {
        const struct model_job *job = model_find(&w->model, r->id);
        CHECK(is.until_ms == job->until_ms, "EXTEND: until %" PRId64 ", expected %" PRId64,
              is.until_ms, job->until_ms);
        CHECK(is.cancelled == job->cancelling, "EXTEND: cancelled is %d, expected %d", is.cancelled,
              job->cancelling);
    }
    world_answer(w, "EXTEND");
    return true;
}

void step_extend(struct world *w)
{
    struct request r = random_request(w, extend);

    r.flag = rng_chance(&w->rng, 30);
    r.text = r.flag && rng_chance(&w->rng, 80) ? world_text(w) : 0;
    r.ms = rng_chance(&w->rng, 50) ? -1 : 1 + rng_duration(&w->rng, 10 * MINUTE);
    r.progress = rng_chance(&w->rng, 50) ? -1 : rng_between(&w->rng, 0, 100);
    request_send(w, &r);
}

/* A line is refused where the tenant has no more room for it. */
static bool line_is_refused(struct world *w, const struct request *r, size_t bytes)
{
    const struct model_job *job = model_find(&w->model, r->id);
    unsigned t = job ? tenants_of(job->queue) : 0;
    int64_t most = job ? w->model.tenants[t].max_bytes : 0;
    bool leased = strstr(engine_detail(w->engine), "leased") != NULL;

    CHECK(job && job->state == JOB_LEASED && job->token == r->token, "LOG: LIMIT before STALE");
    return leased || (most > 0 && bytes_kept(w, t) + bytes > (uint64_t)most);
}

static bool line(struct world *w, const struct request *r)
{
    char text[TEXT_MAX];
    struct str said = text_make(TEXT_NOTE, r->text, text);

    request_enter(w, r);
    int err = engine_log(w->engine, r->id, r->token, said);
    trace_note("LOG job %" PRIu64 " token %" PRIx64 " %u: %s", r->id.seq, r->token, r->text,
               err ? error_name(err) : "ok");
    request_leave(w, r, err);
    if (err == BELFRY_COLD)
        return false;
    world_adopt_job(w, r->id);
    if (err == BELFRY_LIMIT)
        CHECK(line_is_refused(w, r, said.len), "LOG answers LIMIT, and there is room");
    else
        check_error(w, "LOG", r, err, model_line(&w->model, r->id, r->token, r->text));
    world_answer(w, "LOG");
    return true;
}

/* Now and then a worker says more than a log keeps. */
void step_line(struct world *w)
{
    struct request r = random_request(w, line);
    int n = rng_chance(&w->rng, 4) ? 110 : 1;

    for (int i = 0; i < n; i++) {
        r.text = world_text(w);
        request_send(w, &r);
    }
}

static bool release(struct world *w, const struct request *r)
{
    int err;

    request_enter(w, r);
    err = engine_release(w->engine, r->id, r->token, r->ms);
    trace_note("RELEASE job %" PRIu64 " token %" PRIx64 " in %" PRId64 ": %s", r->id.seq, r->token,
               r->ms, err ? error_name(err) : "ok");
    request_leave(w, r, err);
    if (err == BELFRY_COLD)
        return false;
    world_adopt_job(w, r->id);
    check_error(w, "RELEASE", r, err, model_release(&w->model, r->id, r->token, r->ms));
    world_answer(w, "RELEASE");
    return true;
}

void step_release(struct world *w)
{
    struct request r = random_request(w, release);

    r.ms = rng_chance(&w->rng, 50) ? 0 : rng_duration(&w->rng, 10 * MINUTE);
    request_send(w, &r);
}

/* Jobs that kill every worker that takes them: their leases end without a word, again and again. */
void step_storm(struct world *w)
{
    int rounds = (int)rng_between(&w->rng, 2, 25);
    uint64_t crashes = w->crashes;

    for (int i = 0; i < rounds && crashes == w->crashes; i++) {
        step_lease(w);
        step_wake(w);
        step_wake(w);
    }
}

/* A LEASE while everything is calm; returns how many jobs it gives. */
static int lease_calmly(struct world *w, const struct wait *wait)
{
    struct lease request;
    struct job *jobs[COUNT];

    request_of(wait, &request);
    w->calm = true;
    size_t owed = world_owed(w, wait->reach, wait->count);
    w->calm = false;
    int n = engine_lease(w->engine, &request.r, jobs);
    trace_note("LEASE queues %x kinds %x: %d", wait->queues, wait->kinds, n);
    world_leased(w, wait, jobs, (size_t)n);
    CHECK(n >= (int)owed, "LEASE gives %d jobs, expected %zu", n, owed);
    world_answer_lease(w);
    return n;
}

/* A tenant takes all jobs that it gets, for long leases. Then another tenant asks. */
void step_hog(struct world *w)
{
    unsigned hog = (unsigned)rng_below(&w->rng, MODEL_TENANTS), queues[2] = { 0 };
    uint64_t crashes = w->crashes;

    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        queues[tenants_of(q) != hog] |= 1u << q;
    for (int i = 0, n = 1; i < 40 && w->cold && crashes == w->crashes; i++) {
        unsigned asked = queues[n == 0];
        struct wait wait = {
            .world = w, .queues = asked, .reach = asked, .count = COUNT, .for_ms = 60 * MINUTE
        };

        step_ask_all(w);
        lanes_calm(w);
        if (crashes == w->crashes)
            n = lease_calmly(w, &wait);
        if (asked == queues[1])
            return;
    }
}

/* ---- The end ---- */

void step_lease_all(struct world *w)
{
    struct wait wait = { .world = w, .reach = (1u << MODEL_QUEUES) - 1, .count = COUNT };

    wait.for_ms = -1;
    if (rng_chance(&w->rng, 50))
        wait.queues = wait.reach;
    else
        wait.kinds = (1u << MODEL_KINDS) - 1;
    lease_calmly(w, &wait);
}

void step_complete_all(struct world *w)
{
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        if (job->state != JOB_LEASED)
            continue;
        request_finish(w, &(struct request){
                              .execute = complete, .id = job->id, .token = job->token, .ms = -1 });
        i = (size_t)-1; /* the jobs have moved */
    }
}
