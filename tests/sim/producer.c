/* SPDX-License-Identifier: MIT */
/* Steps in which somebody schedules and controls jobs. */
#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "sim/steps.h"

#define MINUTE INT64_C(60000)
#define DAY    (24 * 60 * MINUTE)

#define ANY_STATE (~0u)
#define WAITING   (1u << JOB_SCHEDULED | 1u << JOB_READY)

static int64_t random_due(struct world *w)
{
    switch (rng_below(&w->rng, 10)) {
    case 0:
    case 1:
    case 2: return -1;
    case 3: return w->wall_ms - rng_duration(&w->rng, DAY);
    case 4: return w->wall_ms + rng_duration(&w->rng, 40 * DAY);
    default: return w->wall_ms + rng_duration(&w->rng, 5 * MINUTE);
    }
}

static int64_t or_default(struct world *w, unsigned percent, int64_t value)
{
    return rng_chance(&w->rng, percent) ? value : -1;
}

static struct model_spec random_spec(struct world *w)
{
    struct rng *r = &w->rng;
    return (struct model_spec){
        .queue = (unsigned)rng_below(r, MODEL_QUEUES),
        .payload = world_text(w),
        .due_ms = random_due(w),
        .key = rng_chance(r, 50) ? (uint32_t)rng_between(r, 1, w->keys) : 0,
        .if_exists = (enum if_exists)rng_below(r, 3),
        .priority = rng_chance(r, 60) ? 3 : (int)rng_between(r, 1, 5),
        .attempts = or_default(w, 50, rng_chance(r, 40) ? 0 : rng_between(r, 1, 4)),
        .backoff = rng_chance(r, 50) ? (unsigned)rng_between(r, 1, BACKOFFS - 1) : 0,
        .lease_ms = or_default(w, 40, 1 + rng_duration(r, 10 * MINUTE)),
        .retain_ms = or_default(w, 40, rng_chance(r, 30) ? 0 : rng_duration(r, 2 * DAY)),
    };
}

static void check_id(struct world *w, const struct model_spec *spec, struct job_id id)
{
    int64_t due = spec->due_ms < 0 ? w->model.now_ms : spec->due_ms;

    CHECK(id.seq > w->model.seq_max, "the new job has sequence %" PRIu64 " after %" PRIu64, id.seq,
          w->model.seq_max);
    CHECK(id.partition == w->options.number && id.due_ms == due, "the new job has a wrong id");
    w->model.seq_max = id.seq;
    w->model.jobs[w->model.count - 1].id = id;
}

static void schedule(struct world *w, const struct model_spec *s)
{
    char queue[TEXT_MAX], payload[TEXT_MAX], key[TEXT_MAX];
    struct job_spec spec = {
        .queue = text_make(TEXT_QUEUE, s->queue, queue),
        .payload = text_make(TEXT_PAYLOAD, s->payload, payload),
        .due_ms = s->due_ms,
        .key = text_make(TEXT_KEY, s->key, key),
        .if_exists = s->if_exists,
        .priority = s->priority,
        .attempts = s->attempts,
        .backoff = str_of(backoffs_text(s->backoff)),
        .lease_ms = s->lease_ms,
        .retain_ms = s->retain_ms,
    };
    struct schedule_result is = { 0 };
    struct job_id id = { 0 };
    enum schedule_outcome outcome = SCHEDULE_CREATED;
    int err = engine_schedule(w->engine, &spec, &is);

    trace_note("SCHEDULE q%u p%u due %" PRId64 " key %u %s priority %d attempts %" PRId64
               " backoff %s lease %" PRId64 " retain %" PRId64 ": %s, job %" PRIu64,
               s->queue, s->payload, s->due_ms, s->key,
               s->if_exists == IFEXISTS_KEEP      ? "keep"
               : s->if_exists == IFEXISTS_REPLACE ? "replace"
                                                  : "reject",
               s->priority, s->attempts, backoffs_text(s->backoff), s->lease_ms, s->retain_ms,
               err ? error_name(err) : "ok", is.id.seq);
    /* A key that exists adds no job; whether a full disk refuses it all the same is not promised.
     */
    if (err == BELFRY_FULL && w->model.refusing) {
        cover_event(EVENT_REFUSED);
        return;
    }
    int expected = model_schedule(&w->model, s, &id, &outcome);
    CHECK(err == expected, "SCHEDULE answers %s, expected %s", err ? error_name(err) : "ok",
          expected ? error_name(expected) : "ok");
    if (!err)
        CHECK(is.outcome == outcome, "SCHEDULE: outcome %d, expected %d", is.outcome, outcome);
    if (!err && outcome == SCHEDULE_CREATED)
        check_id(w, s, is.id);
    else if (!err || err == BELFRY_KEYEXISTS)
        CHECK(is.id.seq == id.seq && is.id.due_ms == id.due_ms,
              "SCHEDULE names job %" PRIu64 ", expected %" PRIu64, is.id.seq, id.seq);
}

void step_schedule(struct world *w)
{
    struct model_spec spec = random_spec(w);

    if (w->model.count >= w->jobs_max)
        return;
    schedule(w, &spec);
    world_answer(w, "SCHEDULE");
}

/* For the key of a job that there is, mostly one that runs. */
void step_replace(struct world *w)
{
    struct model_spec spec = random_spec(w);
    struct job_id id = world_pick(w, 1u << JOB_LEASED);
    const struct model_job *job = model_find(&w->model, id);

    if (!job || !job->key)
        return;
    spec.queue = job->queue;
    spec.key = job->key;
    spec.if_exists = IFEXISTS_REPLACE;
    schedule(w, &spec);
    world_answer(w, "SCHEDULE");
}

/* ---- Control ---- */

static void cancel(struct world *w, struct job_id id)
{
    enum cancel_outcome is = engine_cancel(w->engine, id);
    enum cancel_outcome expected = model_cancel(&w->model, id);

    trace_note("CANCEL job %" PRIu64 ": outcome %d", id.seq, is);
    CHECK(is == expected, "CANCEL answers %d, expected %d", is, expected);
    world_answer(w, "CANCEL");
}

void step_cancel(struct world *w)
{
    cancel(w, world_pick(w, WAITING | 1u << JOB_LEASED));
}

void step_cancel_key(struct world *w)
{
    char queue[TEXT_MAX], key[TEXT_MAX];
    unsigned q = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    uint32_t k = (uint32_t)rng_between(&w->rng, 1, w->keys);
    const struct model_job *job = model_find_key(&w->model, q, k);
    struct job_id id = { 0 };
    int err = engine_find_key(w->engine, text_make(TEXT_QUEUE, q, queue),
                              text_make(TEXT_KEY, k, key), &id);

    CHECK(err == (job ? 0 : BELFRY_NOTFOUND), "key %u of q%u: %s", k, q,
          err ? error_name(err) : "ok");
    if (!err)
        cancel(w, id);
}

/* Fills segments with what is soon worth nothing, so that all that lives is copied forward. */
void step_rotate(struct world *w)
{
    uint64_t crashes = w->crashes;
    int rounds = (int)rng_between(&w->rng, 5, 40);

    for (int i = 0; i < rounds && crashes == w->crashes && !w->model.refusing; i++) {
        struct model_spec spec = random_spec(w);
        spec.payload = (w->texts + 40) / 41 * 41; /* a large one */
        spec.key = 0;
        spec.due_ms = w->wall_ms + DAY;
        spec.retain_ms = 0;
        schedule(w, &spec);
        struct job_id id = w->model.jobs[w->model.count - 1].id;
        world_answer(w, "SCHEDULE");
        cancel(w, id);
        step_cycle(w);
        if (crashes == w->crashes)
            step_chores(w);
    }
}

static void check_error(const char *verb, int is, int expected)
{
    CHECK(is == expected, "%s answers %s, expected %s", verb, is ? error_name(is) : "ok",
          expected ? error_name(expected) : "ok");
}

void step_reschedule(struct world *w)
{
    struct job_id id = world_pick(w, WAITING);
    int64_t due = random_due(w);

    due = due < 0 ? w->model.now_ms : due;
    int err = engine_reschedule(w->engine, id, due);
    trace_note("RESCHEDULE job %" PRIu64 " to %" PRId64 ": %s", id.seq, due,
               err ? error_name(err) : "ok");
    if (err != BELFRY_FULL || !w->model.refusing)
        check_error("RESCHEDULE", err, model_reschedule(&w->model, id, due));
    world_answer(w, "RESCHEDULE");
}

void step_redrive(struct world *w)
{
    struct job_id id = world_pick(w, 1u << JOB_DEAD);
    int err = engine_redrive(w->engine, id);

    trace_note("REDRIVE job %" PRIu64 ": %s", id.seq, err ? error_name(err) : "ok");
    if (err != BELFRY_FULL || !w->model.refusing)
        check_error("REDRIVE", err, model_redrive(&w->model, id));
    world_answer(w, "REDRIVE");
}

/* Puts those back in the model that the engine did; returns when the last of them had ended. */
static int64_t redriven(struct world *w, unsigned q, int *n)
{
    int64_t newest = INT64_MIN;

    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        struct job_view v;

        if (job->queue != q || job->state != JOB_DEAD || engine_get(w->engine, job->id, &v) ||
            v.state == JOB_DEAD)
            continue;
        newest = job->ended_ms > newest ? job->ended_ms : newest;
        check_error("REDRIVE", 0, model_redrive(&w->model, job->id));
        --*n;
    }
    return newest;
}

void step_redrive_queue(struct world *w)
{
    char text[TEXT_MAX];
    unsigned q = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    size_t limit = (size_t)rng_between(&w->rng, 1, 4);
    int n = engine_redrive_queue(w->engine, text_make(TEXT_QUEUE, q, text), limit);
    int rest = n;

    trace_note("REDRIVE q%u limit %zu: %d", q, limit, n);
    if (n == BELFRY_FULL && w->model.refusing)
        return;
    CHECK(n >= 0 && n <= (int)limit, "REDRIVE of a queue answers %d", n);
    int64_t newest = redriven(w, q, &rest);
    CHECK(rest == 0, "REDRIVE of a queue says %d, but it was %d", n, n - rest);
    const struct model_job *oldest = model_redrivable(&w->model, q);
    CHECK(!oldest || n == (int)limit, "REDRIVE of a queue leaves job %" PRIu64, oldest->id.seq);
    /* Which one is older can be told only as long as the clock went forward. */
    CHECK(!oldest || w->model.set_back || oldest->ended_ms >= newest,
          "REDRIVE of a queue leaves job %" PRIu64 ", which is older", oldest->id.seq);
    world_answer(w, "REDRIVE");
}

/* ---- Queues ---- */

static void queue_set(struct world *w, unsigned q, const struct model_queue *s, unsigned fields)
{
    char text[TEXT_MAX];
    struct queue_settings settings = {
        .paused = s->paused,
        .lease_ms = s->lease_ms,
        .attempts = s->attempts,
        .retain_ms = s->retain_ms,
        .retain_dead_ms = s->retain_dead_ms,
        .key_hold_ms = s->key_hold_ms,
        .past_grace_ms = s->past_grace_ms,
    };

    snprintf(settings.backoff, sizeof(settings.backoff), "%s", backoffs_text(s->backoff));
    int err = engine_queue_set(w->engine, text_make(TEXT_QUEUE, q, text), &settings, fields);
    trace_note("QUEUE q%u fields %x: paused %d lease %" PRId64 " attempts %" PRId64 " backoff %s"
               " retain %" PRId64 " dead %" PRId64 " hold %" PRId64 " grace %" PRId64,
               q, fields, s->paused, s->lease_ms, s->attempts, settings.backoff, s->retain_ms,
               s->retain_dead_ms, s->key_hold_ms, s->past_grace_ms);
    check_error("QUEUE", err, 0);
    model_queue_set(&w->model, q, s, fields);
    world_answer(w, "QUEUE");
}

void step_queue_set(struct world *w)
{
    struct rng *r = &w->rng;
    struct model_queue s = {
        .lease_ms = 1 + rng_duration(r, 5 * MINUTE),
        .attempts = rng_between(r, 0, 6),
        .backoff = (unsigned)rng_between(r, 1, BACKOFFS - 1),
        .retain_ms = rng_chance(r, 20) ? 0 : rng_duration(r, 2 * DAY),
        .retain_dead_ms = rng_chance(r, 20) ? 0 : rng_duration(r, 31 * DAY),
        .key_hold_ms = rng_chance(r, 20) ? 0 : rng_duration(r, DAY),
        .past_grace_ms = rng_chance(r, 60) ? -1 : rng_duration(r, DAY),
    };

    queue_set(w, (unsigned)rng_below(r, MODEL_QUEUES), &s,
              (unsigned)rng_next(r) & 0xff & ~(1u << QUEUE_PAUSED));
}

void step_pause(struct world *w)
{
    unsigned q = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    bool paused = w->model.queues[q].paused;

    queue_set(w, q, &(struct model_queue){ .paused = !paused || rng_chance(&w->rng, 10) },
              1u << QUEUE_PAUSED);
}

void step_refuse(struct world *w)
{
    w->model.refusing = !w->model.refusing;
    engine_refuse_new(w->engine, w->model.refusing);
    trace_note("new jobs are %s", w->model.refusing ? "refused" : "taken");
}

/* ---- Bad input: an error, and nothing changes ---- */

static int bad_schedule(struct world *w)
{
    static const char long_key[KEY_MAX_BYTES + 1];
    struct schedule_result result;
    struct job_spec spec = {
        .queue = STR("q0"),
        .due_ms = -1,
        .priority = 3,
        .attempts = -1,
        .lease_ms = -1,
        .retain_ms = -1,
    };

    switch (rng_below(&w->rng, 8)) {
    case 0: spec.priority = rng_chance(&w->rng, 50) ? 0 : 6; break;
    case 1: spec.backoff = STR("exp:1h"); break;
    case 2: spec.backoff = STR("soon"); break;
    case 3: spec.due_ms = TIME_MOMENT_MAX + 1; break;
    case 4: spec.queue = STR("a queue"); break;
    case 5: spec.queue = STR(""); break;
    case 6: spec.key = (struct str){ long_key, sizeof(long_key) }; break;
    default: spec.lease_ms = rng_chance(&w->rng, 50) ? 0 : LEASE_MAX_MS + 1; break;
    }
    return engine_schedule(w->engine, &spec, &result);
}

static int bad_complete(struct world *w)
{
    static const char large[RESULT_MAX_BYTES + 1];
    struct job_id id = world_pick(w, 1u << JOB_LEASED);
    const struct model_job *job = model_find(&w->model, id);

    return engine_complete(w->engine, id, job ? job->token : 0,
                           (struct str){ large, sizeof(large) }, -1);
}

static int bad_queue(struct world *w)
{
    struct queue_settings s = { .backoff = "1m," };
    return rng_chance(&w->rng, 50)
               ? engine_queue_set(w->engine, STR("q0"), &s, 1u << QUEUE_BACKOFF)
               : engine_queue_set(w->engine, STR("q 0"), &s, 1u << QUEUE_PAUSED);
}

void step_invalid(struct world *w)
{
    char why[JUDGE_TEXT];
    int err = rng_chance(&w->rng, 60)   ? bad_schedule(w)
              : rng_chance(&w->rng, 50) ? bad_complete(w)
                                        : bad_queue(w);

    trace_note("a bad request: %s", err ? error_name(err) : "ok");
    CHECK(err < 0, "a bad request is taken");
    CHECK(judge_same(w->engine, &w->model, why), "after a bad request, %s", why);
}
