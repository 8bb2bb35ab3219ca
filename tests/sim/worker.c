/* SPDX-License-Identifier: MIT */
/* Steps in which somebody works. */
#include <inttypes.h>

#include "sim/steps.h"

#define WORKERS 4
#define MINUTE  INT64_C(60000)
#define COUNT   5

/* ---- Getting jobs ---- */

/* A request for leases as the engine wants it, with memory for its slices. */
struct request {
    struct str queues[MODEL_QUEUES];
    char names[MODEL_QUEUES][TEXT_MAX];
    char worker[TEXT_MAX];
    struct lease_request r;
};

static void random_wait(struct world *w, struct wait *ret)
{
    struct rng *r = &w->rng;
    *ret = (struct wait){
        .world = w,
        .queues = rng_chance(r, 40) ? 1u << rng_below(r, MODEL_QUEUES)
                                    : (unsigned)rng_between(r, 1, (1 << MODEL_QUEUES) - 1),
        .count = rng_chance(r, 60) ? 1 : (size_t)rng_between(r, 1, COUNT),
        .for_ms = rng_chance(r, 70) ? -1 : 1 + rng_duration(r, 10 * MINUTE),
        .worker = (uint32_t)rng_below(r, WORKERS),
    };
}

static void request_of(const struct wait *wait, struct request *ret)
{
    size_t n = 0;
    for (unsigned q = 0; q < MODEL_QUEUES; q++)
        if (wait->queues >> q & 1) {
            ret->queues[n] = text_make(TEXT_QUEUE, q, ret->names[n]);
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

void step_lease(struct world *w)
{
    struct wait wait;
    struct request request;
    struct job *jobs[COUNT];

    random_wait(w, &wait);
    request_of(&wait, &request);
    size_t expected = model_deliverable(&w->model, wait.queues);
    if (expected > wait.count)
        expected = wait.count;
    uint64_t visible = engine_visible_lsn(w->engine);
    int n = engine_lease(w->engine, &request.r, jobs);
    CHECK(w->mono_ms < w->strict_until_ms || engine_visible_lsn(w->engine) == visible,
          "the answer to a LEASE waits for its own record");
    trace_note("LEASE queues %x count %zu for %" PRId64 ": %d", wait.queues, wait.count,
               wait.for_ms, n);
    CHECK(n <= (int)wait.count, "LEASE gives more jobs than asked for");
    world_leased(w, &wait, jobs, (size_t)n);
    CHECK(n == (int)expected, "LEASE gives %d jobs, expected %zu", n, expected);
    world_answer_lease(w);
}

void step_wait(struct world *w)
{
    struct wait wait;
    struct request request;
    size_t i = rng_below(&w->rng, WAITS_MAX);

    if (w->waits[i].live)
        return;
    random_wait(w, &wait);
    request_of(&wait, &request);
    int64_t wait_ms = 1 + rng_duration(&w->rng, 2 * MINUTE);
    wait.live = true;
    wait.deadline_ms = w->mono_ms + wait_ms;
    w->waits[i] = wait;
    trace_note("LEASE by worker %zu, queues %x count %zu for %" PRId64 " wait %" PRId64, i,
               wait.queues, wait.count, wait.for_ms, wait_ms);
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

static void check_error(const struct world *w, const char *verb, struct token t, int is,
                        int expected)
{
    if (is == BELFRY_STALE && t.token >> 40 < w->epoch)
        cover_event(EVENT_STALE_EPOCH);
    CHECK(is == expected, "%s of job %" PRIu64 " answers %s, expected %s", verb, t.id.seq,
          is ? error_name(is) : "ok", expected ? error_name(expected) : "ok");
}

void step_complete(struct world *w)
{
    char text[TEXT_MAX];
    struct token t = random_token(w);
    uint32_t result = rng_chance(&w->rng, 60) ? 0 : world_text(w);
    int64_t again = rng_chance(&w->rng, 15) ? rng_duration(&w->rng, 10 * MINUTE) : -1;
    int err =
        engine_complete(w->engine, t.id, t.token, text_make(TEXT_RESULT, result, text), again);

    trace_note("COMPLETE job %" PRIu64 " token %" PRIx64 " result %u again %" PRId64 ": %s",
               t.id.seq, t.token, result, again, err ? error_name(err) : "ok");
    check_error(w, "COMPLETE", t, err, model_complete(&w->model, t.id, t.token, result, again));
    world_answer(w, "COMPLETE");
}

void step_fail(struct world *w)
{
    char text[TEXT_MAX], why[JUDGE_TEXT];
    struct token t = random_token(w);
    uint32_t error = rng_chance(&w->rng, 30) ? 0 : world_text(w);
    int64_t retry = rng_chance(&w->rng, 25) ? rng_duration(&w->rng, 10 * MINUTE) : -1;
    bool final = retry < 0 && rng_chance(&w->rng, 15);
    enum job_state expected = JOB_STATE_COUNT;
    struct fail_result result = { JOB_STATE_COUNT, 0 };
    int err = engine_fail(w->engine, t.id, t.token, text_make(TEXT_ERROR, error, text), retry,
                          final, &result);

    trace_note("FAIL job %" PRIu64 " token %" PRIx64 " error %u retry %" PRId64 " final %d: %s, %s",
               t.id.seq, t.token, error, retry, final, err ? error_name(err) : "ok",
               err ? "" : job_state_name(result.state));
    check_error(w, "FAIL", t, err,
                model_fail(&w->model, t.id, t.token, error, retry, final, &expected));
    if (!err) {
        CHECK(result.state == expected, "FAIL: %s, expected %s", job_state_name(result.state),
              job_state_name(expected));
        CHECK(judge_adopt(w->engine, &w->model, why), "%s", why);
        const struct model_job *job = model_find(&w->model, t.id);
        if (expected == JOB_SCHEDULED)
            CHECK(result.at_ms == job->at_ms, "FAIL: again at %" PRId64 ", expected %" PRId64,
                  result.at_ms, job->at_ms);
    }
    world_answer(w, "FAIL");
}

void step_extend(struct world *w)
{
    char text[TEXT_MAX];
    struct token t = random_token(w);
    bool has_note = rng_chance(&w->rng, 30);
    uint32_t note = has_note && rng_chance(&w->rng, 80) ? world_text(w) : 0;
    struct extend_spec x = {
        .for_ms = rng_chance(&w->rng, 50) ? -1 : 1 + rng_duration(&w->rng, 10 * MINUTE),
        .progress = rng_chance(&w->rng, 50) ? -1 : rng_between(&w->rng, 0, 100),
    };
    struct extend_result result = { 0 };

    if (has_note)
        x.note = text_make(TEXT_NOTE, note, text);
    int err = engine_extend(w->engine, t.id, t.token, &x, &result);
    trace_note("EXTEND job %" PRIu64 " token %" PRIx64 " for %" PRId64 " progress %" PRId64
               " note %d %u: %s",
               t.id.seq, t.token, x.for_ms, x.progress, has_note, note,
               err ? error_name(err) : "ok");
    check_error(w, "EXTEND", t, err,
                model_extend(&w->model, t.id, t.token, x.for_ms, x.progress, has_note, note));
    if (!err) {
        const struct model_job *job = model_find(&w->model, t.id);
        CHECK(result.until_ms == job->until_ms, "EXTEND: until %" PRId64 ", expected %" PRId64,
              result.until_ms, job->until_ms);
        CHECK(result.cancelled == job->cancelling, "EXTEND: cancelled is %d, expected %d",
              result.cancelled, job->cancelling);
    }
    world_answer(w, "EXTEND");
}

void step_release(struct world *w)
{
    struct token t = random_token(w);
    int64_t in = rng_chance(&w->rng, 50) ? 0 : rng_duration(&w->rng, 10 * MINUTE);
    int err = engine_release(w->engine, t.id, t.token, in);

    trace_note("RELEASE job %" PRIu64 " token %" PRIx64 " in %" PRId64 ": %s", t.id.seq, t.token,
               in, err ? error_name(err) : "ok");
    check_error(w, "RELEASE", t, err, model_release(&w->model, t.id, t.token, in));
    world_answer(w, "RELEASE");
}

/* Jobs that kill whoever touches them: leases that end without a word, again and again. */
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
