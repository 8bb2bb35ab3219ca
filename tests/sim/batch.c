/* SPDX-License-Identifier: MIT */
/* Steps in which a producer schedules several jobs in one request. */
#include <inttypes.h>

#include "sim/schedule.h"

struct items {
    struct spec each[BATCH_ITEMS];
    struct job_spec specs[BATCH_ITEMS];
    struct schedule_result results[BATCH_ITEMS];
};

/* The job that has the key of an item comes to memory, too: see spec_note. */
static void note_holder(struct world *w, const struct model_spec *s)
{
    struct model_job *job = s->key ? model_find_key(&w->model, s->queue, s->key) : NULL;

    if (job && w->cold)
        job->placed = job->moved = w->model.steps;
}

static void items_of(struct world *w, const struct request *r, struct items *ret)
{
    for (size_t i = 0; i < r->batch_count; i++) {
        spec_of(&r->batch[i], &ret->each[i]);
        ret->specs[i] = ret->each[i].spec;
        ret->results[i] = (struct schedule_result){ 0 };
        spec_note(w, &r->batch[i]);
        note_holder(w, &r->batch[i]);
    }
}

/* Notes the job that holds a key once more, after the clock was set back, if the engine says so. */
static void hold_again(struct world *w, const struct model_spec *s)
{
    struct look look = { .partition = w->partition };
    char queue[TEXT_MAX], order[TEXT_MAX], key[TEXT_MAX];
    struct job_id id;
    bool paused = plan_pause(w, true);

    if (s->key &&
        !look_key(&look, text_make(TEXT_QUEUE, s->queue, queue),
                  text_make(TEXT_ORDER, s->order, order), text_make(TEXT_KEY, s->key, key), &id))
        model_hold_again(&w->model, s->queue, s->key, id);
    else if (s->key)
        model_unhold(&w->model, s->queue, s->key);
    look_end(&look);
    plan_pause(w, paused);
}

/* What one after another would be answered: the first error, and at which item. `*ret_lost`: one of
 * them ends at once, and may have been counted as one that waits. */
static int expect(struct world *w, const struct request *r, size_t *ret_at, bool *ret_lost)
{
    struct model *m = &w->trial;
    int err = 0;

    model_copy(m, &w->model);
    m->whole = 1 + m->graveyard->count;
    *ret_lost = false;
    for (*ret_at = 0; *ret_at < r->batch_count && !err; ++*ret_at) {
        struct job_id id;
        enum schedule_outcome outcome;
        err = model_schedule(m, &r->batch[*ret_at], &id, &outcome);
        if (err || outcome != SCHEDULE_CREATED)
            continue;
        struct model_job *job = &m->jobs[m->count - 1];
        /* An id that no item can name. */
        job->id = (struct job_id){ job->due_ms, w->options.number, UINT64_MAX - *ret_at };

        *ret_lost = *ret_lost || job->state == JOB_CANCELLED;
    }
    *ret_at -= err != 0;
    return err;
}

static void judge_refused(struct world *w, const struct request *r, int err, size_t at)
{
    size_t expected_at;
    bool lost;

    for (size_t i = 0; i < r->batch_count; i++) {
        hold_again(w, &r->batch[i]);
        spec_adopt(w, &r->batch[i]);
    }
    int expected = expect(w, r, &expected_at, &lost);
    if (err == BELFRY_LIMIT && lost)
        return;
    CHECK(err == expected && at == expected_at,
          "BATCH answers %s at item %zu, expected %s at item %zu", error_name(err), at,
          expected ? error_name(expected) : "ok", expected_at);
    cover_event(EVENT_BATCH_REFUSED);
}

static bool batch_all(struct world *w, const struct request *r)
{
    static struct items items;
    uint64_t lsn = engine_lsn(w->engine);
    size_t at = 0;

    items_of(w, r, &items);
    bytes_note(w);
    int err = engine_schedule_all(w->engine, items.specs, r->batch_count, items.results, &at);
    trace_note("BATCH all of %zu: %s at item %zu", r->batch_count, err ? error_name(err) : "ok",
               at);
    CHECK(!engine_torn(w->engine), "a batch is torn");
    if (err == BELFRY_COLD)
        return false;
    if (w->again)
        cover_event(EVENT_BATCH_COLD);
    if (err == BELFRY_FULL && w->model.refusing)
        return true;
    if (bytes_judge(w, r->batch, err ? at + 1 : r->batch_count, err)) {
        cover_event(EVENT_BATCH_REFUSED);
    } else if (err) {
        /* Jobs may have come to memory, and ended there if they had expired, but none is new. */
        CHECK(w->again || w->cold || engine_lsn(w->engine) == lsn,
              "a batch that is refused leaves something");
        judge_refused(w, r, err, at);
    } else {
        w->model.whole = 1 + w->graveyard.count;
        for (size_t i = 0; i < r->batch_count; i++)
            spec_judge(w, &r->batch[i], 0, &items.results[i]);
        w->model.whole = 0;
        cover_event(EVENT_BATCH_ALL);
    }
    world_answer(w, "BATCH");
    return true;
}

/* What is on disk is fetched first; then each is by itself. */
static bool batch_each(struct world *w, const struct request *r)
{
    static struct items items;

    items_of(w, r, &items);
    if (engine_schedule_ask(w->engine, items.specs, r->batch_count) == BELFRY_COLD) {
        trace_note("BATCH each of %zu: COLD", r->batch_count);
        return false;
    }
    /* Holders of keys that came to memory for any of the items may have expired by that. */
    for (size_t i = 0; i < r->batch_count; i++)
        spec_adopt(w, &r->batch[i]);
    w->model.replaying = true; /* what is late already expires when the time is looked at */
    for (size_t i = 0; i < r->batch_count; i++) {
        bytes_note(w);
        request_answer_again(w);
        int err = engine_schedule_asked(w->engine, &items.specs[i], &items.results[i]);
        trace_note("BATCH each, item %zu: %s, job %" PRIu64, i, err ? error_name(err) : "ok",
                   items.results[i].id.seq);
        CHECK(err != BELFRY_COLD, "an item of a batch is COLD after all was fetched");
        if (!bytes_judge(w, &r->batch[i], 1, err))
            spec_judge(w, &r->batch[i], err, &items.results[i]);
    }
    w->model.replaying = false;
    model_fire(&w->model);
    if (w->again)
        cover_event(EVENT_BATCH_COLD);
    cover_event(EVENT_BATCH_EACH);
    world_answer(w, "BATCH");
    return true;
}

void step_batch(struct world *w)
{
    struct rng *r = &w->rng;
    struct request request = { .execute = rng_chance(r, 60) ? batch_all : batch_each };

    if (w->model.count >= w->jobs_max || schedule_pressed(w))
        return;
    request.batch_count = (size_t)rng_between(r, 1, BATCH_ITEMS);
    for (size_t i = 0; i < request.batch_count; i++) {
        struct model_spec *s = &request.batch[i];
        *s = schedule_random(w).spec;
        /* A job that has ended by the time of the next item leaves its key to it, but not in what
         * is looked at beforehand. */
        if (s->after_count > 0 || s->expire_ms > 0)
            s->key = 0;
        if (request.execute == batch_all && rng_chance(r, 70)) /* or none is ever whole */
            s->if_exists = rng_chance(r, 50) ? IFEXISTS_KEEP : IFEXISTS_REPLACE;
    }
    request_send(w, &request);
}
