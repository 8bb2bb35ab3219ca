/* SPDX-License-Identifier: MIT */
/* Steps in which somebody looks. */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/steps.h"

#define MINUTE INT64_C(60000)

void step_get(struct world *w)
{
    char why[JUDGE_TEXT];
    struct job_view v;
    struct job_id id = world_pick(w, ~0u);
    const struct model_job *job = model_find(&w->model, id);
    int err = engine_get(w->engine, id, &v);

    trace_note("GET job %" PRIu64 ": %s", id.seq, err ? error_name(err) : "ok");
    CHECK(err == (job ? 0 : BELFRY_NOTFOUND), "GET job %" PRIu64 ": %s", id.seq,
          err ? error_name(err) : "ok");
    CHECK(!job || judge_job(&w->model, job, &v, why), "%s", why);
    world_answer(w, "GET");
}

static bool listed(struct lister *l, struct job_id id)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->seen[i].seq == id.seq)
            return true;
    return false;
}

static int note_one(void *arg, const struct job_view *v)
{
    struct lister *l = arg;

    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->seen = realloc(l->seen, l->cap * sizeof(*l->seen));
        CHECK(l->seen, "the simulator is out of memory");
    }
    l->seen[l->count++] = v->id;
    return 0;
}

static bool matches(const struct list_filter *f, int queue, const struct model_job *job)
{
    return (queue < 0 || (unsigned)queue == job->queue) &&
           (f->state < 0 || (enum job_state)f->state == job->state) && job->due_ms >= f->from_ms &&
           job->due_ms < f->to_ms;
}

/* All pages at once: exactly the jobs that match, each once. */
void step_list(struct world *w)
{
    char text[TEXT_MAX];
    struct rng *r = &w->rng;
    struct lister l = { 0 };
    int queue = (int)rng_between(r, -1, MODEL_QUEUES - 1);
    struct list_filter f = {
        .queue = queue < 0 ? (struct str){ 0 } : text_make(TEXT_QUEUE, (uint32_t)queue, text),
        .state = (int)rng_between(r, -1, JOB_STATE_COUNT - 1),
        .to_ms = INT64_MAX,
        .limit = (size_t)rng_between(r, 1, 9),
    };
    size_t expected = 0;

    if (rng_chance(r, 50))
        f.from_ms = w->wall_ms - rng_duration(r, 60 * MINUTE);
    if (rng_chance(r, 50))
        f.to_ms = w->wall_ms + rng_duration(r, 60 * MINUTE);
    trace_note("LIST queue %d state %d limit %zu", queue, f.state, f.limit);
    do {
        size_t before = l.count;
        int err = engine_list(w->engine, &f, note_one, &l, &l.cursor);
        CHECK(err >= 0, "LIST answers %s", error_name(err));
        CHECK(l.count - before <= f.limit, "LIST gives more than its limit");
    } while (l.cursor.more);
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        if (!matches(&f, queue, job))
            continue;
        expected++;
        CHECK(listed(&l, job->id), "LIST leaves out job %" PRIu64, job->id.seq);
    }
    CHECK(l.count == expected, "LIST gives %zu jobs, expected %zu", l.count, expected);
    free(l.seen);
    world_answer(w, "LIST");
}

/* Jobs that were there all the time and did not move appear exactly once. */
static void lister_check(struct world *w)
{
    struct lister *l = &w->lister;

    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        size_t times = 0;
        if (job->moved >= l->started)
            continue;
        for (size_t k = 0; k < l->count; k++)
            times += l->seen[k].seq == job->id.seq;
        CHECK(times == 1, "job %" PRIu64 " is %zu times in the pages of a LIST", job->id.seq,
              times);
    }
}

/* One page of a LIST that goes on while jobs come and go. */
void step_page(struct world *w)
{
    struct lister *l = &w->lister;
    struct list_filter all = { .state = -1, .to_ms = INT64_MAX };

    if (!l->on) {
        l->on = true;
        l->started = w->model.steps;
        l->count = 0;
        l->cursor = (struct list_cursor){ 0 };
    }
    all.limit = (size_t)rng_between(&w->rng, 1, 20);
    trace_note("LIST, next page");
    int err = engine_list(w->engine, &all, note_one, l, &l->cursor);
    CHECK(err >= 0, "LIST answers %s", error_name(err));
    if (!l->cursor.more) {
        lister_check(w);
        if (w->model.steps > l->started + 1)
            cover_event(EVENT_PAGED);
        l->on = false;
    }
    world_answer(w, "LIST");
}

void step_compare(struct world *w)
{
    world_compare(w);
}
