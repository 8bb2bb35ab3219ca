/* SPDX-License-Identifier: MIT */
/* Whether a job is among those that LIST or BULK asks for. */
#include "engine/place/filter.h"

#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/attempts.h"
#include "record/errorgroup.h"
#include "record/opts.h"
#include "record/record.h"

unsigned filter_states(const struct list_filter *f)
{
    return f->states ? f->states : f->state < 0 ? ~0u : 1u << f->state;
}

static bool has_tag(const struct job *j, struct str tag)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;

    while (job_opt_next(&r, &o))
        if (o.type == OPT_TAG && str_eq(o.bytes, tag))
            return true;
    return false;
}

/* Whether the job is an occurrence of the recurrence of this name. */
static bool is_occurrence(const struct job *j, struct str recurrence)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;

    while (job_opt_next(&r, &o))
        if (o.type == OPT_NOMINAL)
            return str_eq(o.bytes, recurrence);
    return false;
}

static bool has_keys(const struct job *j, const struct list_filter *f)
{
    struct job_opts o;

    job_opts_get(j, &o);
    return str_starts(o.key, f->key_prefix) && (f->order.len == 0 || str_eq(o.order, f->order));
}

/* Whether the worker has the job, or had one of the attempts that are remembered. */
static bool has_worker(const struct engine *e, const struct job *j, struct str worker)
{
    struct wire_reader r = attempts_reader(blob_str(j->trail->history));
    struct attempt a;

    if (j->state == JOB_LEASED && str_eq(blob_str(j->trail->worker), worker))
        return true;
    while (!MUTANT(e->o.mutant, WORKER_PAST) && attempts_next(&r, &a))
        if (str_eq(a.worker, worker))
            return true;
    return false;
}

static bool has_ended(const struct job *j, const struct list_filter *f)
{
    return state_is_ended(j->state) && j->trail->ended_ms >= f->ended_from_ms &&
           (f->ended_to_ms == 0 || j->trail->ended_ms < f->ended_to_ms);
}

/* Whether the last error is of this group. Errors without a text are those of dead jobs alone. */
static bool is_of_group(const struct job *j, struct str group)
{
    struct str error = blob_str(j->trail->error);
    char buf[ERROR_GROUP_MAX];

    return (error.len > 0 || j->state == JOB_DEAD) && str_eq(error_group(error, buf), group);
}

/* The parts of a filter about attempts. A job without a trail has had none, and has not ended. */
static bool trail_passes(const struct engine *e, const struct list_filter *f, const struct job *j)
{
    const struct trail *t = j->trail;
    struct str error;

    if (!t)
        return f->worker.len == 0 && f->error.len == 0 && f->error_group.len == 0 &&
               !f->ended_from_ms && !f->ended_to_ms;
    error = blob_str(t->error);
    if (error.len > ERROR_HEAD_BYTES)
        error.len = ERROR_HEAD_BYTES;
    if (f->error.len &&
        (error.len < f->error.len || !memmem(error.ptr, error.len, f->error.ptr, f->error.len)))
        return false;
    return ((!f->ended_from_ms && !f->ended_to_ms) || has_ended(j, f)) &&
           (f->worker.len == 0 || has_worker(e, j, f->worker)) &&
           (f->error_group.len == 0 || is_of_group(j, f->error_group));
}

bool job_passes(const struct engine *e, const struct list_filter *f, const struct job *j)
{
    return filter_states(f) >> job_state_now(e, j) & 1 && (f->below == 0 || j->seq < f->below) &&
           j->due_ms >= f->from_ms && j->due_ms < f->to_ms && queue_is_of(j->queue, f->tenant) &&
           (f->queue.len == 0 ? !j->queue->hidden : str_eq(f->queue, queue_name(j->queue))) &&
           (f->tag.len == 0 || has_tag(j, f->tag)) &&
           (f->recurrence.len == 0 || is_occurrence(j, f->recurrence)) &&
           ((f->key_prefix.len == 0 && f->order.len == 0) || has_keys(j, f)) &&
           trail_passes(e, f, j);
}
