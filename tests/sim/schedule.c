/* SPDX-License-Identifier: MIT */
/* Steps in which a producer schedules jobs. */
#include "sim/schedule.h"

#include <inttypes.h>
#include <stdio.h>

#define MINUTE INT64_C(60000)
#define DAY    (24 * 60 * MINUTE)

#define PRESSED_JOBS 6 /* taken though memory is at its budget */

/* Near and far, and at one moment with many others. */
int64_t schedule_due(struct world *w)
{
    struct rng *r = &w->rng;

    if (w->cold && rng_chance(r, 40))
        return rng_chance(r, 30) ? w->herd_ms : w->wall_ms + rng_duration(r, 400 * DAY);
    switch (rng_below(r, 10)) {
    case 0:
    case 1:
    case 2: return -1;
    case 3: return w->wall_ms - rng_duration(r, DAY);
    case 4: return w->wall_ms + rng_duration(r, 40 * DAY);
    default: return w->wall_ms + rng_duration(r, 5 * MINUTE);
    }
}

static int64_t or_default(struct world *w, unsigned percent, int64_t value)
{
    return rng_chance(&w->rng, percent) ? value : -1;
}

static struct model_spec random_spec(struct world *w)
{
    struct rng *r = &w->rng;
    uint32_t order =
        rng_chance(r, w->order_percent) ? (uint32_t)rng_between(r, 1, MODEL_ORDERS) : 0;
    uint32_t key = rng_chance(r, 50) ? (uint32_t)rng_between(r, 1, w->keys) : 0;
    return (struct model_spec){
        .order = order,
        .queue = (unsigned)rng_below(r, MODEL_QUEUES),
        .payload = world_text(w),
        .due_ms = schedule_due(w),
        .key = key ? key + order * KEYS_OF_ORDER : 0,
        .if_exists = (enum if_exists)rng_below(r, 3),
        .priority = rng_chance(r, 60) ? 3 : (int)rng_between(r, 1, 5),
        .attempts = or_default(w, 50, rng_chance(r, 40) ? 0 : rng_between(r, 1, 4)),
        .backoff = rng_chance(r, 50) ? (unsigned)rng_between(r, 1, BACKOFFS - 1) : 0,
        .lease_ms = or_default(w, 40, 1 + rng_duration(r, 10 * MINUTE)),
        .retain_ms = or_default(w, 40, rng_chance(r, 30) ? 0 : rng_duration(r, 2 * DAY)),
        .expire_ms = rng_chance(r, w->expire_percent) ? 1 + rng_duration(r, 2 * DAY) : 0,
        .key_hold_ms = rng_chance(r, 25) ? 1 + rng_duration(r, DAY) : 0,
        .labels = rng_chance(r, 40) ? (uint32_t)rng_between(r, 1, 1000) : 0,
        .notify = rng_chance(r, w->gates ? 50 : 5),
        .passing = rng_chance(r, 15),
    };
}

/* Some jobs wait for others, mostly of their own tenant. */
static void random_after(struct world *w, struct model_spec *spec)
{
    struct rng *r = &w->rng;
    unsigned states = rng_chance(r, 80) ? WAITING | 1u << JOB_LEASED : ~0u;

    if (!rng_chance(r, w->after_percent))
        return;
    spec->after_fail = rng_chance(r, 50) ? AFTERFAIL_RUN : AFTERFAIL_CANCEL;
    spec->after_count = rng_chance(r, 60) ? 1 : (size_t)rng_between(r, 1, MODEL_AFTERS);
    for (size_t i = 0; i < spec->after_count; i++) {
        spec->after[i] = world_pick(w, states);
        const struct model_job *job = model_find(&w->model, spec->after[i]);
        while (i == 0 && job && rng_chance(r, 95) &&
               tenants_of(spec->queue) != tenants_of(job->queue))
            spec->queue = (unsigned)rng_below(r, MODEL_QUEUES);
        if (i > 0 && job && tenants_of(spec->queue) != tenants_of(job->queue) && rng_chance(r, 90))
            spec->after_count = i;
    }
}

/* The jobs that a spec waits for come to memory, and lose their places on disk by that. So does a
 * job that is to be replaced, though its replacement may be refused then. */
void spec_note(struct world *w, const struct model_spec *s)
{
    bool replaces = s->key && s->if_exists == IFEXISTS_REPLACE && w->cold;
    struct model_job *holder = replaces ? model_find_key(&w->model, s->queue, s->key) : NULL;

    if (holder)
        holder->placed = holder->moved = w->model.steps;
    for (size_t i = 0; i < s->after_count && w->cold; i++) {
        struct model_job *job = model_find(&w->model, s->after[i]);
        if (job)
            job->placed = job->moved = w->model.steps;
        if (job && w->again)
            cover_event(EVENT_WAITS_COLD);
    }
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

/* Of a job that was on disk. */
void cover_cold(bool was_cold, enum event e)
{
    if (was_cold)
        cover_event(e);
}

void spec_of(const struct model_spec *s, struct spec *ret)
{
    labels_make(s->labels, &ret->labels);
    ret->spec = (struct job_spec){
        .queue = text_make(TEXT_QUEUE, s->queue, ret->queue),
        .payload = text_make(TEXT_PAYLOAD, s->payload, ret->payload),
        .due_ms = s->due_ms,
        .key = text_make(TEXT_KEY, s->key, ret->key),
        .order = text_make(TEXT_ORDER, s->order, ret->order),
        .if_exists = s->if_exists,
        .priority = s->priority,
        .attempts = s->attempts,
        .backoff = str_of(backoffs_text(s->backoff)),
        .lease_ms = s->lease_ms,
        .retain_ms = s->retain_ms,
        .expire_ms = s->expire_ms,
        .key_hold_ms = s->key_hold_ms,
        .tags = ret->labels.tags,
        .tag_count = ret->labels.tag_count,
        .meta = ret->labels.meta,
        .meta_count = ret->labels.meta_count,
        .notify = s->notify,
        .passing = s->passing,
        .after = s->after,
        .after_count = s->after_count,
        .after_fail = s->after_fail,
    };
}

/* Where the engine was free to forget one, or found that it has expired. */
void spec_adopt(struct world *w, const struct model_spec *s)
{
    const struct model_job *holder = s->key ? model_find_key(&w->model, s->queue, s->key) : NULL;

    if (holder && model_is_over(&w->model, holder)) {
        cover_event(EVENT_EXPIRED_KEY);
        world_adopt_job(w, holder->id);
    }
    for (size_t i = 0; i < s->after_count; i++)
        world_adopt_job(w, s->after[i]);
}

/* What the engine answered to one: 0, or an error; what it says of the job is in `is`. */
void spec_judge(struct world *w, const struct model_spec *s, int err,
                const struct schedule_result *is)
{
    struct job_id id = { 0 };
    enum schedule_outcome outcome = SCHEDULE_CREATED;

    /* A key that exists adds no job; whether a full disk refuses it all the same is not promised.
     */
    if (err == BELFRY_FULL && w->model.refusing) {
        cover_event(EVENT_REFUSED);
        return;
    }
    /* The engine looks at AFTER and at limits only when the key is free. */
    bool is_free = err == BELFRY_NOTFOUND || err == BELFRY_INVALID || err == BELFRY_LIMIT ||
                   (!err && is->outcome == SCHEDULE_CREATED);
    if (s->key && is_free)
        model_unhold(&w->model, s->queue, s->key);
    if ((err == BELFRY_KEYEXISTS || (!err && is->outcome == SCHEDULE_KEPT)) && s->key)
        model_hold_again(&w->model, s->queue, s->key, is->id);
    spec_adopt(w, s);
    int expected = model_schedule(&w->model, s, &id, &outcome);
    CHECK(err == expected, "SCHEDULE answers %s, expected %s", err ? error_name(err) : "ok",
          expected ? error_name(expected) : "ok");
    if (!err)
        CHECK(is->outcome == outcome, "SCHEDULE: outcome %d, expected %d", is->outcome, outcome);
    if (!err && outcome == SCHEDULE_CREATED) {
        check_id(w, s, is->id);
        model_fire(&w->model); /* it may have ended at once */
    } else if (!err || err == BELFRY_KEYEXISTS)
        CHECK(is->id.seq == id.seq && is->id.due_ms == id.due_ms,
              "SCHEDULE names job %" PRIu64 ", expected %" PRIu64, is->id.seq, id.seq);
}

bool schedule_one(struct world *w, const struct request *r)
{
    const struct model_spec *s = &r->spec;
    static struct spec spec;
    struct schedule_result is = { 0 };
    uint64_t cold = world_cold_jobs(w);
    spec_of(s, &spec);
    bytes_note(w);
    int err = engine_schedule(w->engine, &spec.spec, &is);

    trace_note("SCHEDULE q%u p%u order %u due %" PRId64 " key %u %s priority %d attempts %" PRId64
               " backoff %s lease %" PRId64 " retain %" PRId64 " expire %" PRId64 " hold %" PRId64
               " labels %u notify %d pass %d after %zu (%" PRIu64 ", %" PRIu64
               ") %s: %s, job %" PRIu64,
               s->queue, s->payload, s->order, s->due_ms, s->key,
               s->if_exists == IFEXISTS_KEEP      ? "keep"
               : s->if_exists == IFEXISTS_REPLACE ? "replace"
                                                  : "reject",
               s->priority, s->attempts, backoffs_text(s->backoff), s->lease_ms, s->retain_ms,
               s->expire_ms, s->key_hold_ms, s->labels, s->notify, s->passing, s->after_count,
               s->after[0].seq, s->after[1].seq, s->after_fail == AFTERFAIL_RUN ? "run" : "cancel",
               err ? error_name(err) : "ok", is.id.seq);
    spec_note(w, s);
    if (err == BELFRY_COLD)
        return false;
    if (!bytes_judge(w, s, 1, err))
        spec_judge(w, s, err, &is);
    cover_cold(world_cold_jobs(w) < cold, EVENT_COLD_REPLACED);
    cover_cold(w->again && !err && is.outcome == SCHEDULE_KEPT, EVENT_COLD_KEPT);
    world_answer(w, "SCHEDULE");
    return true;
}

/* Whoever fills the memory, a tenant without jobs finds some room. */
static void check_room(const struct world *w)
{
    struct partition_stats s;
    uint64_t budget = w->options.memory_bytes;

    partition_stats(w->partition, &s);
    uint64_t used = s.memory_bytes - s.fetch_bytes;
    CHECK(used >= budget + budget / 16 * 3 || !partition_crammed(w->partition, STR("nobody")),
          "a tenant without jobs finds no room at %" PRIu64 " bytes, the budget is %" PRIu64, used,
          budget);
}

/* A server that is at its budget reads no requests, but for those that it had read before. */
bool schedule_pressed(struct world *w)
{
    if (!partition_pressed(w->partition) && !partition_overfull(w->partition)) {
        w->pressed_jobs = 0;
        return false;
    }
    cover_event(EVENT_PRESSED);
    check_room(w);
    return w->pressed_jobs++ >= PRESSED_JOBS;
}

struct request schedule_random(struct world *w)
{
    struct request r = { .execute = schedule_one, .spec = random_spec(w) };

    random_after(w, &r.spec);
    return r;
}

void step_schedule(struct world *w)
{
    struct request r = schedule_random(w);

    if (w->model.count < w->jobs_max && !schedule_pressed(w))
        request_send(w, &r);
}

/* Many at one moment; or a queue that is full of them. */
void step_herd(struct world *w)
{
    int n = (int)rng_between(&w->rng, 5, 40);
    unsigned queue = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    bool one_queue = rng_chance(&w->rng, 50);

    w->herd_ms = w->wall_ms + rng_duration(&w->rng, 3 * DAY);
    if (!w->cold)
        return;
    for (int i = 0; i < n && w->model.count < w->jobs_max && !schedule_pressed(w); i++) {
        struct request r = schedule_random(w);
        r.spec.due_ms = w->herd_ms;
        if (one_queue)
            r.spec.queue = queue;
        request_send(w, &r);
    }
}

/* For the key of a job that there is, mostly one that runs. */
void step_replace(struct world *w)
{
    struct request r = schedule_random(w);
    struct job_id id =
        world_pick(w, w->cold && rng_chance(&w->rng, 50) ? WAITING : 1u << JOB_LEASED);
    const struct model_job *job = model_find(&w->model, id);

    if (!job || !job->key)
        return;
    r.spec.queue = job->queue;
    r.spec.key = job->key;
    r.spec.order = job->order;
    r.spec.if_exists = IFEXISTS_REPLACE;
    request_send(w, &r);
}
