/* SPDX-License-Identifier: MIT */
/* Gathering a batch: which jobs go from memory to disk, slice by slice; see spill.c. A batch has a
 * fifth of the budget at most, because its bytes are in memory beside its jobs. */
#include "engine/cold/cold.h"

#include <assert.h>

#include "engine/place/budget.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record.h"

#define HINT_AHEAD   8
#define BATCH_QUEUES 4000 /* of each kind of jobs in one batch; of classes or lanes, for tails */
#define NEAR         12   /* part of the lookahead */

/* Jobs are all over memory: those that come next are asked for in time. */
static void prefetch_job(const void *job)
{
    uintptr_t at = (uintptr_t)job; /* the job may be NULL, and NULL + 64 is undefined in C */

    __builtin_prefetch(job);
    __builtin_prefetch((const void *)(at + 64));
    __builtin_prefetch((const void *)(at + 128));
}

void batch_release_dead(struct engine *e, struct queue *q, size_t limit)
{
    struct list *at = &q->batch.dead;

    if (e->place.batch.fed)
        return;
    for (; limit > 0 && at->next != &q->batch.dead; limit--)
        at = at->next;
    while (at != &q->batch.dead) { /* backward, because each becomes the first of its queue */
        struct job *j = container_of(at, struct trail, link)->job;

        at = at->prev;
        job_place_again(e, j);
        past_give_back(e, j);
    }
}

/* The record of a batch is applied in one go, so a batch has the jobs of some thousand classes,
 * lanes and queues at most. The others wait for the next one. */
static void take_tails(struct engine *e)
{
    for (int i = engine_slice(e, BATCH_QUEUES); i > 0 && !list_empty(&e->place.batch.waits); i--) {
        struct class *c = container_of(e->place.batch.waits.next, struct class, waits);

        list_remove(&c->waits);
        c->tail_first = tail_comes_first(c) ? e->place.batch.number : 0;
        list_splice(&c->source, &c->tail);
        order_feed_begin(c);
        list_append(&e->place.batch.classes, &c->fed);
    }
    asides_feed_begin(e, engine_slice(e, BATCH_QUEUES));
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_splice(&e->place.batch.source, &e->wheels[WHEEL_SPARE].slots[level][slot]);
}

/* Entries that the frontier has passed do not count, so their graves can go. The engine compares
 * with the frontier in the journal (frontier_noted), because a restart knows no other. */
static void prune_graves(struct engine *e)
{
    list_each_of_safe (struct grave, g, &e->cold.grave_list, link) {
        struct cold_point p;

        if (g->key[0] == FAMILY_DUE && cold_key_point((struct str){ g->key, g->len }, &p) &&
            !point_after(p, e->cold.frontier_noted))
            grave_remove(e, g);
    }
}

/* The next part of memory gives jobs: tails with WHEEL_SPARE, later jobs, ended jobs. Each may give
 * an equal part of what the batch still takes. */
static void part_begin(struct engine *e, unsigned part)
{
    struct batch *b = &e->place.batch;
    uint64_t rest = budget_share(e, SHARE_BATCH), kinds = 1;

    b->part = part;
    if (part == 1)
        return;
    if (part < 2)
        kinds += b->tails && b->slots_left > 0;
    if (part < 3)
        kinds += (b->tails || b->slots_left > 0) && b->past;
    rest -= b->bytes < rest ? b->bytes : rest;
    b->most = b->bytes + rest / kinds;
}

static bool part_has_room(const struct engine *e)
{
    return e->place.batch.bytes < e->place.batch.most || MUTANT(e->o.mutant, BATCH_WHOLE);
}

void engine_feed_begin(struct engine *e)
{
    struct batch *b = &e->place.batch;
    const uint64_t *bytes = e->place.bytes;

    assert(!b->active && list_empty(&b->jobs));
    frontier_follow(e);
    b->active = b->gathering = true;
    b->fed = false;
    buf_reset(&b->stale, 1 << 16);
    b->number++;
    b->bytes = b->buried = 0;
    b->tails = bytes[WHERE_TAIL] > budget_share(e, SHARE_TAILS);
    if (b->tails)
        take_tails(e);
    b->slots_left =
        bytes[WHERE_LATER] > budget_share(e, SHARE_LATER) ? WHEEL_LEVELS * WHEEL_SLOTS : 0;
    b->slot = (b->slot + 1) % (WHEEL_LEVELS * WHEEL_SLOTS);
    b->queues_left = engine_slice(e, BATCH_QUEUES);
    b->past = bytes[WHERE_PAST] > budget_share(e, SHARE_PAST);
    b->past_left = b->past ? engine_slice(e, BATCH_QUEUES) : 0;
    part_begin(e, 0);
    prune_graves(e);
    b->graves = e->cold.next_grave - 1;
}

size_t engine_feed_bytes(const struct engine *e)
{
    const struct batch *b = &e->place.batch;
    size_t bytes = (b->tails ? e->place.bytes[WHERE_TAIL] : 0) +
                   (b->slots_left > 0 ? e->place.bytes[WHERE_LATER] : 0) +
                   (b->past ? e->place.bytes[WHERE_PAST] : 0);
    size_t most = budget_share(e, SHARE_BATCH);

    return bytes < most ? bytes : most;
}

/* Without a locator a job is found where its id says: if it is scheduled for its first moment and
 * has no key. */
static bool needs_locator(const struct job *j)
{
    struct job_opts o;

    if (j->where != WHERE_LATER || j->timer.at_ms != (int64_t)j->born_ms)
        return true;
    if (job_is_bare(j))
        return false;
    job_opts_get(j, &o);
    return o.key.len > 0;
}

/* An entry of a batch, without a body for now. */
static void feed_head(struct buf *out, unsigned flags, uint64_t seq, struct str key)
{
    wire_put_u8(out, (uint8_t)flags);
    wire_put_u64(out, seq);
    wire_put_u16(out, (uint16_t)key.len);
    wire_put_u32(out, 0);
    buf_str(out, key);
}

static void feed_job(struct engine *e, struct job *j, struct buf *out)
{
    struct cold_key key;
    struct job_image image;

    assert(!j->fed && !job_is_waste(e, j));
    job_cold_key(j, &key);
    walk_misses(e, j, key.bytes[0]);
    job_image_of(j, &image);
    feed_head(out, needs_locator(j) ? FEED_LOCATE : 0, j->seq, cold_key_str(&key));
    size_t body = out->len;
    record_put_image(out, &image);
    if (!out->failed) {
        uint32_t len = (uint32_t)(out->len - body);

        memcpy(out->ptr + body - key.len - 4, &len, 4);
    }
    j->fed = 1;
}

/* A job that is due before it could be written and loaded again stays, if there is room. */
static bool stays(const struct engine *e, const struct job *j)
{
    return j->state == JOB_SCHEDULED && e->place.bytes[WHERE_TAIL] < budget_share(e, SHARE_SOON) &&
           j->timer.at_ms <= e->now_ms + e->o.lookahead_ms / NEAR;
}

/* From here on the job counts as it will on disk. */
static void count_as_ready(struct engine *e, struct job *j)
{
    if (j->where == WHERE_TAIL && j->state == JOB_SCHEDULED) {
        queue_count(e, j->queue, JOB_SCHEDULED, -1);
        queue_count(e, j->queue, JOB_READY, 1);
        j->state = JOB_READY;
    }
}

static void feed_next(struct engine *e, struct buf *out, struct job *j)
{
    list_move(&e->place.batch.jobs, &j->timer.link);
    buf_append(&e->place.batch.hints, &j, sizeof(j));
    count_as_ready(e, j);
    e->place.batch.bytes += job_weight(j);
    feed_job(e, j, out);
}

/* The next job of the tails, or NULL. */
static struct job *tails_next(struct engine *e)
{
    while (!list_empty(&e->place.batch.classes)) {
        struct class *c = container_of(e->place.batch.classes.next, struct class, fed);
        struct job *j = order_feed_next(c);

        if (j)
            return j;
        if (!list_empty(&c->source)) {
            j = container_of(c->source.next, struct job, timer.link);
            prefetch_job(container_of(j->timer.link.next->next, struct job, timer.link));
            return j;
        }
        list_remove(&c->fed);
    }
    return NULL;
}

/* The rest of the tails stays in memory, before jobs that came meanwhile. */
static void tails_end(struct engine *e)
{
    while (!list_empty(&e->place.batch.classes)) {
        struct class *c = container_of(e->place.batch.classes.next, struct class, fed);

        list_remove(&c->fed);
        list_splice(&c->source, &c->tail);
        list_splice(&c->tail, &c->source);
        order_feed_end(c);
        class_waits(e, c);
    }
}

/* True: there may be more. The others of this kind answer so, too. */
static bool feed_tails(struct engine *e, struct buf *out, size_t *n)
{
    struct job *j;

    for (; *n > 0 && part_has_room(e) && (j = tails_next(e)); --*n)
        feed_next(e, out, j);
    for (; *n > 0 && part_has_room(e) && (j = asides_feed_next(e)); --*n)
        feed_next(e, out, j);
    if (*n == 0)
        return true;
    tails_end(e);
    return false;
}

static bool feed_spare(struct engine *e, struct buf *out, size_t *n)
{
    for (; *n > 0 && !list_empty(&e->place.batch.source); --*n) {
        struct job *j = container_of(e->place.batch.source.next, struct job, timer.link);

        prefetch_job(container_of(j->timer.link.next->next, struct job, timer.link));
        if (!part_has_room(e)) {
            list_remove(&j->timer.link);
            wheel_add(&e->wheels[WHEEL_SPARE], &j->timer);
        } else if (stays(e, j)) {
            job_place_again(e, j);
        } else {
            feed_next(e, out, j);
        }
    }
    return *n == 0;
}

/* Whether the batch may have one more job of this queue. */
static bool takes_queue(struct batch *b, struct queue *q)
{
    if (q->batch.later == b->number)
        return true;
    q->batch.later = b->number;
    return b->queues_left-- > 0;
}

/* Feeds jobs beyond the frontier, up to the size of a batch. The next batch goes on with the next
 * slot: the journal keeps a segment for the sake of one job, so no slot waits for a crowded one.
 * Slots that the frontier has entered are left alone: their jobs are about to be hot. */
static bool feed_later(struct engine *e, struct buf *out, size_t *n)
{
    struct batch *b = &e->place.batch;
    int64_t near = e->place.frontier.at_ms > e->now_ms ? e->place.frontier.at_ms : e->now_ms;

    while (*n > 0 && b->slots_left > 0 && part_has_room(e)) {
        unsigned level = b->slot / WHEEL_SLOTS, slot = b->slot % WHEEL_SLOTS;
        struct list *head = &e->wheels[WHEEL_LATER].slots[level][slot];
        /* From both ends in turn: two chains come to the cache side by side. */
        bool front = *n % 2;
        struct list *at = front ? head->next : head->prev;
        struct list *ahead = front ? at->next->next : at->prev->prev;
        struct job *j = container_of(at, struct job, timer.link);

        if (list_empty(head) || wheel_slot_start(&e->wheels[WHEEL_LATER], level, slot) <= near) {
            b->slot = (b->slot + 1) % (WHEEL_LEVELS * WHEEL_SLOTS);
            b->slots_left--;
            continue;
        }
        prefetch_job(container_of(ahead, struct job, timer.link));
        --*n;
        if (job_cold_ms(j) <= near) { /* it waits, and is about to expire */
            job_unplace(e, j);
            job_place_hot(e, j, JOB_SCHEDULED);
            continue;
        }
        if (!takes_queue(b, j->queue)) {
            b->slots_left = 0;
            break;
        }
        feed_next(e, out, j);
    }
    return *n == 0;
}

/* The first ended job of a queue that the batch may take; NULL: it takes no more of this queue. */
static struct trail *past_next(const struct batch *b, const struct queue *q)
{
    const struct list *heads[] = { &q->past, &q->past_keyed, &q->dead };

    for (size_t i = 0; i < 3; i++) {
        struct trail *t = container_of(heads[i]->next, struct trail, link);

        if (!list_empty(heads[i]) && t->left != (uint16_t)b->number)
            return t;
    }
    return NULL;
}

/* The next queue has its turn. */
static void past_turn(struct engine *e, struct queue *q)
{
    list_remove(&q->ended);
    if (!list_empty(&q->past) || !list_empty(&q->past_keyed) || !list_empty(&q->dead))
        list_append(&e->place.ended, &q->ended);
}

/* The queue that gives its ended jobs now, or NULL. Queues whose ended jobs are listed give all of
 * them at once: see audit.c. */
static struct queue *past_queue(const struct engine *e)
{
    struct queue *q = container_of(e->place.ended.next, struct queue, ended);

    if (e->place.batch.past_left == 0 || list_empty(&e->place.ended))
        return NULL;
    return part_has_room(e) || hidden_rows[q->hidden].lists_ended ? q : NULL;
}

static bool feed_past(struct engine *e, struct buf *out, size_t *n)
{
    struct batch *b = &e->place.batch;
    struct queue *q;

    for (; *n > 0 && (q = past_queue(e)); --*n) {
        struct trail *t = past_next(b, q);

        if (!t) {
            past_turn(e, q);
            b->past_left--;
            continue;
        }
        list_move(t->job->state == JOB_DEAD ? &q->batch.dead : &b->past_jobs, &t->link);
        if (t->job->state == JOB_DEAD)
            list_move(&b->dead, &q->batch.link);
        if (!hidden_rows[q->hidden].lists_ended)
            b->bytes += job_weight(t->job);
        feed_job(e, t->job, out);
    }
    if (*n == 0)
        return true;
    if (b->past && !list_empty(&e->place.ended)) /* a queue that has more leaves the next turn */
        past_turn(e, container_of(e->place.ended.next, struct queue, ended));
    return false;
}

/* Graves too are fed like any other entry. */
static void feed_graves(struct engine *e, struct buf *out)
{
    list_each_of (const struct grave, g, &e->cold.grave_list, link) {
        if (g->serial > e->place.batch.graves)
            continue;
        feed_head(out, FEED_GRAVE, (uint64_t)g->gone_ms, (struct str){ g->key, g->len });
    }
}

bool engine_feed_slice(struct engine *e, struct buf *out, size_t n)
{
    static bool (*const parts[])(struct engine *, struct buf *,
                                 size_t *) = { feed_tails, feed_spare, feed_later, feed_past };
    struct batch *b = &e->place.batch;

    assert(b->active && b->gathering && !b->fed);
    for (; b->part < 4; part_begin(e, b->part + 1))
        if (parts[b->part](e, out, &n))
            return true;
    if (!MUTANT(e->o.mutant, LOST_TOMBSTONE))
        feed_graves(e, out);
    b->gathering = false;
    if (out->len == 0 && !(b->past && !list_empty(&e->place.ended)) &&
        !(b->tails && !list_empty(&e->place.batch.waits)))
        b->empty_lsn = e->lsn;
    return false;
}

/* A due job goes back to the tail of its class, before the jobs that became due after it. */
static void tail_give_back(struct engine *e, struct job *j)
{
    struct class *c = class_of(j);
    struct list *at = c->tail.next;

    while (at != &c->tail &&
           point_after(job_point(j), job_point(container_of(at, struct job, timer.link))))
        at = at->next;
    list_move(at, &j->timer.link);
    class_waits(e, c);
}

static bool is_of_tail(const struct engine *e, const struct job *j)
{
    return j->where == WHERE_TAIL && j->state == JOB_READY && !j->ordered &&
           j->timer.at_ms <= e->now_ms;
}

/* Jobs of tails are given back from the last to the first, because each goes before those that are
 * back already. Other jobs find their places by themselves. */
static void give_back_jobs(struct engine *e, struct list *head)
{
    for (struct list *at = head->prev, *before; at != head; at = before) {
        struct job *j = container_of(at, struct job, timer.link);

        before = at->prev;
        j->fed = 0;
        if (is_of_tail(e, j))
            tail_give_back(e, j);
    }
    while (!list_empty(head))
        job_place_again(e, container_of(head->next, struct job, timer.link));
}

static void give_back_past(struct engine *e, struct list *head)
{
    while (!list_empty(head)) {
        struct job *j = container_of(head->prev, struct trail, link)->job;

        j->fed = 0;
        past_give_back(e, j);
    }
}

void engine_feed_abort(struct engine *e)
{
    struct batch *b = &e->place.batch;

    assert(b->active && !b->fed);
    b->gathering = false;
    tails_end(e);
    asides_feed_end(e);
    give_back_jobs(e, &b->source);
    give_back_jobs(e, &b->jobs);
    give_back_past(e, &b->past_jobs);
    while (!list_empty(&b->dead)) {
        struct queue *q = container_of(b->dead.next, struct queue, batch.link);

        list_remove(&q->batch.link);
        give_back_past(e, &q->batch.dead);
    }
    buf_fini(&b->stale);
    buf_fini(&b->hints);
    b->active = false;
}

/* Where the job is in memory that comes `ahead` jobs later, if no job has left the batch. The
 * answer only serves speed, and may be wrong. */
static const void *hint(const struct batch *b, size_t ahead)
{
    const void *job = NULL;
    size_t at = (b->buried + ahead) * sizeof(job);

    if (at + sizeof(job) <= b->hints.len)
        memcpy(&job, b->hints.ptr + at, sizeof(job));
    return job;
}

bool batch_bury(struct engine *e, int *budget)
{
    for (; *budget > 0 && !list_empty(&e->place.batch.jobs); --*budget) {
        prefetch_job(hint(&e->place.batch, HINT_AHEAD));
        e->place.batch.buried++;
        struct job *j = container_of(e->place.batch.jobs.next, struct job, timer.link);
        censuses_leave(e, j);
        sorts_leave(e, j);
        job_leave(e, j);
    }
    for (; *budget > 0 && !list_empty(&e->place.batch.past_jobs); --*budget)
        job_leave(e, container_of(e->place.batch.past_jobs.next, struct trail, link)->job);
    for (; *budget > 0 && !list_empty(&e->place.batch.dead); --*budget) {
        struct queue *q = container_of(e->place.batch.dead.next, struct queue, batch.link);

        if (list_empty(&q->batch.dead))
            list_remove(&q->batch.link);
        else
            job_leave(e, container_of(q->batch.dead.next, struct trail, link)->job);
    }
    if (!list_empty(&e->place.batch.jobs) || !list_empty(&e->place.batch.past_jobs) ||
        !list_empty(&e->place.batch.dead))
        return true;
    e->place.batch.active = e->place.batch.fed = false;
    buf_fini(&e->place.batch.hints);
    return false;
}
