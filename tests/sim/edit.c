/* SPDX-License-Identifier: MIT */
/* Steps that edit jobs and copy them. Both begin with the template of a job, as the verbs do. */
#include "engine/edit.h"

#include <inttypes.h>

#include "sim/schedule.h"

/* ---- Templates ---- */

static bool list_is(const struct job_spec *is, const struct job_spec *expected)
{
    bool same = is->tag_count == expected->tag_count && is->meta_count == expected->meta_count;

    for (size_t i = 0; same && i < is->tag_count; i++)
        same = str_eq(is->tags[i], expected->tags[i]);
    for (size_t i = 0; same && i < is->meta_count; i++)
        same = str_eq(is->meta[i].name, expected->meta[i].name) &&
               str_eq(is->meta[i].value, expected->meta[i].value);
    return same;
}

static int64_t given(int64_t ms)
{
    return ms > 0 ? ms : 0;
}

/* Whether two specs have the same values, but for due time, key and order. */
static bool values_are(const struct job_spec *is, const struct job_spec *x)
{
    return str_eq(is->payload, x->payload) && is->priority == x->priority &&
           is->attempts == x->attempts && str_eq(is->backoff, x->backoff) &&
           is->lease_ms == x->lease_ms && is->retain_ms == x->retain_ms &&
           given(is->expire_ms) == given(x->expire_ms) &&
           given(is->key_hold_ms) == given(x->key_hold_ms) && is->notify == x->notify &&
           is->passing == x->passing && list_is(is, x);
}

/* The template says what the job was asked for with. */
static void template_judge(const struct job_template *t, const struct model_job *job)
{
    struct model_spec s = model_spec_of(job);
    static struct spec expected;
    const struct job_spec *is = &t->spec, *x = &expected.spec;

    spec_of(&s, &expected);
    CHECK(str_eq(is->queue, x->queue) && str_eq(is->key, x->key) && str_eq(is->order, x->order),
          "the template of job %" PRIu64 " has another key or queue", job->id.seq);
    CHECK(values_are(is, x), "the template of job %" PRIu64 " has another value", job->id.seq);
}

/* ---- EDIT ---- */

/* Takes what the request names from its spec. */
static void name_all(const struct request *r, struct job_spec *s, const struct job_spec *from)
{
    unsigned names = (unsigned)r->limit;

    s->due_ms = names & NAMES_DUE ? from->due_ms : -1;
    if (names & NAMES_PAYLOAD)
        s->payload = from->payload;
    if (names & NAMES_PRIORITY)
        s->priority = from->priority;
    if (names & NAMES_ATTEMPTS)
        s->attempts = from->attempts;
    if (names & NAMES_BACKOFF)
        s->backoff = from->backoff;
    if (names & NAMES_LEASE)
        s->lease_ms = from->lease_ms;
    if (names & NAMES_RETAIN)
        s->retain_ms = from->retain_ms;
    if (names & NAMES_EXPIRE)
        s->expire_ms = from->expire_ms;
    if (names & NAMES_HOLD)
        s->key_hold_ms = from->key_hold_ms;
    if (names & NAMES_NOTIFY)
        s->notify = from->notify;
    if (names & NAMES_GATES)
        s->passing = from->passing;
    if (names & NAMES_LABELS) {
        s->tags = from->tags;
        s->tag_count = from->tag_count;
        s->meta = from->meta;
        s->meta_count = from->meta_count;
    }
}

static int edit_execute(struct world *w, const struct request *r)
{
    struct job_edit x = { .redrive = r->flag };
    static struct job_template t;
    static struct spec given_spec;
    int err = engine_template(w->engine, r->id, false, &t);

    if (!err) {
        const struct model_job *job = model_find(&w->model, r->id);

        if (job)
            template_judge(&t, job);
        spec_of(&r->spec, &given_spec);
        x.spec = t.spec;
        name_all(r, &x.spec, &given_spec.spec);
        err = engine_edit(w->engine, r->id, &x);
    }
    job_template_fini(&t);
    return err;
}

/* The numbers of two values may differ that have one text, such as labels. */
static bool text_is_same(const struct model_spec *a, const struct model_spec *b)
{
    static struct spec x, y;

    spec_of(a, &x);
    spec_of(b, &y);
    return values_are(&x.spec, &y.spec);
}

/* What follows from the answer. */
static void edit_judge(struct world *w, const struct request *r, int err)
{
    world_adopt_job(w, r->id);
    struct model_job *job = model_find(&w->model, r->id);
    struct model_spec s = job ? model_spec_of(job) : r->spec;

    if (job && r->flag)
        adopt_rivals(w, job->queue);
    job = model_find(&w->model, r->id);
    if (!err && job && job->key && r->flag)
        model_unhold(&w->model, job->queue, job->key);
    if (err == BELFRY_KEYEXISTS && job)
        rival_hold_again(w, job);
    if (err == BELFRY_FULL && w->model.refusing)
        return;
    model_spec_name(&s, &r->spec, (unsigned)r->limit);
    s.due_ms = r->limit & NAMES_DUE ? s.due_ms : -1;
    struct model_spec old = job ? model_spec_of(job) : s;
    if (s.due_ms < 0 && text_is_same(&old, &s))
        s = old;
    if (job && bytes_judge(w, &s, 1, err))
        return;
    int expected = model_edit(&w->model, r->id, &s, r->flag);
    CHECK(err == expected, "EDIT of job %" PRIu64 " answers %s, expected %s", r->id.seq,
          err ? error_name(err) : "ok", expected ? error_name(expected) : "ok");
}

static bool edit(struct world *w, const struct request *r)
{
    uint64_t cold = world_cold_jobs(w);

    bytes_note(w);
    request_enter(w, r);
    int err = edit_execute(w, r);
    trace_note("EDIT job %" PRIu64 " names %zx%s due %" PRId64 ": %s", r->id.seq, r->limit,
               r->flag ? " redrive" : "", r->spec.due_ms, err ? error_name(err) : "ok");
    request_leave(w, r, err);
    struct model_job *job = model_find(&w->model, r->id);
    if (job && r->flag)
        model_disturb(&w->model, job->queue);
    if (job) /* it may have come to memory, and be refused */
        job->placed = job->moved = w->model.steps;
    if (err == BELFRY_COLD)
        return false;
    edit_judge(w, r, err);
    cover_cold(world_cold_jobs(w) < cold && !err, EVENT_EDITED_COLD);
    world_answer(w, "EDIT");
    return true;
}

void step_edit(struct world *w)
{
    bool dead = rng_chance(&w->rng, 20);
    struct job_id id = world_pick(w, dead                      ? 1u << JOB_DEAD
                                     : rng_chance(&w->rng, 85) ? WAITING
                                                               : ~0u);
    struct request r = schedule_random(w);

    r.execute = edit;
    r.id = id;
    r.scope = world_scope(w, id);
    r.flag = dead ? rng_chance(&w->rng, 90) : rng_chance(&w->rng, 5);
    r.limit = rng_chance(&w->rng, 20) ? NAMES_ALL : rng_below(&w->rng, NAMES_ALL + 1);
    r.spec.due_ms = r.spec.due_ms < 0 ? w->model.now_ms : r.spec.due_ms;
    r.spec.after_count = 0;
    request_send(w, &r);
}

/* ---- CLONE ---- */

static bool clone_job(struct world *w, const struct request *r)
{
    static struct job_template t;
    struct model_job *job;
    struct request schedule = *r;
    uint64_t cold = world_cold_jobs(w);

    int err = engine_template(w->engine, r->id, r->spec.key > 0, &t);
    trace_note("CLONE job %" PRIu64 ": %s", r->id.seq, err ? error_name(err) : "ok");
    job = model_find(&w->model, r->id);
    if (job && r->spec.key)
        job->placed = job->moved = w->model.steps;
    if (err == BELFRY_COLD) {
        job_template_fini(&t);
        return false;
    }
    world_adopt_job(w, r->id);
    job = model_find(&w->model, r->id);
    CHECK(err == (job ? 0 : BELFRY_NOTFOUND), "CLONE of job %" PRIu64 " answers %s", r->id.seq,
          err ? error_name(err) : "ok");
    if (!err) {
        template_judge(&t, job);
        cover_event(state_is_ended(job->state) ? EVENT_CLONED_ENDED : EVENT_CLONED);
        cover_cold(w->again || world_cold_jobs(w) < cold, EVENT_CLONED_COLD);
        schedule.spec = model_spec_of(job);
        schedule.spec.due_ms = r->spec.due_ms;
        schedule.spec.key = r->spec.key ? r->spec.key + job->order * KEYS_OF_ORDER : 0;
        schedule.spec.if_exists = r->spec.if_exists;
    }
    job_template_fini(&t);
    if (!err)
        return schedule_one(w, &schedule);
    world_answer(w, "CLONE");
    return true;
}

void step_clone(struct world *w)
{
    struct request r = schedule_random(w);

    r.execute = clone_job;
    r.id = world_pick(w, rng_chance(&w->rng, 50) ? ~0u : 1u << JOB_DONE | 1u << JOB_DEAD);
    r.spec.key = rng_chance(&w->rng, 30) ? (uint32_t)rng_between(&w->rng, 1, w->keys) : 0;
    r.spec.after_count = 0;
    if (w->model.count < w->jobs_max && !schedule_pressed(w))
        request_send(w, &r);
}
