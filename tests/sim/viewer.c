/* SPDX-License-Identifier: MIT */
/* Steps in which a reader looks at jobs and figures. */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/labels.h"
#include "sim/steps.h"

#define MINUTE INT64_C(60000)

static bool get(struct world *w, const struct request *r)
{
    char why[JUDGE_TEXT];
    struct job_view v;
    int err;

    request_enter(w, r);
    err = engine_get(w->engine, r->id, &v);
    trace_note("GET job %" PRIu64 ": %s", r->id.seq, err ? error_name(err) : "ok");
    request_leave(w, r, err);
    if (err == BELFRY_COLD)
        return false;
    const struct model_job *job = model_find(&w->model, r->id);
    if (!job)
        job = model_ghost(&w->model, r->id);
    if (job && !model_in_scope(&w->model, job))
        job = NULL;
    if (!err && w->again && v.labels.tag_count + v.labels.meta_count > 0)
        cover_event(EVENT_LABELLED_COLD);
    CHECK(err == 0 || err == BELFRY_NOTFOUND, "GET job %" PRIu64 ": %s", r->id.seq,
          error_name(err));
    CHECK(err || job, "job %" PRIu64 " should not be there", r->id.seq);
    CHECK(err || judge_job(&w->model, job, &v, why), "%s", why);
    if (err)
        world_adopt_job(w, r->id);
    CHECK(!err || !model_seek(&w->model, r->id), "job %" PRIu64 " is lost", r->id.seq);
    world_answer(w, "GET");
    return true;
}

void step_get(struct world *w)
{
    struct job_id id = world_pick(w, ~0u);

    request_send(w, &(struct request){ .execute = get, .id = id, .scope = world_scope(w, id) });
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
    return v->id.seq % 5 == 0; /* as if the page were full */
}

/* The parts of a filter that step_list draws now and then, as the model knows them; 0: any. */
struct more_filters {
    unsigned recurrence;
    uint32_t order;
    uint32_t worker;
    bool ended;
};

static bool had_worker(const struct model_job *job, uint32_t worker)
{
    bool had = job->state == JOB_LEASED && job->worker == worker;

    for (size_t i = 0; i < job->history_count; i++)
        had = had || job->history[i].worker == worker;
    return had;
}

static bool matches_more(const struct model *m, const struct list_filter *f,
                         const struct more_filters *x, const struct model_job *job)
{
    return (f->states == 0 || f->states >> model_shown(m, job) & 1) &&
           (x->recurrence == 0 || text_is(f->recurrence, TEXT_RECURRENCE, job->recurrence)) &&
           (x->order == 0 || x->order == job->order) &&
           (x->worker == 0 || had_worker(job, x->worker)) &&
           (!x->ended || (job->ended_ms >= f->ended_from_ms && job->ended_ms < f->ended_to_ms));
}

/* Texts of a filter. */
struct filter_texts {
    char recurrence[TEXT_MAX], order[TEXT_MAX], worker[TEXT_MAX];
};

static void draw_more(struct world *w, struct list_filter *f, struct more_filters *x,
                      struct filter_texts *texts)
{
    struct rng *r = &w->rng;

    switch (rng_below(r, 5)) {
    case 0:
        f->state = -1;
        f->states = (unsigned)rng_between(r, 1, (1 << JOB_STATE_COUNT) - 1);
        break;
    case 1:
        x->recurrence = (unsigned)rng_between(r, 1, MODEL_RECURRENCES);
        f->recurrence = text_make(TEXT_RECURRENCE, x->recurrence, texts->recurrence);
        break;
    case 2:
        x->order = (uint32_t)rng_between(r, 1, MODEL_ORDERS);
        f->order = text_make(TEXT_ORDER, x->order, texts->order);
        break;
    case 3:
        x->worker = (uint32_t)rng_between(r, 1, MODEL_WORKERS - 1);
        f->worker = text_make(TEXT_WORKER, x->worker, texts->worker);
        f->state = -1;
        break;
    default: /* a job expires before the engine notices it */
        x->ended = true;
        f->state = -1;
        f->states = JOB_BIT(DONE) | JOB_BIT(DEAD) | JOB_BIT(CANCELLED);
        f->ended_from_ms = w->wall_ms - rng_duration(r, 60 * MINUTE);
        f->ended_to_ms = w->wall_ms - rng_duration(r, 10 * MINUTE);
    }
    cover_event(EVENT_LISTED_MORE);
}

static bool matches(const struct model *m, const struct list_filter *f, int tenant, int queue,
                    const struct model_job *job)
{
    return (f->tag.len == 0 || labels_have(job->labels, f->tag)) &&
           (tenant < 0 || (unsigned)tenant == tenants_of(job->queue)) &&
           (queue < 0 || (unsigned)queue == job->queue) &&
           (f->state < 0 || (enum job_state)f->state == model_shown(m, job)) &&
           job->due_ms >= f->from_ms && job->due_ms < f->to_ms;
}

/* All pages at once: exactly the jobs that match, each once. */
void step_list(struct world *w)
{
    char text[TEXT_MAX], name[TEXT_MAX];
    struct rng *r = &w->rng;
    struct look look = { .partition = w->partition };
    struct lister l = { 0 };
    int queue = (int)rng_between(r, -1, MODEL_QUEUES - 1);
    int tenant = rng_chance(r, 50) ? -1 : (int)rng_below(r, MODEL_TENANTS);
    struct list_filter f = {
        .tenant = tenant >= 0         ? text_make(TEXT_TENANT, (uint32_t)tenant, name)
                  : rng_chance(r, 50) ? STR("*")
                                      : (struct str){ 0 },
        .queue = queue < 0 ? (struct str){ 0 } : text_make(TEXT_QUEUE, (uint32_t)queue, text),
        .state = (int)rng_between(r, -1, JOB_STATE_COUNT - 1),
        .to_ms = INT64_MAX,
        .limit = (size_t)rng_between(r, 1, 9),
    };
    struct more_filters more = { 0 };
    struct filter_texts texts;
    size_t expected = 0;

    if (rng_chance(r, 40))
        draw_more(w, &f, &more, &texts);
    if (rng_chance(r, 30)) {
        f.tag = labels_any_tag(rng_next(r));
        cover_event(EVENT_LISTED_TAG);
    }
    if (rng_chance(r, 50))
        f.from_ms = w->wall_ms - rng_duration(r, 60 * MINUTE);
    if (rng_chance(r, 50))
        f.to_ms = w->wall_ms + rng_duration(r, 60 * MINUTE);
    trace_note("LIST tenant %d queue %d state %d limit %zu", tenant, queue, f.state, f.limit);
    bool paused = plan_pause(w, true);
    world_adopt(w);
    judge_adopt_forgotten(w->partition, &w->model);
    do {
        size_t before = l.count;
        int err = look_list(&look, &f, note_one, &l, &l.cursor);
        CHECK(err >= 0, "LIST answers %s", error_name(err));
        CHECK(l.count - before <= f.limit, "LIST gives more than its limit");
    } while (l.cursor.more);
    look_end(&look);
    plan_pause(w, paused);
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        if (!matches(&w->model, &f, tenant, queue, job) || !matches_more(&w->model, &f, &more, job))
            continue;
        expected++;
        CHECK(listed(&l, job->id), "LIST leaves out job %" PRIu64, job->id.seq);
    }
    for (size_t i = 0; i < l.count; i++)
        expected += !model_find(&w->model, l.seen[i]) && model_ghost(&w->model, l.seen[i]);
    CHECK(l.count == expected, "LIST gives %zu jobs, expected %zu", l.count, expected);
    free(l.seen);
    world_answer(w, "LIST");
}

/* Jobs that were there all the time with one due time appear at least once. They appear exactly
 * once if they did not change and no job went from memory to disk or back meanwhile. */
static void lister_check(struct world *w)
{
    const struct lister *l = &w->lister;
    bool moved = w->movements != l->movements;

    for (size_t i = 0; i < l->there_count; i++) {
        const struct model_job *job = model_find(&w->model, l->there[i].id);
        size_t times = 0;
        if (!job || job->dues != l->there[i].dues || model_may_forget(&w->model, job))
            continue;
        for (size_t k = 0; k < l->count; k++)
            times += l->seen[k].seq == job->id.seq;
        CHECK(times == 1 || (times > 1 && (moved || job->moved >= l->started)),
              "job %" PRIu64 " is %zu times in the pages of a LIST", job->id.seq, times);
    }
}

static bool page(struct world *w, const struct request *r)
{
    struct lister *l = &w->lister;
    struct list_filter all = { .state = -1, .to_ms = INT64_MAX, .limit = r->limit };
    int err = engine_list(w->engine, &all, note_one, l, &l->cursor);

    trace_note("LIST, next page: %s", err == BELFRY_COLD ? "COLD" : "ok");
    l->waits = err == BELFRY_COLD;
    if (err == BELFRY_COLD)
        return false;
    CHECK(err >= 0, "LIST answers %s", error_name(err));
    if (!l->cursor.more) {
        lister_check(w);
        if (w->model.steps > l->started + 1)
            cover_event(EVENT_PAGED);
        l->on = false;
    }
    world_answer(w, "LIST");
    return true;
}

static void lister_begin(struct world *w)
{
    struct lister *l = &w->lister;

    l->on = true;
    l->started = w->model.steps;
    l->movements = w->movements;
    l->count = 0;
    l->cursor = (struct list_cursor){ 0 };
    l->limit = (size_t)rng_between(&w->rng, 1, rng_chance(&w->rng, 50) ? 4 : 20);
    l->there_count = w->model.count;
    free(l->there);
    l->there = calloc(l->there_count + 1, sizeof(*l->there));
    CHECK(l->there, "the simulator is out of memory");
    for (size_t i = 0; i < l->there_count; i++) {
        l->there[i].id = w->model.jobs[i].id;
        l->there[i].dues = w->model.jobs[i].dues;
    }
}

/* One page of a LIST that goes on while jobs come and go. */
void step_page(struct world *w)
{
    struct lister *l = &w->lister;

    if (l->waits)
        return;
    if (!l->on)
        lister_begin(w);
    request_send(w, &(struct request){ .execute = page, .limit = l->limit });
}

void step_compare(struct world *w)
{
    world_compare(w);
}
