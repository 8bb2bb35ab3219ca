/* SPDX-License-Identifier: MIT */
/*
 * What the engine tells of its jobs: each as it must be if only what was told of it is known. Every
 * event begins where the one before ended, and after all of them a job is as the model says: so
 * each change was told, once.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/world.h"

static bool has_ended(enum job_state s)
{
    return s == JOB_DONE || s == JOB_DEAD || s == JOB_CANCELLED || s == JOB_EXPIRED;
}

/* Becoming ready is not told. */
static enum job_state told_as(enum job_state s)
{
    return s == JOB_READY ? JOB_SCHEDULED : s;
}

static struct watched *find(const struct watch *t, struct job_id id)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->jobs[i].id.seq == id.seq && t->jobs[i].id.due_ms == id.due_ms)
            return &t->jobs[i];
    return NULL;
}

static struct watched *add(struct watch *t, struct job_id id)
{
    if (t->count == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->jobs = realloc(t->jobs, t->cap * sizeof(*t->jobs));
        CHECK(t->jobs, "out of memory");
    }
    t->jobs[t->count] = (struct watched){ .id = id };
    return &t->jobs[t->count++];
}

void watch_event(void *host, const struct job_event *ev)
{
    struct world *w = host;
    struct watch *t = &w->watch;
    struct watched *j;

    if (!t->on)
        return;
    CHECK(ev->lsn > t->lsn && ev->lsn == engine_lsn(w->engine), "an event of another record");
    t->lsn = ev->lsn;
    t->events++;
    j = find(t, ev->id);
    if (ev->from < 0)
        CHECK(!j, "job %" PRIu64 " was made twice, it was told", ev->id.seq);
    else if (j)
        CHECK(j->state == told_as((enum job_state)ev->from),
              "job %" PRIu64 " was %s, it was told, not %s", ev->id.seq, job_state_name(j->state),
              job_state_name((enum job_state)ev->from));
    else
        CHECK(has_ended((enum job_state)ev->from), "job %" PRIu64 " is told of that is not known",
              ev->id.seq);
    j = j ? j : add(t, ev->id);
    j->state = ev->state;
    j->due_ms = ev->due_ms;
    j->at_ms = ev->at_ms;
}

static void follow(struct watched *j, const struct model_job *job)
{
    j->state = told_as(job->state);
    j->due_ms = job->due_ms;
    j->at_ms = job->at_open ? AT_ANY : job->at_ms;
}

static void compare(const struct watched *j, const struct model_job *job)
{
    enum job_state state = told_as(job->state);

    CHECK(j->state == state, "job %" PRIu64 " is %s, but was told to be %s", job->id.seq,
          job_state_name(job->state), job_state_name(j->state));
    if (has_ended(state))
        return;
    CHECK(j->due_ms == job->due_ms, "job %" PRIu64 " is due at another time than was told",
          job->id.seq);
    CHECK(state != JOB_SCHEDULED || j->at_ms == AT_ANY || j->at_ms == job->at_ms,
          "job %" PRIu64 " runs at %" PRId64 ", it was told to at %" PRId64, job->id.seq,
          job->at_ms, j->at_ms);
}

void watch_compare(struct world *w)
{
    struct watch *t = &w->watch;
    size_t kept = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (model_find(&w->model, t->jobs[i].id))
            t->jobs[kept++] = t->jobs[i];
        else
            CHECK(has_ended(t->jobs[i].state), "job %" PRIu64 " is gone and was told to be %s",
                  t->jobs[i].id.seq, job_state_name(t->jobs[i].state));
    }
    t->count = kept;
    for (size_t i = 0; i < w->model.count; i++) {
        const struct model_job *job = &w->model.jobs[i];
        const struct watched *j = find(t, job->id);

        if (j)
            compare(j, job);
        else if (has_ended(job->state)) /* forgotten, and remembered by a clock that was set back */
            follow(add(t, job->id), job);
        else
            trace_fail("job %" PRIu64 " was never told of", job->id.seq);
    }
}

void watch_begin(struct world *w)
{
    struct watch *t = &w->watch;

    t->count = 0;
    t->lsn = engine_lsn(w->engine);
    for (size_t i = 0; i < w->model.count; i++)
        follow(add(t, w->model.jobs[i].id), &w->model.jobs[i]);
    t->on = true;
}
