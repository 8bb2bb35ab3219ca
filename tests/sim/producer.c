/* SPDX-License-Identifier: MIT */
/* Steps in which a producer controls jobs. */
#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "sim/model_job.h"
#include "sim/schedule.h"
#include "support/verify.h"

#define MINUTE INT64_C(60000)
#define DAY    (24 * 60 * MINUTE)

/* ---- Control ---- */

static bool cancel(struct world *w, const struct request *r)
{
    uint64_t cold = world_cold_jobs(w);
    int is;

    request_enter(w, r);
    is = engine_cancel(w->engine, r->id);
    trace_note("CANCEL job %" PRIu64 ": outcome %d", r->id.seq, is);
    request_leave(w, r, is);
    if (is == BELFRY_COLD)
        return false;
    world_adopt_job(w, r->id);
    int expected = model_cancel(&w->model, r->id);
    CHECK(is == expected, "CANCEL of job %" PRIu64 " answers %d, expected %d", r->id.seq, is,
          expected);
    cover_cold(world_cold_jobs(w) < cold, EVENT_COLD_CANCELLED);
    world_answer(w, "CANCEL");
    return true;
}

void step_cancel(struct world *w)
{
    struct job_id id = world_pick(w, WAITING | 1u << JOB_LEASED);

    request_send(w, &(struct request){ .execute = cancel, .id = id, .scope = world_scope(w, id) });
}

static bool delete_job(struct world *w, const struct request *r)
{
    uint64_t cold = world_cold_jobs(w);
    int is;

    request_enter(w, r);
    is = engine_discard(w->engine, r->id);
    trace_note("DELETE job %" PRIu64 ": %s", r->id.seq, is ? error_name(is) : "ok");
    request_leave(w, r, is);
    if (is == BELFRY_COLD)
        return false;
    if (is) /* else it would be taken for one that was forgotten */
        world_adopt_job(w, r->id);
    struct model_job *job = model_find(&w->model, r->id);
    if (!is && job && model_ended(job))
        job->telling = false; /* the engine deletes it when it has told others of its end */
    if (is || job || !model_ghost(&w->model, r->id)) {
        int expected = model_delete(&w->model, r->id);

        CHECK(is == expected, "DELETE of job %" PRIu64 " answers %s, expected %s", r->id.seq,
              is ? error_name(is) : "ok", expected ? error_name(expected) : "ok");
    }
    if (!is)
        cover_event(world_cold_jobs(w) < cold ? EVENT_COLD_DELETED : EVENT_DELETED);
    world_answer(w, "DELETE");
    return true;
}

void step_delete(struct world *w)
{
    struct job_id id = world_pick(w, ~0u);

    request_send(w,
                 &(struct request){ .execute = delete_job, .id = id, .scope = world_scope(w, id) });
}

static bool cancel_key(struct world *w, const struct request *r)
{
    char queue[TEXT_MAX], order[TEXT_MAX], key[TEXT_MAX];
    struct job_id id = { 0 };
    int err = engine_find_key(w->engine, text_make(TEXT_QUEUE, r->queue, queue),
                              text_make(TEXT_ORDER, r->key / KEYS_OF_ORDER, order),
                              text_make(TEXT_KEY, r->key, key), &id);

    trace_note("CANCEL key %u of q%u: %s", r->key, r->queue, err ? error_name(err) : "ok");
    if (err == BELFRY_COLD)
        return false;
    if (err)
        model_unhold(&w->model, r->queue, r->key);
    else
        model_hold_again(&w->model, r->queue, r->key, id);
    const struct model_job *job = model_find_key(&w->model, r->queue, r->key);
    if (job && model_is_over(&w->model, job)) /* on disk, where the engine has not noted it yet */
        job = NULL;
    CHECK(err == (job ? 0 : BELFRY_NOTFOUND), "key %u of q%u: %s", r->key, r->queue,
          err ? error_name(err) : "ok");
    if (err)
        return true;
    CHECK(id.seq == job->id.seq, "key %u of q%u: job %" PRIu64 ", expected %" PRIu64, r->key,
          r->queue, id.seq, job->id.seq);
    w->follow_up =
        (struct request){ .execute = cancel, .id = id, .scope = 1 + tenants_of(r->queue) };
    return true;
}

void step_cancel_key(struct world *w)
{
    uint32_t key = (uint32_t)rng_between(&w->rng, 1, w->keys);

    if (rng_chance(&w->rng, w->order_percent))
        key += (uint32_t)rng_between(&w->rng, 1, MODEL_ORDERS) * KEYS_OF_ORDER;
    request_send(w, &(struct request){ .execute = cancel_key,
                                       .queue = (unsigned)rng_below(&w->rng, MODEL_QUEUES),
                                       .key = key });
}

/* Fills segments with what is soon worth nothing, so that all that lives is copied forward. */
void step_rotate(struct world *w)
{
    uint64_t crashes = w->crashes;
    int rounds = (int)rng_between(&w->rng, 5, 40);

    for (int i = 0; i < rounds && crashes == w->crashes && !w->model.refusing; i++) {
        struct request r = schedule_random(w);
        r.spec.payload = (w->texts + 40) / 41 * 41; /* a large one */
        r.spec.key = 0;
        r.spec.due_ms = w->wall_ms + DAY;
        r.spec.retain_ms = r.spec.expire_ms = 0;
        r.spec.after_count = 0;
        size_t before = w->model.count;
        schedule_one(w, &r);
        if (w->model.count == before) /* the tenant has as many as it may */
            return;
        struct job_id id = w->model.jobs[w->model.count - 1].id;
        request_finish(w, &(struct request){ .execute = cancel, .id = id });
        if (crashes == w->crashes)
            step_cycle(w);
        if (crashes == w->crashes)
            step_chores(w);
    }
}

/* A key goes from a job to another one: the first is cancelled, or it is dead and its hold may be
 * over. False if the world ended meanwhile. */
static bool hand_over(struct world *w)
{
    uint64_t crashes = w->crashes;
    struct request r = schedule_random(w);
    struct job_id id = world_pick(w, rng_chance(&w->rng, 30) ? 1u << JOB_DEAD : WAITING);
    if (rng_chance(&w->rng, 80))
        engine_gathered(w->engine, (size_t)rng_below(&w->rng, 10), &id);
    const struct model_job *job = model_find(&w->model, id);

    if (!job || job->key == 0)
        return true;
    r.spec.queue = job->queue;
    r.spec.key = job->key;
    r.spec.order = job->key / KEYS_OF_ORDER;
    r.spec.due_ms = w->wall_ms + rng_duration(&w->rng, 400 * DAY);
    r.spec.expire_ms = 0;
    r.spec.after_count = 0;
    if (job->state != JOB_DEAD)
        request_finish(w, &(struct request){ .execute = cancel, .id = id });
    if (crashes == w->crashes)
        request_finish(w, &r);
    return crashes == w->crashes;
}

/* Hands over several keys at once, so that both jobs of a key may be in the batch that is being
 * gathered. */
void step_hand_over(struct world *w)
{
    for (int64_t n = rng_between(&w->rng, 1, 12); n > 0 && hand_over(w); n--)
        continue;
}

static void read_pages(struct world *w, int most)
{
    for (int i = 0; i < most; i++) {
        step_page(w);
        requests_finish(w);
        if (!w->lister.on)
            return;
    }
}

/* In the middle of a LIST, all jobs that a job waits for are cancelled. The job goes back to its
 * time, and to disk, behind the LIST. */
void step_untie(struct world *w)
{
    const struct model_job *job = model_find(&w->model, world_pick(w, 1u << JOB_WAITING));
    uint64_t crashes = w->crashes;
    struct job_id parents[MODEL_AFTERS];
    size_t n = 0;

    if (!job || job->state != JOB_WAITING || job->after_fail != AFTERFAIL_RUN || !w->cold)
        return;
    for (; n < job->after_count; n++)
        parents[n] = job->after[n].id;
    read_pages(w, (int)rng_between(&w->rng, 1, 20));
    while (n-- > 0 && crashes == w->crashes)
        request_finish(w, &(struct request){ .execute = cancel, .id = parents[n] });
    step_chores(w);
    read_pages(w, 200);
}

static void check_error(const char *verb, struct job_id id, int is, int expected)
{
    CHECK(is == expected, "%s of job %" PRIu64 " answers %s, expected %s", verb, id.seq,
          is ? error_name(is) : "ok", expected ? error_name(expected) : "ok");
}

static bool reschedule(struct world *w, const struct request *r)
{
    uint64_t cold = world_cold_jobs(w);
    int err;

    request_enter(w, r);
    err = engine_reschedule(w->engine, r->id, r->ms);
    trace_note("RESCHEDULE job %" PRIu64 " to %" PRId64 ": %s", r->id.seq, r->ms,
               err ? error_name(err) : "ok");
    request_leave(w, r, err);
    if (err == BELFRY_COLD)
        return false;
    world_adopt_job(w, r->id);
    if (err != BELFRY_FULL || !w->model.refusing)
        check_error("RESCHEDULE", r->id, err, model_reschedule(&w->model, r->id, r->ms));
    cover_cold(world_cold_jobs(w) < cold, EVENT_COLD_MOVED);
    world_answer(w, "RESCHEDULE");
    return true;
}

void step_reschedule(struct world *w)
{
    struct job_id id = world_pick(w, WAITING);
    const struct model_job *job = model_find(&w->model, id);
    int64_t due = schedule_due(w);

    if (due < 0)
        due = w->model.now_ms;
    if (job && rng_chance(&w->rng, 25)) /* to where it was, or is */
        due = rng_chance(&w->rng, 50) ? id.due_ms : job->at_ms;
    request_send(w, &(struct request){
                        .execute = reschedule, .id = id, .ms = due, .scope = world_scope(w, id) });
}

void rival_hold_again(struct world *w, const struct model_job *job)
{
    struct look look = { .partition = w->partition };
    char queue[TEXT_MAX], order[TEXT_MAX], key[TEXT_MAX];
    struct job_id id;
    bool paused = plan_pause(w, true);

    if (!look_key(&look, text_make(TEXT_QUEUE, job->queue, queue),
                  text_make(TEXT_ORDER, job->order, order), text_make(TEXT_KEY, job->key, key),
                  &id))
        model_hold_again(&w->model, job->queue, job->key, id);
    look_end(&look);
    plan_pause(w, paused);
}

void adopt_rivals(struct world *w, unsigned queue)
{
    for (size_t i = 0; i < w->model.count;) {
        const struct model_job *job = &w->model.jobs[i];
        size_t count = w->model.count;

        if (job->queue == queue && job->key && model_is_over(&w->model, job))
            world_adopt_job(w, job->id);
        i = w->model.count == count ? i + 1 : 0;
    }
}

static bool redrive(struct world *w, const struct request *r)
{
    uint64_t cold = world_cold_jobs(w);
    int err;

    request_enter(w, r);
    err = engine_redrive(w->engine, r->id);
    trace_note("REDRIVE job %" PRIu64 ": %s", r->id.seq, err ? error_name(err) : "ok");
    request_leave(w, r, err);
    if (model_find(&w->model, r->id))
        model_disturb(&w->model, model_find(&w->model, r->id)->queue);
    if (err == BELFRY_COLD)
        return false;
    world_adopt_job(w, r->id);
    const struct model_job *job = model_find(&w->model, r->id);
    if (job)
        adopt_rivals(w, job->queue);
    job = model_find(&w->model, r->id);
    if (!err && job && job->key)
        model_unhold(&w->model, job->queue, job->key);
    if (err == BELFRY_KEYEXISTS && job)
        rival_hold_again(w, job);
    if (err != BELFRY_FULL || !w->model.refusing)
        check_error("REDRIVE", r->id, err, model_redrive(&w->model, r->id));
    cover_cold(world_cold_jobs(w) < cold, EVENT_COLD_REDRIVEN);
    world_answer(w, "REDRIVE");
    return true;
}

/* A dead job whose key another job has, or any. */
static struct job_id pick_dead(struct world *w)
{
    const struct model *m = &w->model;
    size_t first = m->count ? (size_t)rng_below(&w->rng, m->count) : 0;

    for (size_t i = 0; i < m->count && rng_chance(&w->rng, 99); i++) {
        const struct model_job *job = &m->jobs[(first + i) % m->count];
        const struct model_job *owner = job->key ? model_find_key(m, job->queue, job->key) : NULL;

        if (job->state == JOB_DEAD && owner && owner != job)
            return job->id;
    }
    return world_pick(w, 1u << JOB_DEAD);
}

void step_redrive(struct world *w)
{
    struct job_id id = pick_dead(w);

    request_send(w, &(struct request){ .execute = redrive, .id = id, .scope = world_scope(w, id) });
}

/* Puts those back in the model that the engine did; returns when the last of them had ended. */
static int64_t redriven(struct world *w, unsigned q, int *n)
{
    struct look look = { .partition = w->partition };
    int64_t newest = INT64_MIN;
    bool paused = plan_pause(w, true);

    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        struct job_view v;

        if (job->queue != q || job->state != JOB_DEAD || look_get(&look, job->id, &v) ||
            v.state == JOB_DEAD)
            continue;
        newest = job->ended_ms > newest ? job->ended_ms : newest;
        check_error("REDRIVE", job->id, 0, model_redrive(&w->model, job->id));
        --*n;
    }
    look_end(&look);
    plan_pause(w, paused);
    return newest;
}

/* Dead jobs whose keys are taken go behind the others. A job that was just put back takes its key,
 * too. */
static void note_passed_over(struct model *m, unsigned q)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->jobs[i].queue == q && m->jobs[i].state == JOB_DEAD && m->jobs[i].key &&
            model_find_key(m, q, m->jobs[i].key))
            m->queues[q].passed_over = true;
}

static bool redrive_queue(struct world *w, const struct request *r);

/* A REDRIVE of many pages does not come back to jobs whose keys were taken. */
static void note_under_way(struct world *w, unsigned q)
{
    struct model *m = &w->model;

    for (size_t i = 0; i < m->count; i++) {
        struct model_job *job = &m->jobs[i];

        if (job->queue == q && job->state == JOB_DEAD && model_rival(m, job))
            job->passed_over = true;
    }
}

static void note_redriven(struct world *w, unsigned q)
{
    struct model *m = &w->model;
    int under_way = 0;

    for (size_t i = 0; i < PARKED_MAX; i++)
        under_way += w->parked[i].fetch && w->parked[i].request.execute == redrive_queue &&
                     w->parked[i].request.queue == q;
    for (size_t i = 0; i < m->count && under_way <= 1; i++)
        if (m->jobs[i].queue == q)
            m->jobs[i].passed_over = false;
}

static bool redrive_queue(struct world *w, const struct request *r)
{
    char text[TEXT_MAX];
    int n = engine_redrive_queue(w->engine, text_make(TEXT_QUEUE, r->queue, text), r->limit);
    int rest = n;

    trace_note("REDRIVE q%u limit %zu: %d", r->queue, r->limit, n);
    model_disturb(&w->model, r->queue);
    w->model.scope = SCOPE_ALL;
    if (n == BELFRY_COLD) {
        note_under_way(w, r->queue);
        return false;
    }
    if (n == BELFRY_FULL && w->model.refusing)
        return true;
    CHECK(n >= 0 && n <= (int)r->limit, "REDRIVE of a queue answers %d", n);
    if (w->cold && w->model.latest_ms > w->model.now_ms)
        world_remember(w);
    adopt_rivals(w, r->queue);
    int64_t newest = redriven(w, r->queue, &rest);
    CHECK(rest == 0, "REDRIVE of a queue says %d, but it was %d", n, n - rest);
    const struct model_job *oldest = model_redrivable(&w->model, r->queue);
    /* What is in memory comes first, what has to be fetched may make an answer shorter, and a clock
     * that was set back may bring holds of keys back. */
    bool excused = w->cold && (n > 0 || w->model.latest_ms > w->model.now_ms);
    excused = excused || (oldest && oldest->passed_over);
    note_redriven(w, r->queue);
    CHECK(!oldest || n == (int)r->limit || excused, "REDRIVE of a queue leaves job %" PRIu64,
          oldest->id.seq);
    /* Which one is older can be told only as long as the clock went forward, and jobs whose keys
     * were taken come last. */
    bool sorted = !w->cold && !w->model.set_back && !w->model.queues[r->queue].passed_over;
    CHECK(!oldest || !sorted || oldest->ended_ms >= newest,
          "REDRIVE of a queue leaves job %" PRIu64 ", which is older", oldest->id.seq);
    note_passed_over(&w->model, r->queue);
    world_answer(w, "REDRIVE");
    return true;
}

void step_redrive_queue(struct world *w)
{
    request_send(w, &(struct request){ .execute = redrive_queue,
                                       .queue = (unsigned)rng_below(&w->rng, MODEL_QUEUES),
                                       .limit = (size_t)rng_between(&w->rng, 1, 4) });
}

void step_refuse(struct world *w)
{
    world_refuse(w, !w->model.refusing);
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

    switch (rng_below(&w->rng, 13)) {
    case 12: spec.order = (struct str){ long_key, sizeof(long_key) }; break;
    case 0: spec.priority = rng_chance(&w->rng, 50) ? 0 : 6; break;
    case 1: spec.backoff = STR("exp:1h"); break;
    case 2: spec.backoff = STR("soon"); break;
    case 3: spec.due_ms = TIME_MOMENT_MAX + 1; break;
    case 4: spec.queue = STR("a queue"); break;
    case 5: spec.queue = STR(""); break;
    case 8: spec.queue = STR("*@q0"); break;
    case 9: spec.queue = STR("default@q0"); break;
    case 10: spec.queue = STR("@q0"); break;
    case 11: spec.queue = STR("a@b@q0"); break;
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
    if (rng_chance(&w->rng, 30))
        return engine_tenant_set(w->engine, rng_chance(&w->rng, 50) ? STR("*") : STR("a@b"),
                                 &(struct tenant_settings){ .weight = 1 }, 1u << TENANT_WEIGHT);
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
    bool paused = plan_pause(w, true);
    world_adopt(w);
    judge_adopt_forgotten(w->partition, &w->model);
    CHECK(judge_same(w->partition, &w->model, why), "after a bad request, %s", why);
    plan_pause(w, paused);
}
