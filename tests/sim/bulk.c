/* SPDX-License-Identifier: MIT */
/*
 * An admin changes many jobs at once. The engine does that in slices of its own work. After each
 * slice the model looks which jobs were changed, and changes them by the rules of single requests.
 * So a change of a job that the bulk should not have touched is a difference like any other. At the
 * end the counts must be true, and no job may be left that matched all the time.
 */
#include "engine/bulk.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/model_job.h"
#include "sim/steps.h"

#define MINUTE INT64_C(60000)

/* By the words of the promise. */
static bool matches(const struct model *m, const struct model_bulk *b, const struct model_job *job)
{
    if (job->id.seq >= b->id.seq || tenants_of(job->queue) != b->tenant ||
        (b->queue >= 0 && job->queue != (unsigned)b->queue) ||
        !(b->states >> model_shown(m, job) & 1) || job->due_ms < b->from_ms ||
        job->due_ms >= b->to_ms || (b->order && job->order != b->order))
        return false;
    switch (b->action) {
    case BULK_CANCEL: return !job->cancelling || job->replacing;
    case BULK_RESCHEDULE: return job->due_ms != b->due_ms && job->token <= b->token;
    case BULK_REDRIVE: return job->token <= b->token;
    default: return true;
    }
}

/* ---- What was done ---- */

/* Whether the engine has done it to this job, which is in it as `v`; NULL: it is gone. */
static bool was_changed(const struct model_bulk *b, const struct model_job *job,
                        const struct job_view *v)
{
    switch (b->action) {
    case BULK_CANCEL:
        return !v || v->state == JOB_CANCELLED ||
               (job->state == JOB_LEASED && v->cancelling && !v->replacing);
    case BULK_RESCHEDULE: return v && v->due_ms == b->due_ms;
    case BULK_REDRIVE: return v && v->state != JOB_DEAD;
    default: return !v;
    }
}

static void forget(struct model *m, struct model_bulk *b, struct model_job *job)
{
    m->changes++;
    if (model_may_forget(m, job)) { /* and then it may come back */
        b->unsure++;
        b->changed--;
        model_forget(m, (size_t)(job - m->jobs));
        m->graveyard->graves[m->graveyard->count - 1].bulk = b->id.seq;
    } else {
        *job = m->jobs[--m->count];
    }
}

/* The engine looks for the key of a job that it puts back. If the job that has the key expired on
 * disk, the engine meets it there and ends it. */
static void expire_holder(struct model *m, const struct model_job *job)
{
    struct model_job *holder = model_find_key(m, job->queue, job->key);

    if (holder && model_is_over(m, holder))
        model_end(m, holder, JOB_EXPIRED, 0);
}

/* The model does it, too. */
static void change(struct world *w, struct model_bulk *b, struct model_job *job)
{
    struct model *m = &w->model;
    struct job_id id = job->id;
    int err = 0;

    trace_note("  bulk %" PRIu64 " changed job %" PRIu64, b->id.seq, id.seq);
    b->changed++;
    switch (b->action) {
    case BULK_CANCEL:
        cover_event(EVENT_BULK_CANCELLED);
        model_cancel(m, id);
        break;
    case BULK_RESCHEDULE:
        cover_event(EVENT_BULK_MOVED);
        err = model_reschedule(m, id, b->due_ms);
        break;
    case BULK_REDRIVE:
        cover_event(EVENT_BULK_REDRIVEN);
        if (job->key) {
            expire_holder(m, job);
            model_unhold(m, job->queue, job->key);
        }
        err = model_redrive(m, id);
        break;
    default:
        cover_event(EVENT_BULK_DELETED);
        if (model_is_over(m, job)) /* on disk: that is noted first */
            model_end(m, job, JOB_EXPIRED, 0);
        forget(m, b, job);
    }
    CHECK(err == 0, "a bulk changes job %" PRIu64 ", which answers %s", id.seq, error_name(err));
}

/* Whether the model has forgotten a job that matches, but a clock set back may have kept it. */
static bool is_ghost(const struct model *m, const struct model_bulk *b, const struct model_job *job)
{
    return model_ghost(m, job->id) == job && !model_find(m, job->id) && matches(m, b, job);
}

/* Those that it put back. */
static void raise_ghosts(struct model *m, const struct model_bulk *b, struct look *look)
{
    for (size_t i = 0; i < m->graveyard->count; i++) {
        const struct model_job *job = &m->graveyard->graves[i].job;
        struct job_view v;

        if (is_ghost(m, b, job) && look_get(look, job->id, &v) == 0 && was_changed(b, job, &v))
            *model_add(m) = *job;
    }
}

static void adopt_jobs(struct world *w, struct model_bulk *b)
{
    struct look look = { .partition = w->partition };
    struct job_id *ids = NULL;
    size_t n = 0;

    w->model.scope = SCOPE_ALL;
    if (b->action == BULK_REDRIVE)
        raise_ghosts(&w->model, b, &look);
    ids = calloc(w->model.count + 1, sizeof(*ids));
    CHECK(ids, "the simulator is out of memory");
    for (size_t i = 0; i < w->model.count; i++)
        if (matches(&w->model, b, &w->model.jobs[i]))
            ids[n++] = w->model.jobs[i].id;
    for (size_t i = 0; i < n; i++) {
        struct model_job *job = model_find(&w->model, ids[i]);
        struct job_view v;
        int err = look_get(&look, ids[i], &v);

        if (!job || !was_changed(b, job, err ? NULL : &v))
            continue;
        if (!err && job->state == JOB_WAITING) /* a parent's end may have been told before */
            model_after_told(&w->model, job, v.after, v.after_count);
        change(w, b, job);
    }
    look_end(&look);
    free(ids);
    if (b->action == BULK_REDRIVE)
        for (unsigned q = 0; q < MODEL_QUEUES; q++)
            model_disturb(&w->model, q);
    model_turns(&w->model);
}

/* ---- The end ---- */

/* Whether the state alone can have been another without the model's knowing when. */
static bool is_vague(const struct world *w, const struct model_bulk *b)
{
    unsigned both = 1u << JOB_SCHEDULED | 1u << JOB_READY;

    return w->model.set_back && (b->states & both) != 0 && (b->states & both) != both;
}

/* Counts the jobs that match now and matched when the bulk was asked for. A job that has run out of
 * time since then did not match. */
static size_t left(const struct world *w, const struct model_bulk *b, bool keyless)
{
    size_t n = 0;

    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        n += matches(&w->model, b, job) && job->moved < b->started && !(keyless && job->key) &&
             !model_may_forget(&w->model, job) &&
             !(model_is_over(&w->model, job) && model_expires(job) > b->asked_ms);
    }
    return n;
}

static void check_dry(const struct world *w, const struct model_bulk *b)
{
    const struct model *m = &w->model;
    size_t expected = left(w, b, false);

    CHECK(b->said[1] >= expected, "a dry run says %" PRIu64 ", but there are %zu", b->said[1],
          expected);
    if (m->changes != b->facts || m->leases != b->picks || w->movements != b->movements ||
        m->now_ms != b->asked_ms || m->forgetful || m->bytes_bite || m->cold)
        return;
    size_t most = 0, unsure = 0;
    for (size_t i = 0; i < m->count; i++) {
        most += matches(m, b, &m->jobs[i]);
        unsure += matches(m, b, &m->jobs[i]) && model_may_forget(m, &m->jobs[i]);
    }
    CHECK(b->said[1] <= most && b->said[1] + unsure >= most,
          "a dry run says %" PRIu64 ", but there are %zu, %zu of them perhaps not", b->said[1],
          most, unsure);
    if (most > 0)
        cover_event(EVENT_BULK_COUNTED);
}

static void check_done(const struct world *w, const struct model_bulk *b)
{
    if (is_vague(w, b))
        return;
    if (b->dry) {
        check_dry(w, b);
        return;
    }
    if (b->said[4] > 1)
        cover_event(EVENT_BULK_AGAIN);
    if (b->said[3] > 0)
        cover_event(EVENT_BULK_SKIPPED);
    CHECK(left(w, b, true) == 0, "a bulk is done, but %zu jobs were passed over", left(w, b, true));
    CHECK(left(w, b, false) <= b->said[3],
          "a bulk is done and says that it skipped %" PRIu64 ", but %zu jobs are left", b->said[3],
          left(w, b, false));
}

static uint64_t ghosts(const struct model *m, const struct model_bulk *b)
{
    uint64_t n = 0;

    for (size_t i = 0; i < m->graveyard->count; i++) {
        const struct model_grave *grave = &m->graveyard->graves[i];
        n += grave->bulk != b->id.seq && is_ghost(m, b, &grave->job);
    }
    return n;
}

static void check_counts(const struct model *m, struct model_bulk *b)
{
    uint64_t most = b->changed + b->unsure + (b->action == BULK_DELETE ? ghosts(m, b) : 0);

    CHECK(b->said[2] >= b->changed && b->said[2] <= most,
          "a bulk says that it changed %" PRIu64 " jobs, but it was %" PRIu64 " to %" PRIu64,
          b->said[2], b->changed, most);
    if (b->said[2] > b->changed + b->unsure) /* also when time has passed for those */
        b->unsure = b->said[2] - b->changed;
    CHECK(b->dry || b->said[1] == b->said[2] + b->said[3],
          "a bulk matched %" PRIu64 ", but changed %" PRIu64 " and skipped %" PRIu64, b->said[1],
          b->said[2], b->said[3]);
}

static void adopt(struct world *w, struct model_bulk *b)
{
    char text[TEXT_MAX];
    uint64_t cold = w->traffic.cold;
    struct bulk_view v;
    int err = engine_bulk_get(w->engine, text_make(TEXT_TENANT, b->tenant, text), b->id, &v);

    CHECK(err == 0 && !v.damaged, "bulk %" PRIu64 ": %s", b->id.seq,
          err ? error_name(err) : "damaged");
    uint64_t says[] = { v.b.looked, v.b.matched, v.b.changed, v.b.skipped, v.b.walks };
    if (memcmp(says, b->said, sizeof(says)) == 0 && v.b.state == BULK_RUNNING)
        return;
    memcpy(b->said, says, sizeof(says));
    trace_note("  bulk %" PRIu64 " (%s): looked %" PRIu64 " matched %" PRIu64 " changed %" PRIu64
               " skipped %" PRIu64 ", walk %" PRIu64,
               b->id.seq, bulk_state_name(v.b.state), says[0], says[1], says[2], says[3], says[4]);
    uint64_t before = b->changed;
    if (!b->dry)
        adopt_jobs(w, b);
    if (b->changed > before && world_cold_jobs(w) < cold)
        cover_event(EVENT_BULK_COLD);
    w->model.changes++;
    b->facts++;
    check_counts(&w->model, b);
    if (v.b.state == BULK_DONE)
        check_done(w, b);
    CHECK(v.b.state != BULK_STOPPED, "a bulk is stopped though nobody asked for it");
    b->on = v.b.state == BULK_RUNNING;
}

void bulks_adopt(struct world *w)
{
    bool paused = plan_pause(w, true);

    for (unsigned t = 0; t < MODEL_TENANTS; t++)
        w->bulked[t] = model_pending(&w->model, t);
    for (size_t i = 0; i < MODEL_BULKS; i++)
        if (w->model.bulks[i].on)
            adopt(w, &w->model.bulks[i]);
    plan_pause(w, paused);
}

unsigned bulks_about(const struct world *w, const struct model_job *job, unsigned action)
{
    unsigned bits = 0;

    for (size_t i = 0; i < MODEL_BULKS; i++) {
        const struct model_bulk *b = &w->model.bulks[i];
        if (b->on && b->action == action && !b->dry && matches(&w->model, b, job))
            bits |= 1u << i;
    }
    return bits;
}

/* ---- Steps ---- */

static unsigned random_states(struct world *w, enum bulk_action action, int *ret_state)
{
    static const unsigned all[] = {
#define STATES(name, word, states) states,
        BULK_ACTIONS(STATES)
#undef STATES
    };

    *ret_state = -1;
    if (rng_chance(&w->rng, 60))
        return all[action];
    do
        *ret_state = (int)rng_below(&w->rng, JOB_STATE_COUNT);
    while (!(all[action] >> *ret_state & 1));
    return 1u << *ret_state;
}

static struct model_bulk *free_bulk(struct world *w)
{
    for (size_t i = 0; i < MODEL_BULKS; i++)
        if (!w->model.bulks[i].on)
            return &w->model.bulks[i];
    return NULL;
}

static struct model_bulk random_bulk(struct world *w, int *ret_state)
{
    struct rng *r = &w->rng;
    unsigned queue = (unsigned)rng_below(r, MODEL_QUEUES);
    struct model_bulk b = {
        .on = true,
        .action = (unsigned)rng_below(r, BULK_ACTION_COUNT),
        .dry = rng_chance(r, 20),
        .tenant = tenants_of(queue),
        .queue = rng_chance(r, 50) ? (int)queue : -1,
        .to_ms = INT64_MAX,
        .due_ms = w->model.now_ms + rng_duration(r, 600 * MINUTE),
        .token = w->token_max,
        .started = w->model.steps,
        .facts = w->model.changes,
        .picks = w->model.leases,
        .movements = w->movements,
        .asked_ms = w->model.now_ms,
    };

    b.states = random_states(w, (enum bulk_action)b.action, ret_state);
    if (rng_chance(r, 30))
        b.from_ms = w->wall_ms - rng_duration(r, 60 * MINUTE);
    if (rng_chance(r, 30))
        b.to_ms = w->wall_ms + 1 + rng_duration(r, 600 * MINUTE);
    if (rng_chance(&w->rng, w->order_percent / 2))
        b.order = (uint32_t)rng_between(&w->rng, 1, MODEL_ORDERS);
    if (b.queue < 0 && *ret_state < 0 && b.from_ms == 0 && b.to_ms == INT64_MAX)
        b.queue = (int)queue;
    return b;
}

static bool needs_room(const struct model_bulk *b)
{
    return !b->dry && (b->action == BULK_RESCHEDULE || b->action == BULK_REDRIVE);
}

void step_bulk(struct world *w)
{
    char tenant[TEXT_MAX], queue[TEXT_MAX], order[TEXT_MAX];
    struct model_bulk *slot = free_bulk(w);
    int state;

    if (!slot)
        return;
    struct model_bulk b = random_bulk(w, &state);
    struct bulk_spec s = {
        .tenant = text_make(TEXT_TENANT, b.tenant, tenant),
        .action = (enum bulk_action)b.action,
        .dry = b.dry,
        .state = state,
        .from_ms = b.from_ms > 0 ? b.from_ms : -1,
        .to_ms = b.to_ms != INT64_MAX ? b.to_ms : -1,
        .due_ms = b.due_ms,
    };
    if (b.order)
        s.order = text_make(TEXT_ORDER, b.order, order);
    if (b.queue >= 0)
        s.queue = text_make(TEXT_QUEUE, (uint32_t)b.queue, queue);
    int err = engine_bulk(w->engine, &s, &b.id);

    trace_note("BULK %s%s tenant %u queue %d states %x from %" PRId64 " to %" PRId64 " due %" PRId64
               ": %s, bulk %" PRIu64,
               bulk_action_name(s.action), b.dry ? " (dry)" : "", b.tenant, b.queue, b.states,
               b.from_ms, b.to_ms, b.due_ms, err ? error_name(err) : "ok", b.id.seq);
    if (w->model.refusing && needs_room(&b)) {
        CHECK(err == BELFRY_FULL, "BULK answers %s where there is no room", error_name(err));
        return;
    }
    CHECK(err == 0, "BULK answers %s: %s", error_name(err), engine_detail(w->engine));
    CHECK(b.id.seq > w->model.seq_max, "a bulk has sequence %" PRIu64 " after %" PRIu64, b.id.seq,
          w->model.seq_max);
    w->model.seq_max = b.id.seq;
    w->model.changes++;
    b.facts = w->model.changes;
    *slot = b;
    w->model.bulked |= 1u << b.tenant;
    world_answer(w, "BULK");
}

void step_bulk_stop(struct world *w)
{
    char tenant[TEXT_MAX];
    struct model_bulk *b = &w->model.bulks[rng_below(&w->rng, MODEL_BULKS)];

    if (!b->on)
        return;
    int err = engine_bulk_stop(w->engine, text_make(TEXT_TENANT, b->tenant, tenant), b->id);
    trace_note("BULKSTOP %" PRIu64 ": %s", b->id.seq, err ? error_name(err) : "ok");
    CHECK(err == 0, "BULKSTOP answers %s", error_name(err));
    cover_event(EVENT_BULK_STOPPED);
    w->model.changes++;
    b->on = false;
    world_answer(w, "BULKSTOP");
}
