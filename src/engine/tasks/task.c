/* SPDX-License-Identifier: MIT */
/*
 * The engine's own work, a slice at a time:
 *
 *     telling       ended jobs that have listeners: jobs that wait for them, and recurrences
 *     recurrences   recurrences whose time has come
 *     bulks         bulks that have not ended; they take longer
 *
 * The lists follow from jobs, so they are there again after a crash, and a repeated step sees that
 * it was done before. A step that needs a job on disk answers COLD like a request, and is made
 * again when the job is there. Telling and recurrences take turns. A bulk has its turn when they
 * have nothing to do, or have done much.
 *
 * Tenants take turns in telling. A turn ends with a slice, or with a listener that came from disk.
 * So a tenant waits for one such listener of each other tenant, however many those have.
 */
#include <assert.h>

#include "engine/engine.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/tasks/tasks.h"
#include "engine/work/work.h"
#include "record/opts.h"
#include "record/record.h"

#define TELL_SLICE 100
#define TELL_BYTES \
    (256u << 10)       /* bytes of records in a slice, so that large jobs are told slowly */
#define SMALL_STEPS 20 /* before a bulk has its turn */

/* The n-th listener of a job. */
static bool listener_of(const struct job *j, size_t n, struct job_id *ret)
{
    struct wire_reader r = job_opts_reader(j);
    struct opt o;

    while (job_opt_next(&r, &o)) {
        if (o.type == OPT_LISTENER && n-- == 0) {
            *ret = (struct job_id){ .due_ms = o.number, .seq = o.seq };
            return true;
        }
    }
    return false;
}

static int tell_one(struct engine *e, const struct job *ended, struct job_id id)
{
    int err;

    id.partition = e->o.partition;
    struct job *j = job_seek(e, id, false, &err);
    if (j && !j->queue->hidden && !after_waits(j, ended))
        return 0; /* not any more: on disk it keeps its place among others */
    if (j)
        j = job_seek(e, id, true, &err);
    if (!j) /* it has been cancelled or deleted and forgotten, or cannot be read */
        return err == BELFRY_COLD || err == BELFRY_NOMEM ? err : 0;
    return j->queue->hidden ? recurrence_told(e, j, ended) : after_told(e, j, ended);
}

/* Tells some of the listeners of a tenant's first ended job. 1, or an error. */
static int tell_slice(struct engine *e, struct telling *t)
{
    struct job *ended = container_of(t->jobs.next, struct trail, link)->job;
    uint64_t from_bytes = e->log.bytes;
    struct job_id id;

    assert(state_is_ended(ended->state) && ended->trail->flags & TRAIL_TELLING);
    if (t->seq != ended->seq)
        t->next = 0;
    t->seq = ended->seq;
    for (int i = 0; i < engine_slice(e, TELL_SLICE) && e->log.bytes - from_bytes < TELL_BYTES;
         i++) {
        int err;

        if (!listener_of(ended, t->next, &id)) {
            t->seq = 0;
            err = emit_told(e, &(struct told_record){ ended->seq });
            return err ? err : 1;
        }
        err = MUTANT(e->o.mutant, UNTOLD) ? 0 : tell_one(e, ended, id);
        if (err == BELFRY_COLD && i > 0 && e->place.tellers.next != e->place.tellers.prev)
            return 1; /* the next tenant has its turn first */
        e->tasks.tell_asks = err == BELFRY_COLD ? ended->seq : 0;
        if (err)
            return err;
        t->next++;
    }
    return 1;
}

/* Tells some listeners of the tenant whose turn it is. The tenant keeps its turn while it waits for
 * a job on disk. */
static int tell_some(struct engine *e)
{
    struct telling *t = container_of(e->place.tellers.next, struct telling, link);
    int done = tell_slice(e, t);

    if (done > 0 && !list_empty(&t->link))
        list_move(&e->place.tellers, &t->link);
    return done;
}

/* Telling and recurrences take turns. Telling keeps its turn while it waits for a job on disk. */
static int small_step(struct engine *e)
{
    bool fires = !list_empty(&e->place.due[HIDDEN_RECURRENCE]) && !e->refuse_new;
    int done;

    if (!list_empty(&e->place.tellers) && (e->tasks.tell_turn || !fires)) {
        done = tell_some(e);
        e->tasks.tell_turn = done == BELFRY_COLD;
        return done;
    }
    e->tasks.tell_turn = true;
    return fires ? recurrence_fire(e, container_of(e->place.due[HIDDEN_RECURRENCE].next, struct job,
                                                   timer.link))
                 : 0;
}

/* Whether listeners are to be told, or recurrences to be fired. */
static bool small_waits(const struct engine *e)
{
    return !list_empty(&e->place.tellers) ||
           (!list_empty(&e->place.due[HIDDEN_RECURRENCE]) && !e->refuse_new);
}

bool engine_task_waits(const struct engine *e)
{
    return small_waits(e) || e->tasks.bulk_asks || bulk_waits(e);
}

static int task_step(struct engine *e)
{
    bool small = small_waits(e);
    int done;

    if (e->tasks.bulk_asks || (bulk_waits(e) && (!small || e->tasks.small_steps >= SMALL_STEPS))) {
        done = bulk_step(e);
        e->tasks.small_steps = 0;
        return done;
    }
    done = small ? small_step(e) : 0;
    e->tasks.small_steps += done > 0;
    return done;
}

int engine_task(struct engine *e)
{
    struct str scope = e->scope;

    assert(!e->work.inside && e->started);
    e->scope = (struct str){ 0 };
    e->work.inside = true;
    int done = task_step(e);
    e->work.inside = false;
    e->scope = scope;
    return done;
}

void engine_task_skip(struct engine *e)
{
    if (e->tasks.bulk_asks) {
        bulk_skip(e);
    } else if (!list_empty(&e->place.tellers)) {
        struct telling *t = container_of(e->place.tellers.next, struct telling, link);

        t->next += t->seq == e->tasks.tell_asks;
    }
}
