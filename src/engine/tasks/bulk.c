/* SPDX-License-Identifier: MIT */
/*
 * Bulks at work. A bulk walks through all jobs as LIST does, memory first, then disk. It does to
 * each job that matches what a request would do, a slice at a time. Each slice is one commit with
 * its counts. The position of the walk is in memory only: after a restart the walk begins anew. A
 * job that the bulk has changed no longer matches. It is cancelled, put back, deleted, marked, or
 * due at the new moment. So each job is counted once.
 *
 * A bulk leaves jobs alone that came after it, by their sequence numbers. A bulk that puts back or
 * moves jobs also leaves those alone that a worker got since. Such a job may have run, and be dead
 * or waiting again.
 *
 * A dry run must count each job once. While the walk is on disk, jobs come to memory. The walk
 * looks at them there, because it may not have met them on disk. So a job that was counted in D,
 * and is then loaded from there, is uncounted. In other families a job may be counted twice. If
 * jobs went back to disk where the walk has been (see walk.c), the dry run counts anew.
 */
#include "engine/bulk.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/cold/cold.h"
#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/tasks/tasks.h"
#include "engine/views/look.h"
#include "engine/work/work.h"
#include "record/record.h"

#define PAGE_HOT  512 /* jobs in memory that a slice looks at */
#define PAGE_COLD 128 /* entries on disk that a slice looks at */
#define TRIES_MAX 10  /* for a page that cannot be read */
#define REST_MS   1000
#define COUNTS    3 /* of a dry run at the most, while jobs move behind it */

/* Where a bulk is. */
struct bulk_walk {
    struct list link; /* in tasks.walks */
    uint64_t seq;     /* of the bulk */
    struct list_cursor cursor;
    uint32_t number;   /* of the walk */
    unsigned counts;   /* of a dry run that were not right */
    uint32_t since;    /* behind D, jobs that were loaded before that walk have been looked at */
    uint64_t uncounts; /* counted jobs that a dry run will meet again */
    bool begun;        /* the bulk says so */
    bool last;         /* there are no more pages */
    bool again;        /* the page is of jobs that were loaded: they may have been met before */
    unsigned tries;    /* how often reading the page has failed */
    size_t n;          /* jobs of the page */
    size_t at;         /* jobs of the page that are done */
    struct job_id ids[PAGE_HOT];
};

/* ---- The job of a bulk ---- */

/* Writes the bulk anew, so `j` is not valid afterwards. A bulk that is over becomes an ended job.
 */
static int bulk_put(struct engine *e, const struct job *j, const struct bulk *b)
{
    struct buf payload = { 0 };
    struct job_image image;

    bulk_encode(&payload, b);
    job_image_of(j, &image);
    if (b->state != BULK_RUNNING) {
        image.state = b->state == BULK_STOPPED ? JOB_CANCELLED : JOB_DONE;
        image.at_ms = image.due_ms;
        image.has_trail = true;
        image.trail = (struct trail_image){ .progress = -1,
                                            .ended_ms = b->ended_ms,
                                            .keep_ms = b->ended_ms + BULK_KEEP_MS };
    }
    return emit_put_payload(e, &image, &payload, true);
}

/* ---- Walks ---- */

static struct bulk_walk *walk_find(const struct engine *e, uint64_t seq)
{
    list_each_of (struct bulk_walk, w, &e->tasks.walks, link)
        if (w->seq == seq)
            return w;
    return NULL;
}

/* NULL if out of memory. */
static struct bulk_walk *walk_of(struct engine *e, const struct job *j)
{
    struct bulk_walk *w = walk_find(e, j->seq);

    if (w)
        return w;
    w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->seq = j->seq;
    list_append(&e->tasks.walks, &w->link);
    return w;
}

/* Jobs that an earlier walk counted but did not change are met again. */
static void count_anew(struct bulk *b)
{
    b->walks++;
    b->looked = 0;
    b->matched = b->dry ? 0 : b->changed;
    b->skipped = 0;
}

static void walk_end(struct bulk_walk *w)
{
    if (w) {
        list_remove(&w->link);
        free(w);
    }
}

void bulk_forget(struct engine *e, uint64_t seq)
{
    walk_end(walk_find(e, seq));
}

void bulks_free(struct engine *e)
{
    while (!list_empty(&e->tasks.walks))
        walk_end(container_of(e->tasks.walks.next, struct bulk_walk, link));
}

static struct list_filter filter_of(const struct engine *e, const struct job *j, struct bulk *b,
                                    size_t limit)
{
    return (struct list_filter){
        .tenant = tenant_name(j->queue->tenant),
        .queue = b->queue,
        .state = -1,
        .states = b->states,
        .tag = b->tag,
        .from_ms = b->from_ms,
        .to_ms = b->to_ms,
        .recurrence = b->recurrence,
        .key_prefix = b->key_prefix,
        .order = MUTANT(e->o.mutant, BULK_WIDE) ? (struct str){ 0 } : b->order,
        .worker = b->worker,
        .error = b->with_error,
        .error_group = b->with_error_group,
        .ended_from_ms = b->ended_from_ms,
        .ended_to_ms = b->ended_to_ms,
        .limit = limit,
        .stripe = PAGE_HOT,
        .below = j->seq,
        .looked = &b->looked,
    };
}

/* Whether there is something to be done to a job of the right kind. */
static bool applies(const struct bulk *b, const struct job_view *v)
{
    switch (b->action) {
    case BULK_CANCEL: return !v->cancelling || v->replacing;
    case BULK_RESCHEDULE: return v->due_ms != b->due_ms && v->token < b->token;
    case BULK_REDRIVE: return v->token < b->token;
    default: return true;
    }
}

struct paging {
    struct bulk *b;
    struct bulk_walk *w;
};

static int note_job(void *arg, const struct job_view *v)
{
    struct paging *p = arg;

    if (!applies(p->b, v))
        return 0;
    if (p->b->dry)
        p->b->matched++;
    else
        p->w->ids[p->w->n++] = v->id;
    return 0;
}

/* The next jobs that match. */
static int next_page(struct engine *e, const struct job *j, struct bulk *b, struct bulk_walk *w)
{
    bool disk = w->cursor.more && w->cursor.phase == LIST_DISK;
    struct list_filter f = filter_of(e, j, b,
                                     e->o.bulk_page ? e->o.bulk_page
                                     : disk         ? PAGE_COLD
                                                    : PAGE_HOT);
    struct paging p = { b, w };
    enum list_phase before = (enum list_phase)w->cursor.phase;
    bool first = !w->cursor.more;

    f.once = b->dry;
    w->n = w->at = 0;
    w->again = w->cursor.more && (w->cursor.phase == LIST_LOADED || w->cursor.walk >> WALK_BITS);
    int err = engine_list(e, &f, note_job, &p, &w->cursor);
    if (err < 0)
        return err;
    w->tries = 0;
    w->number = first ? w->cursor.walk : w->number;
    w->last = !w->cursor.more;
    if (b->dry && w->last && !first && w->counts + 1 < COUNTS && walk_missed(e, w->number)) {
        w->counts++;
        count_anew(b);
        w->last = false;
        return 0;
    }
    if (b->dry && before != w->cursor.phase && w->cursor.phase == LIST_LOADED)
        w->since = walk_begin(e);
    else if (b->dry && before == LIST_LOADED && w->cursor.phase == LIST_DISK)
        w->cursor.walk = w->since;
    if (MUTANT(e->o.mutant, BULK_SKIPS) && w->n > 1)
        w->n = 0;
    return 0;
}

/* Whether it was behind D's cursor, when that was in D. */
static bool has_passed(const struct bulk_walk *w, const struct job *j)
{
    const struct list_cursor *c = &w->cursor;
    struct cold_point at = { job_cold_ms(j), j->seq }, upto;

    return c->more && c->phase == LIST_DISK && c->key_len > 1 && c->key[0] == FAMILY_DUE &&
           cold_key_point((struct str){ c->key, c->key_len }, &upto) && !point_after(at, upto);
}

static void uncount(struct engine *e, struct bulk_walk *w, struct str images)
{
    struct wire_reader r = wire_reader_of(images);
    const struct job *bulk = job_find(e, w->seq);
    struct job_image image;
    struct bulk b;

    if (!w->begun || !bulk || !bulk_decode(job_payload(bulk), &b) || !b.dry)
        return;
    while (r.p < r.end && record_get_job(wire_bytes(&r), &image)) {
        struct list_filter f = filter_of(e, bulk, &b, 1);
        const struct job *j = job_find(e, image.seq);
        struct job_view v;

        if (!j || !has_passed(w, j) || !job_passes(e, &f, j))
            continue;
        engine_view(e, j, &v);
        w->uncounts += applies(&b, &v);
    }
}

void bulks_loaded(struct engine *e, struct str images)
{
    list_each_of (struct bulk_walk, w, &e->tasks.walks, link)
        uncount(e, w, images);
}

/* ---- Doing it ---- */

static int delete_one(struct engine *e, struct job_id id)
{
    int err = engine_delete(e, id);
    const struct job *j = err == BELFRY_STATE ? job_of(e, id) : NULL;

    if (j && state_is_ended(j->state) && j->trail->flags & TRAIL_TELLING)
        return BELFRY_BUSY;                  /* its listeners come first */
    return err == BELFRY_NOTFOUND ? 0 : err; /* it expired on disk, and is gone by that */
}

static int act_on(struct engine *e, const struct bulk *b, struct job_id id)
{
    int outcome;

    switch (b->action) {
    case BULK_CANCEL: outcome = engine_cancel(e, id); return outcome < 0 ? outcome : 0;
    case BULK_RESCHEDULE: return engine_reschedule(e, id, b->due_ms);
    case BULK_REDRIVE: return engine_redrive(e, id);
    default: return delete_one(e, id);
    }
}

/* Does one job of the page. 0, or an error after which it is to be tried again. */
static int do_one(struct engine *e, const struct job *bulk, struct bulk *b, struct bulk_walk *w)
{
    struct list_filter f = filter_of(e, bulk, b, 1);
    struct job_id id = w->ids[w->at];
    struct job_view v;
    int err;
    const struct job *j = job_seek(e, id, false, &err);

    if (!j)
        return err == BELFRY_NOTFOUND ? 0 : err;
    engine_view(e, j, &v);
    if (!job_passes(e, &f, j) || !applies(b, &v))
        return 0; /* it changed since the page was made */
    err = act_on(e, b, id);
    if (err == BELFRY_COLD || err == BELFRY_NOMEM || err == BELFRY_FULL || err == BELFRY_BUSY)
        return err;
    if (err && w->again)
        return 0; /* it was met on disk, and counted there */
    b->matched++;
    b->changed += !err;
    b->skipped += err != 0;
    return 0;
}

/* Does as many jobs as a commit has room for. */
static int do_page(struct engine *e, const struct job *j, struct bulk *b, struct bulk_walk *w)
{
    int err = 0;

    while (w->at < w->n && !err && !(e->o.roll && e->log.out->len >= e->o.commit_bytes)) {
        err = do_one(e, j, b, w);
        w->at += !err;
    }
    return err;
}

void bulk_finish(const struct engine *e, struct bulk *b, unsigned state)
{
    b->state = (enum bulk_state)state;
    b->ended_ms = e->now_ms;
}

/* Forgets a tenant's oldest ended bulks in memory, beyond BULK_KEEP. Bulks on disk go at their
 * time, and engine_bulks shows no more than BULK_KEEP of both. */
static void trim_bulks(struct engine *e, struct queue *q)
{
    uint64_t n = q->jobs[JOB_DONE] + q->jobs[JOB_CANCELLED];

    list_each_of_safe (struct trail, t, &q->past, link) {
        if (n <= BULK_KEEP || &t->link == q->past.prev || emit_forget(e, t->job) < 0)
            return;
        n--;
    }
}

int bulk_record(struct engine *e, const struct job *j, const struct bulk *b, uint64_t lsn)
{
    struct queue *q = j->queue;
    uint64_t seq = j->seq;
    int err = bulk_put(e, j, b);

    if (err) {
        e->work.torn = e->work.torn || e->lsn != lsn;
        return err;
    }
    if (b->state != BULK_RUNNING) {
        walk_end(walk_find(e, seq));
        trim_bulks(e, q);
    }
    return 0;
}

static int bulk_slice(struct engine *e, struct job *j)
{
    uint64_t lsn = e->lsn;
    struct bulk b;
    int err = 0, recorded;

    assert(j->queue->hidden == HIDDEN_BULK);
    if (!bulk_decode(job_payload(j), &b) || b.state != BULK_RUNNING) { /* damaged: BULKS shows it */
        job_unplace(e, j);
        j->timer.at_ms = AT_NEVER;
        job_place(e, j, JOB_SCHEDULED);
        return 1;
    }
    struct bulk_walk *w = walk_of(e, j);
    if (!w)
        return engine_plain(e, BELFRY_NOMEM);
    if (!w->begun)
        count_anew(&b);
    b.matched -= w->uncounts < b.matched ? w->uncounts : b.matched;
    if (w->at == w->n && !w->last)
        err = next_page(e, j, &b, w);
    if (err)
        return err;
    w->begun = true;
    w->uncounts = 0;
    bool before = commit_begin(e);
    err = do_page(e, j, &b, w);
    if (w->at == w->n && w->last)
        bulk_finish(e, &b, BULK_DONE);
    recorded = commit_end(e, before, bulk_record(e, j, &b, lsn));
    if (recorded)
        return recorded;
    return err == BELFRY_COLD || err == BELFRY_NOMEM ? err : 2;
}

/* Whether a bulk may go on while there is no room for new jobs. */
static bool makes_room(const struct job *j)
{
    struct bulk b;

    return bulk_decode(job_payload(j), &b) && (b.dry || !bulk_adds(b.action));
}

/* The first bulk that may go on; or NULL. */
static struct job *first_bulk(const struct engine *e)
{
    list_each_of (struct job, j, &e->place.due[HIDDEN_BULK], timer.link)
        if (!e->refuse_new || makes_room(j))
            return j;
    return NULL;
}

bool bulk_waits(const struct engine *e)
{
    return !e->tasks.pressed && !(e->refuse_new && graves_fill_memory(e)) &&
           e->mono_ms >= e->tasks.bulk_rest_ms && first_bulk(e);
}

int64_t bulk_wake(const struct engine *e)
{
    return list_empty(&e->place.due[HIDDEN_BULK]) || e->mono_ms >= e->tasks.bulk_rest_ms
               ? INT64_MAX
               : e->tasks.bulk_rest_ms;
}

int bulk_step(struct engine *e)
{
    struct job *asks = e->tasks.bulk_asks ? job_find(e, e->tasks.bulk_asks) : NULL;
    struct job *j = asks && asks->where == WHERE_TASK ? asks : first_bulk(e);
    uint64_t seq = j ? j->seq : 0;
    int done = j ? bulk_slice(e, j) : 1;

    e->tasks.bulk_asks = done == BELFRY_COLD ? seq : 0;
    return done;
}

/* The last read failed. If it was for one job of a page, the bulk leaves the job out. If it was for
 * a page, the bulk tries again, and gives up in the end. */
void bulk_skip(struct engine *e)
{
    struct job *j = job_find(e, e->tasks.bulk_asks);
    struct bulk_walk *w = j ? walk_find(e, j->seq) : NULL;
    struct bulk b;

    e->tasks.bulk_asks = 0;
    if (!w || !bulk_decode(job_payload(j), &b) || b.state != BULK_RUNNING)
        return;
    if (w->at < w->n) {
        w->at++;
        b.matched++;
        b.skipped++;
    } else if (++w->tries >= TRIES_MAX) {
        bulk_finish(e, &b, BULK_FAILED);
        b.error = STR("jobs on disk could not be read: see the server's log, and belfry check");
    } else {
        e->tasks.bulk_rest_ms = e->mono_ms + REST_MS;
        return;
    }
    bulk_record(e, j, &b, e->lsn);
}
