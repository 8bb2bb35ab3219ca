/* SPDX-License-Identifier: MIT */
/* From memory to disk. A batch is made in three steps. The engine writes its jobs as bytes, slice
 * by slice (engine_feed_slice). The partition sorts them into runs, off this thread. When the runs
 * are durable, one record (FED) moves all jobs at once. A job that changes in between stays in
 * memory, and its entry in the run gets a grave. The memory of jobs that moved is freed slice by
 * slice; until then it is waste. */
#include "engine/cold/cold.h"

#include <assert.h>

#include "engine/place/budget.h"
#include "engine/place/detail.h"
#include "engine/place/job.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "record/opts.h"
#include "record/record.h"

#define WORK_SLICE    1000
#define GRAVES_MAX    20000
#define GRAVES_MIN    64
#define GRAVE_BYTES   128
#define DRAIN_CLASSES 64
#define HINT_AHEAD    8
#define BATCH_QUEUES  4000 /* queues of ended jobs, and queues of later jobs, in one batch */
#define NEAR          12   /* part of the lookahead */

/* ---- Classes ---- */

/* Jobs on disk are loaded a little before they are due, though there may be no room for them. */
void class_from(struct engine *e, struct class *c, struct cold_point from)
{
    c->from = from;
    wheel_remove(&c->near);
    c->near.at_ms = from.at_ms < INT64_C(1) << 47 ? from.at_ms - e->o.lookahead_ms / NEAR : 0;
    if (c->near.at_ms > 0)
        wheel_add(&e->wheels[WHEEL_NEARS], &c->near);
}

static bool is_ordered(const struct class *c)
{
    return c->number == CLASS_ORDERED;
}

bool tail_comes_first(const struct class *c)
{
    const struct job *j = is_ordered(c) ? order_tail(c)
                          : list_empty(&c->tail)
                              ? NULL
                              : container_of(c->tail.next, const struct job, timer.link);

    return j && !(class_is_on_disk(c) && point_after(job_point(j), c->from));
}

/* Lets jobs of the tail go on; opens the class when it has no other parts. True: there is more. */
static bool class_drain(struct engine *e, struct class *c, int *budget)
{
    if (batch_takes_tails(e))
        return false;
    if (is_ordered(c))
        order_drain(e, c, budget);
    for (; !is_ordered(c) && *budget > 0 && tail_comes_first(c) && !class_is_glutted(e, c);
         --*budget) {
        struct job *j = container_of(c->tail.next, struct job, timer.link);

        job_unplace(e, j);
        job_place_hot(e, j, JOB_SCHEDULED);
    }
    assert(c->closed && e->place.closed_count > 0);
    if (list_empty(&c->tail) && !c->waiting.root && !c->feeding.root && !class_is_on_disk(c)) {
        c->closed = false;
        e->place.closed_count--;
        list_remove(&c->link);
    }
    return *budget == 0;
}

void tails_rewind(struct engine *e)
{
    list_each_of (struct queue, q, &e->place.queues, link)
        if (q->classes[INDEX_ORDERED])
            order_rewind(e, q->classes[INDEX_ORDERED]);
    asides_rewind(e);
    list_each_of_safe (struct class, c, &e->place.closed, link)
        jobs_rewind(e, &c->tail);
}

/* ---- Batches ---- */

/* Jobs are all over memory: those that come next are asked for in time. */
static void prefetch_job(const void *job)
{
    uintptr_t at = (uintptr_t)job; /* the job may be NULL, and NULL + 64 is undefined in C */

    __builtin_prefetch(job);
    __builtin_prefetch((const void *)(at + 64));
    __builtin_prefetch((const void *)(at + 128));
}

void batch_release_dead(struct engine *e, const struct queue *q)
{
    struct list *heads[] = { &e->place.batch.past_source, &e->place.batch.past_jobs };

    for (size_t i = 0; i < 2 && !e->place.batch.fed; i++)
        list_each_of_safe (struct trail, t, heads[i], link)
            if (t->job->queue == q && t->job->state == JOB_DEAD)
                job_place_again(e, t->job);
}

static bool graves_are_many(const struct engine *e)
{
    uint64_t most = budget_share(e, SHARE_GRAVES) / GRAVE_BYTES + GRAVES_MIN;

    return e->cold.graves.count > (most < GRAVES_MAX ? most : GRAVES_MAX);
}

bool graves_fill_memory(const struct engine *e)
{
    return e->cold.graves.count > budget_share(e, SHARE_GRAVES_FULL) / GRAVE_BYTES + GRAVES_MIN;
}

/* Whether jobs and queues take so much memory that jobs must go to disk. */
static bool memory_is_full(const struct engine *e)
{
    return e->pool.used_bytes + known_bytes(e) > budget_share(e, SHARE_FULL);
}

bool memory_is_pressed(const struct engine *e)
{
    return memory_is_full(e) && e->place.asides.bytes > budget_share(e, SHARE_WORTHY);
}

/* While there is room nothing is written that might not have to be. */
bool engine_feed_due(const struct engine *e)
{
    if (e->place.batch.active || e->place.batch.empty_lsn == e->lsn ||
        !wheel_is_empty(&e->wheels[WHEEL_LEFT]))
        return false;
    if (unfired_ms(e) <= e->now_ms) /* due jobs that are not ready yet look like later ones */
        return false;
    return graves_are_many(e) ||
           (memory_is_full(e) && (e->place.bytes[WHERE_LATER] > budget_share(e, SHARE_WORTHY) ||
                                  e->place.bytes[WHERE_TAIL] > budget_share(e, SHARE_WORTHY) ||
                                  e->place.bytes[WHERE_PAST] > budget_share(e, SHARE_WORTHY)));
}

static void take_tails(struct engine *e)
{
    list_each_of (struct class, c, &e->place.closed, link) {
        c->tail_first = tail_comes_first(c);
        list_splice(&e->place.batch.source, &c->tail);
        order_feed_begin(e, c);
    }
    asides_feed_begin(e);
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_splice(&e->place.batch.source, &e->wheels[WHEEL_SPARE].slots[level][slot]);
}

/* Takes ended jobs into the batch. The record of a batch is applied in one go, so a batch has the
 * jobs of some thousand queues at most. Other queues wait for the next batch. */
static void take_past(struct engine *e)
{
    for (int i = engine_slice(e, BATCH_QUEUES); i > 0 && !list_empty(&e->place.ended); i--) {
        struct queue *q = container_of(e->place.ended.next, struct queue, ended);

        list_remove(&q->ended);
        list_splice(&e->place.batch.past_source, &q->past);
        list_splice(&e->place.batch.past_source, &q->past_keyed);
        list_splice(&e->place.batch.past_source, &q->dead);
    }
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

void engine_feed_begin(struct engine *e)
{
    assert(!e->place.batch.active && list_empty(&e->place.batch.jobs));
    frontier_follow(e);
    e->place.batch.active = e->place.batch.gathering = true;
    e->place.batch.fed = false;
    buf_reset(&e->place.batch.stale, 1 << 16);
    /* In the order of becoming ready, as they may have to be given back. */
    e->place.batch.tails = e->place.bytes[WHERE_TAIL] > budget_share(e, SHARE_TAILS);
    if (e->place.batch.tails)
        take_tails(e);
    e->place.batch.slots_left =
        e->place.bytes[WHERE_LATER] > budget_share(e, SHARE_LATER) ? WHEEL_LEVELS * WHEEL_SLOTS : 0;
    e->place.batch.slot = (e->place.batch.slot + 1) % (WHEEL_LEVELS * WHEEL_SLOTS);
    e->place.batch.number++;
    e->place.batch.queues_left = engine_slice(e, BATCH_QUEUES);
    e->place.batch.later_bytes = 0;
    e->place.batch.buried = 0;
    e->place.batch.past = e->place.bytes[WHERE_PAST] > budget_share(e, SHARE_PAST);
    if (e->place.batch.past)
        take_past(e);
    prune_graves(e);
    e->place.batch.graves = e->cold.next_grave - 1;
}

size_t engine_feed_bytes(const struct engine *e)
{
    size_t bytes = 0;

    if (e->place.batch.tails)
        bytes += e->place.bytes[WHERE_TAIL];
    if (e->place.batch.slots_left > 0)
        bytes += e->place.bytes[WHERE_LATER] < budget_share(e, SHARE_BATCH)
                     ? e->place.bytes[WHERE_LATER]
                     : budget_share(e, SHARE_BATCH);
    if (!list_empty(&e->place.batch.past_source))
        bytes += e->place.bytes[WHERE_PAST];
    return bytes;
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
    feed_job(e, j, out);
}

static bool feed_tails(struct engine *e, struct buf *out, size_t *n)
{
    struct job *j;

    while (*n > 0 && !list_empty(&e->place.batch.source)) {
        j = container_of(e->place.batch.source.next, struct job, timer.link);
        --*n;
        if (stays(e, j)) {
            job_place_again(e, j);
            continue;
        }
        prefetch_job(container_of(j->timer.link.next->next, struct job, timer.link));
        feed_next(e, out, j);
    }
    for (; *n > 0 && (j = order_feed_next(e)); --*n)
        feed_next(e, out, j);
    for (; *n > 0 && (j = asides_feed_next(e)); --*n)
        feed_next(e, out, j);
    return !list_empty(&e->place.batch.source) || !list_empty(&e->place.batch.orders) ||
           !list_empty(&e->place.batch.asides);
}

/* Whether the batch may have one more job of this queue. */
static bool takes_queue(struct batch *b, struct queue *q)
{
    if (q->batch == b->number)
        return true;
    q->batch = b->number;
    return b->queues_left-- > 0;
}

/* Feeds jobs beyond the frontier, up to the size of a batch. The next batch goes on with the next
 * slot, so no slot waits for a crowded one. Otherwise the journal would have to keep a segment for
 * the sake of one job. Slots that the frontier has entered are left alone: their jobs are about to
 * be hot. */
static bool feed_later(struct engine *e, struct buf *out, size_t *n)
{
    struct batch *b = &e->place.batch;
    int64_t near = e->place.frontier.at_ms > e->now_ms ? e->place.frontier.at_ms : e->now_ms;

    while (*n > 0 && b->slots_left > 0 && b->later_bytes < budget_share(e, SHARE_BATCH)) {
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
        b->later_bytes += job_weight(j);
        feed_next(e, out, j);
    }
    return b->slots_left > 0 && b->later_bytes < budget_share(e, SHARE_BATCH);
}

static bool feed_past(struct engine *e, struct buf *out, size_t *n)
{
    for (; *n > 0 && !list_empty(&e->place.batch.past_source); --*n) {
        struct trail *t = container_of(e->place.batch.past_source.next, struct trail, link);

        list_move(&e->place.batch.past_jobs, &t->link);
        feed_job(e, t->job, out);
    }
    return !list_empty(&e->place.batch.past_source);
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
    assert(e->place.batch.active && e->place.batch.gathering && !e->place.batch.fed);
    if (feed_tails(e, out, &n) || feed_later(e, out, &n) || feed_past(e, out, &n) || n == 0)
        return true;
    if (!MUTANT(e->o.mutant, LOST_TOMBSTONE))
        feed_graves(e, out);
    e->place.batch.gathering = false;
    if (out->len == 0 && !(e->place.batch.past && !list_empty(&e->place.ended)))
        e->place.batch.empty_lsn = e->lsn;
    return false;
}

static void give_back(struct engine *e, struct list *head, bool past)
{
    while (!list_empty(head)) {
        struct job *j = past ? container_of(head->next, struct trail, link)->job
                             : container_of(head->next, struct job, timer.link);

        j->fed = 0;
        job_place_again(e, j);
    }
}

void engine_feed_abort(struct engine *e)
{
    struct list newer;

    assert(e->place.batch.active && !e->place.batch.fed);
    e->place.batch.gathering = false;
    /* Jobs that came to the tails meanwhile stay behind those that are given back. */
    list_init(&newer);
    if (e->place.batch.tails)
        list_each_of (struct class, c, &e->place.closed, link)
            list_splice(&newer, &c->tail);
    order_feed_abort(e);
    asides_feed_end(e);
    give_back(e, &e->place.batch.jobs, false);
    give_back(e, &e->place.batch.source, false);
    give_back(e, &newer, false);
    give_back(e, &e->place.batch.past_jobs, true);
    give_back(e, &e->place.batch.past_source, true);
    buf_fini(&e->place.batch.stale);
    buf_fini(&e->place.batch.hints);
    e->place.batch.active = false;
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

/* Frees waste. */
static bool bury(struct engine *e, int *budget)
{
    for (; *budget > 0 && !list_empty(&e->place.batch.jobs); --*budget) {
        prefetch_job(hint(&e->place.batch, HINT_AHEAD));
        e->place.batch.buried++;
        struct job *j = container_of(e->place.batch.jobs.next, struct job, timer.link);
        censuses_leave(e, j);
        job_leave(e, j);
    }
    for (; *budget > 0 && !list_empty(&e->place.batch.past_jobs); --*budget)
        job_leave(e, container_of(e->place.batch.past_jobs.next, struct trail, link)->job);
    if (!list_empty(&e->place.batch.jobs) || !list_empty(&e->place.batch.past_jobs))
        return true;
    e->place.batch.active = e->place.batch.fed = false;
    buf_fini(&e->place.batch.hints);
    return false;
}

/* The batch has all its jobs: those that left it may be in the next one. */
static bool rejoin(struct engine *e, int *budget)
{
    struct timer *t;

    for (; *budget > 0 && (t = wheel_first(&e->wheels[WHEEL_LEFT])); --*budget) {
        wheel_remove(t);
        container_of(t, struct job, timer)->left = 0;
        wheel_add(&e->wheels[WHEEL_LATER], t);
    }
    return *budget == 0;
}

bool engine_work(struct engine *e)
{
    int budget = WORK_SLICE, freed = engine_slice(e, WORK_SLICE);
    bool more = e->place.batch.fed && bury(e, &freed);

    if (!e->place.batch.gathering && rejoin(e, &freed))
        more = true;
    /* Jobs that the frontier has passed become hot. If some jobs are due, engine_advance fires them
     * first, in order. */
    if (unfired_ms(e) > e->now_ms) {
        jobs_place_upto(e, &e->wheels[WHEEL_LATER], e->place.frontier.at_ms, &budget);
        jobs_place_upto(e, &e->wheels[WHEEL_LEFT], e->place.frontier.at_ms, &budget);
    }
    past_trim(e, &budget);
    kept_trim(e, &budget);
    asides_refill(e, &budget); /* before others of their classes */
    for (int i = 0; i < DRAIN_CLASSES && budget > 0 && !list_empty(&e->place.closed); i++) {
        struct class *c = container_of(e->place.closed.next, struct class, link);

        list_move(&e->place.closed, &c->link);
        if (class_drain(e, c, &budget))
            more = true;
    }
    return more || budget == 0;
}

uint64_t engine_memory(const struct engine *e)
{
    return e->pool.used_bytes + known_bytes(e) +
           (e->place.jobs.buckets + e->place.keys.buckets + e->place.lanes.buckets +
            e->cold.graves.buckets + e->place.asides.by_lane.buckets) *
               sizeof(struct table_node *) +
           e->place.batch.stale.cap + e->place.batch.hints.cap + censuses_bytes(e) +
           e->pulses.running.chunk.cap + e->pulses.running.step.cap + e->pulses.ending.chunk.cap +
           e->pulses.ending.step.cap;
}
