/* SPDX-License-Identifier: MIT */
/* Dead jobs that are put back, one by one or all of a queue, in memory and on disk. */
#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/work/work.h"
#include "record/opts.h"
#include "record/record.h"

/* Puts a dead job back whose key, if it has one, is free. */
static int redrive(struct engine *e, struct job *j)
{
    struct job_image image;

    job_image_of(j, &image);
    image.state = JOB_SCHEDULED;
    image.due_ms = image.at_ms = e->now_ms;
    image.attempt = 0;
    image.stalls = 0;
    image.trail.ended_ms = image.trail.keep_ms = image.trail.hold_ms = 0;
    image.trail.flags = 0;
    return emit_put(e, &image);
}

struct job *job_rival(struct engine *e, const struct job *j, int *ret_err)
{
    struct job *rival = NULL;
    struct job_opts o;

    job_opts_get(j, &o);
    *ret_err = BELFRY_NOTFOUND;
    if (o.key.len > 0)
        rival = key_seek(e, j->queue, o.order, o.key, true, ret_err);
    if (rival != j)
        return rival;
    *ret_err = BELFRY_NOTFOUND;
    return NULL;
}

int engine_redrive(struct engine *e, struct job_id id)
{
    int err;
    struct job *j = job_claim(e, id, JOB_BIT(DEAD), false, &err);

    if (!j)
        return want_grows(e, err);
    if (refuse_full(e))
        return BELFRY_FULL;
    j = job_seek(e, id, true, &err);
    if (!j)
        return err;
    const struct job *rival = job_rival(e, j, &err);
    if (rival)
        return key_exists(e, rival);
    return err == BELFRY_NOTFOUND ? redrive(e, j) : err;
}

/* Puts back dead jobs of a queue that are in memory. Jobs whose key is taken go to the end, so that
 * the next call does not meet them first. */
static int redrive_hot(struct engine *e, struct queue *q, size_t limit)
{
    size_t n = 0;
    int err;

    for (size_t look = q->jobs[JOB_DEAD]; look > 0 && n < limit && !list_empty(&q->dead); look--) {
        struct trail *t = container_of(q->dead.next, struct trail, link);

        if (job_rival(e, t->job, &err)) {
            list_move(&q->dead, &t->link);
            continue;
        }
        if (err == BELFRY_NOTFOUND)
            err = redrive(e, t->job);
        if (err)
            return n > 0 ? (int)n : err;
        n++;
    }
    return (int)n;
}

/* Does so for jobs on their way to disk, too. Usually the oldest of them are enough. If keys of
 * some are taken, the others are looked at. */
static int redrive_memory(struct engine *e, struct queue *q, size_t limit)
{
    batch_release_dead(e, q, limit);
    int n = redrive_hot(e, q, limit);
    if (n < 0 || (size_t)n == limit || list_empty(&q->batch.dead))
        return n;
    batch_release_dead(e, q, SIZE_MAX);
    int more = redrive_hot(e, q, limit - (size_t)n);
    return more > 0 || n == 0 ? n + more : n;
}

static void want_dead(struct engine *e, const struct queue *q, size_t limit)
{
    const struct cold_answer *a = e->cold.answer;

    want_page_of(e, q, FAMILY_KEPT, (struct cold_point){ 0, 0 }, limit);
    e->cold.want.grows = true;
    if (a && a->want->kind == WANT_PAGE) { /* that page is used up: asks for the next one */
        e->cold.want.after_len = a->last_len;
        memcpy(e->cold.want.after, a->last, a->last_len);
    }
}

/* Brings dead jobs of a queue from disk to memory: the jobs of the page at hand. Without a page, it
 * asks for one. */
static int fetch_dead(struct engine *e, const struct queue *q, size_t limit)
{
    struct cold_answer *a = e->cold.answer;
    size_t taken = 0;
    int err = 0;

    for (size_t i = 0; a && a->want->kind == WANT_PAGE && i < a->n && !err; i++) {
        const struct cold_item *item = &a->items[i];
        unsigned state;
        struct str queue;
        int64_t at;

        if (!record_peek_job(item->body, &state, &at, &queue) || state != JOB_DEAD)
            continue;
        err = item_take(e, item);
        taken += !err;
    }
    if (err || taken > 0)
        return err;
    if (a && a->want->kind == WANT_PAGE && !a->more)
        return 0;
    want_dead(e, q, limit);
    return BELFRY_COLD;
}

int engine_redrive_queue(struct engine *e, struct str name, size_t limit)
{
    struct queue *q = queue_find(e, name);

    if (refuse_full(e))
        return BELFRY_FULL;
    if (!q)
        return 0;
    int n = redrive_memory(e, q, limit);
    if (n != 0 || q->cold[COLD_DEAD] <= 0)
        return n;
    n = fetch_dead(e, q, limit);
    if (n == 0)
        n = redrive_hot(e, q, limit);
    if (n == 0 && e->cold.answer->more) { /* the keys of all jobs of this page are taken */
        want_dead(e, q, limit);
        return BELFRY_COLD;
    }
    return n;
}
