/* SPDX-License-Identifier: MIT */
/* Jobs in memory: making them, and keeping every index and count in step with their state. */
#include "engine/place/job.h"

#include <assert.h>
#include <stdlib.h>

#include "base/time.h"
#include "engine/place/lane.h"
#include "engine/place/queue.h"
#include "record/image.h"
#include "record/opts.h"

#define LATE_STEPS   32   /* jobs that a late one may pass in a list by their ends */
#define LOGGED_STEPS 4096 /* entries of the audit log, the oldest of which are dropped */

/* Sequence numbers fill the buckets evenly as they are. Jobs that are made one after another stand
 * in neighbouring buckets. So growing the table walks through memory in order. */
static uint64_t seq_hash(uint64_t seq)
{
    return seq;
}

/* Bytes from the tail to the payload. */
static size_t opts_room(const struct job *j)
{
    return j->heard ? ear_of(j)->opts_room : j->opts_len;
}

size_t job_size(const struct job *j)
{
    size_t size = offsetof(struct job, tail) + j->opts_len + j->payload_len +
                  (j->ordered ? sizeof(struct spot) : 0);

    return j->heard ? size + sizeof(struct ear) + (ear_of(j)->opts_room - j->opts_len) : size;
}

static uint64_t job_live_bytes(const struct job *j)
{
    return JOB_KEPT_BYTES + queue_name(j->queue).len + j->opts_len + j->payload_len;
}

uint64_t job_bytes(const struct job *j)
{
    return job_live_bytes(j) + (j->trail ? j->trail->live_bytes : 0);
}

struct job *job_find(const struct engine *e, uint64_t seq)
{
    struct table_node *node = table_chain(&e->place.jobs, seq_hash(seq));

    for (; node; node = node->next) {
        struct job *j = container_of(node, struct job, by_seq);

        if (j->seq == seq && !job_is_waste(e, j))
            return j;
    }
    return NULL;
}

void jobs_near(const struct engine *e, const uint64_t *seqs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        table_near_bucket(&e->place.jobs, seq_hash(seqs[i]));
    for (size_t i = 0; i < n; i++)
        table_near_node(&e->place.jobs, seq_hash(seqs[i]));
}

struct job *job_of(const struct engine *e, struct job_id id)
{
    struct job *j = id.partition == e->o.partition ? job_find(e, id.seq) : NULL;

    return j && (int64_t)j->born_ms == id.due_ms ? j : NULL;
}

struct job_id job_id_of(const struct engine *e, const struct job *j)
{
    return (struct job_id){ (int64_t)j->born_ms, e->o.partition, j->seq };
}

struct str job_payload(const struct job *j)
{
    return (struct str){ j->tail + opts_room(j), j->payload_len };
}

struct job *job_new(struct engine *e, const struct job_image *image, struct queue *q)
{
    size_t size = offsetof(struct job, tail) + image->opts.len + image->payload.len;
    struct job_opts o = { 0 };

    if (!opts_are_bare(image->opts))
        job_opts_read(image->opts, image->born_ms, &o);
    size_t before =
        (o.order.len > 0 ? sizeof(struct spot) : 0) + (o.listeners > 0 ? sizeof(struct ear) : 0);
    char *memory = pool_alloc(&e->pool, before + size);
    if (!memory)
        return NULL;
    struct job *j = (struct job *)(void *)(memory + before);
    /* The struct is written as a whole, so that fresh memory is not read before it is written. The
     * last byte is the first of the tail, which is never empty. */
    *j = (struct job){
        .timer.at_ms = image->at_ms,
        .seq = image->seq,
        .queue = q,
        .due_ms = image->due_ms,
        .born_ms = (uint64_t)image->born_ms & ((UINT64_C(1) << 48) - 1),
        .state = image->state & 15u,
        .priority = image->priority & 7u,
        .passing = o.passing,
        .ordered = o.order.len > 0,
        .payload_len = (uint32_t)image->payload.len,
        .segment = e->segment,
        .attempt = image->attempt & ATTEMPT_MAX,
        .opts_len = (uint16_t)image->opts.len,
        .stalls = image->stalls & 127u,
        .heard = o.listeners > 0,
    };
    list_init(&j->timer.link);
    if (j->heard)
        *ear_of(j) = (struct ear){ (uint32_t)image->opts.len, (uint16_t)o.listeners, 0 };
    if (j->ordered)
        spot_init(e, j, o.order);
    bool classed = state_is_ended(j->state) || class_obtain(e, q, class_index_of(j));
    memcpy(j->tail, image->opts.ptr, image->opts.len);
    if (image->payload.len)
        memcpy(j->tail + image->opts.len, image->payload.ptr, image->payload.len);
    if (image->has_trail)
        j->trail = trail_of_image(e, j, &image->trail);
    else if (o.expire_ms > 0)
        j->trail = trail_new(e, j); /* its timer is needed */
    else if (classed)
        return j;
    if (!j->trail || !classed) {
        job_free(e, j);
        return NULL;
    }
    return j;
}

void job_free(struct engine *e, struct job *j)
{
    trail_free(e, j->trail);
    pool_free(&e->pool, job_memory(j), job_size(j));
}

/* The part of its queue's history_bytes that an ended job takes. */
static uint64_t past_bytes(const struct job *j)
{
    const struct trail *t = j->trail;

    return job_size(j) + sizeof(*t) + blob_str(t->result).len + blob_str(t->error).len +
           blob_str(t->history).len + blob_str(t->note).len + blob_str(t->log).len;
}

static void past_count(struct engine *e, struct queue *q, const struct job *j, bool comes)
{
    uint64_t most = e->o.history_bytes / (MUTANT(e->o.mutant, HISTORY_HALF) ? 2 : 1);

    assert(comes || q->past_bytes >= past_bytes(j));
    q->past_bytes += comes ? past_bytes(j) : -past_bytes(j);
    if (!q->hidden)
        q->tenant->past_bytes += comes ? past_bytes(j) : -past_bytes(j);
    if (q->past_bytes <= most)
        list_remove(&q->rich);
    else if (list_empty(&q->rich))
        list_append(&e->place.rich, &q->rich);
}

void past_trim(struct engine *e, int *budget)
{
    if (!e->refuse_new || e->place.batch.active) /* a batch has some of them, and makes room */
        return;
    for (; *budget > 0 && !list_empty(&e->place.rich); --*budget) {
        struct queue *q = container_of(e->place.rich.next, struct queue, rich);
        struct list *oldest = MUTANT(e->o.mutant, HISTORY_NEWEST) ? q->past.prev : q->past.next;

        assert(!list_empty(&q->past)); /* it has bytes, so it has jobs */
        list_move(&e->place.rich, &q->rich);
        COUNT(e, q, history_dropped);
        job_leave(e, container_of(oldest, struct trail, link)->job);
    }
}

static void place_leased(struct engine *e, struct trail *t)
{
    int64_t left = t->until_ms - e->now_ms;

    assert(t->job->trail == t && list_empty(&t->timer.link));
    list_append(&e->place.leased, &t->link);
    if (e->started) { /* in replay engine_start does it, when there is a clock */
        t->timer.at_ms = e->mono_ms + (left > 0 ? left : 0);
        wheel_add(&e->wheels[WHEEL_LEASES], &t->timer);
    }
}

static bool ends_before(const struct trail *a, const struct trail *b)
{
    return a->ended_ms < b->ended_ms || (a->ended_ms == b->ended_ms && a->job->seq < b->job->seq);
}

/* Puts a trail into a list in the order of the ends of jobs. `link` is the offset of the list's
 * node in a trail. A job comes late if it told others of its end first, if a batch gave it back, or
 * if it was copied forward. A late job goes before the jobs that ended after it, and passes `steps`
 * of them at most. A job that ended just now stays behind jobs of later moments, which a clock that
 * was set back leaves. In replay jobs come in any order, and past_sort() sorts the lists at the
 * end.
 */
static void list_by_end(const struct engine *e, struct list *head, struct trail *t, size_t link,
                        int steps)
{
    struct list *at = head->prev;
    bool now = t->ended_ms == e->now_ms;

    for (; steps > 0 && at != head && e->started; steps--) {
        const struct trail *before = (const struct trail *)((uintptr_t)at - link);

        if (ends_before(before, t) || (now && before->ended_ms > t->ended_ms))
            break;
        at = at->prev;
    }
    list_append(at->next, (struct list *)((uintptr_t)t + link));
}

static struct list *past_list(const struct job *j)
{
    struct queue *q = j->queue;

    return j->state == JOB_DEAD ? &q->dead : j->trail->hold_ms ? &q->past_keyed : &q->past;
}

/* The jobs of a batch come back from its last to its first. Only late jobs may be before them. */
void past_give_back(struct engine *e, struct job *j)
{
    struct list *head = past_list(j), *at;

    list_remove(&j->trail->link); /* it may be in this list */
    at = head->next;
    for (int i = 0; i < LATE_STEPS && at != head &&
                    ends_before(container_of(at, struct trail, link), j->trail);
         i++)
        at = at->next;
    list_append(at, &j->trail->link);
    if (list_empty(&j->queue->ended))
        list_append(&e->place.ended, &j->queue->ended);
}

static void place_ended(struct engine *e, struct job *j, enum job_state state)
{
    struct queue *q = j->queue;

    if (j->trail->flags & TRAIL_TELLING) {
        struct telling *t = &q->tenant->telling;

        list_append(&t->jobs, &j->trail->link);
        if (list_empty(&t->link))
            list_append(&e->place.tellers, &t->link);
        e->place.untold++;
        return;
    }
    j->timer.at_ms = j->trail->hold_ms ? j->trail->hold_ms : j->trail->keep_ms;
    wheel_add(&e->wheels[WHEEL_MOMENTS], &j->timer);
    list_by_end(e, past_list(j), j->trail, offsetof(struct trail, link),
                j->trail->ended_ms == e->now_ms ? 0 : LATE_STEPS);
    if (list_empty(&q->ended))
        list_append(&e->place.ended, &q->ended);
    if (batch_is_left(e, j))
        j->trail->left = (uint16_t)e->place.batch.number;
    if (state != JOB_DEAD && !j->trail->hold_ms)
        past_count(e, q, j, true);
    if (hidden_rows[q->hidden].lists_ended) /* an ended job needs no second timer */
        list_by_end(e, &q->logged, j->trail, offsetof(struct trail, timer.link), LOGGED_STEPS);
}

size_t job_weight(const struct job *j)
{
    return pool_size(job_size(j)) + (j->trail ? j->trail->weight : 0);
}

bool tail_is_before(const struct class *c, struct cold_point at)
{
    const struct job *first = container_of(c->tail.next, const struct job, timer.link);

    return !list_empty(&c->tail) && point_after(at, job_point(first));
}

/* Whether others of its class are before a job that is due. */
static bool is_held_back(const struct engine *e, const struct class *c, const struct job *j)
{
    struct cold_point at = job_point(j);

    if (MUTANT(e->o.mutant, OVERTAKING))
        return false;
    if (c->closed && batch_takes_tails(e))
        return true; /* its tail is on its way to disk */
    /* A job before all those on disk overtakes none. After a restart the oldest jobs are such. */
    if (class_is_on_disk(c) && point_after(at, c->from))
        return true;
    return !list_empty(&c->tail) || class_is_glutted(e, c);
}

static void place_hot(struct engine *e, struct job *j, struct class *c, bool due)
{
    j->where = WHERE_HOT;
    j->state = due ? JOB_READY : JOB_SCHEDULED;
    class_count_hot(c, j, job_weight(j));
    if (!due) {
        wheel_add(&e->wheels[WHEEL_MOMENTS], &j->timer);
        return;
    }
    list_append(&c->ready, &j->timer.link);
    c->ready_count++;
    j->queue->offered++;
    if (j->passing)
        queue_unpark(e, j->queue);
    else
        queue_offer(e, j->queue);
}

/* The job keeps its lane, and stays in memory however far away its next attempt is. */
static void place_owner(struct engine *e, struct job *j, bool due)
{
    j->where = WHERE_OWNS_LANE;
    j->state = due ? JOB_READY : JOB_SCHEDULED;
    if (!due)
        wheel_add(&e->wheels[WHEEL_MOMENTS], &j->timer);
    lane_set(e, j, true);
}

static void place_waiting(struct engine *e, struct job *j, bool hot)
{
    struct class *c = class_of(j);
    bool stays = j->state == JOB_READY && job_owns_lane(j); /* though the clock was set back */
    bool due = e->started && !e->place.sinking && (stays || j->timer.at_ms <= e->now_ms);

    if (due && j->queue->hidden) {
        j->state = JOB_READY;
        j->where = WHERE_TASK;
        list_append(&e->place.due[j->queue->hidden], &j->timer.link);
    } else if (job_owns_lane(j)) {
        place_owner(e, j, due);
    } else if (j->ordered && due) {
        order_place(e, j);
    } else if (!due && !hot && !e->place.sinking && job_cold_ms(j) > e->place.frontier.at_ms) {
        j->state = JOB_SCHEDULED;
        j->where = WHERE_LATER;
        wheel_add(batch_is_left(e, j) ? &e->wheels[WHEEL_LEFT] : &e->wheels[WHEEL_LATER],
                  &j->timer);
    } else if (hot || e->place.sinking || job_is_waiting(j) ||
               (due ? !is_held_back(e, c, j) : !e->started || !class_is_full(e, c))) {
        place_hot(e, j, c, due);
    } else {
        j->where = WHERE_TAIL;
        j->state = due ? JOB_READY : JOB_SCHEDULED;
        if (due) {
            list_append(&c->tail, &j->timer.link);
            class_waits(e, c);
        } else {
            wheel_add(&e->wheels[WHEEL_SPARE], &j->timer);
        }
    }
    if (j->ordered && j->where != WHERE_OWNS_LANE && !due)
        lane_set(e, j, false);
}

static void unplace_hot(struct job *j, size_t weight)
{
    assert(j->state != JOB_READY || j->queue->offered > 0);
    class_count_hot(class_of(j), j, -weight);
    if (j->state != JOB_READY)
        return;
    class_of(j)->ready_count--;
    if (--j->queue->offered == 0)
        list_remove(&j->queue->turn); /* so that no turn comes to a queue that has nothing */
}

static void place(struct engine *e, struct job *j, enum job_state state, bool hot)
{
    struct queue *q = j->queue;
    size_t weight;

    assert(j->where == WHERE_NONE && !j->fed && list_empty(&j->timer.link));
    assert(state_is_ahead(state) || (j->trail && list_empty(&j->trail->link)));
    /* Replay trusts its records; the engine must follow the table. */
    assert(!e->started || state_may_follow(j->state, state));
    if (j->trail) /* it may change before the job is taken out again: then this counts */
        j->trail->weight = trail_weight(j->trail);
    if (j->state == JOB_LEASED && state != JOB_LEASED)
        queue_freed(e, q);
    j->state = state;
    if (state_is_ahead(state)) {
        place_waiting(e, j, hot);
        if (j->trail && (j->trail->timer.at_ms = job_expires_ms(j)) >= 0 &&
            !(MUTANT(e->o.mutant, EXPIRY_LOST) && j->loaded && job_is_waiting(j)))
            wheel_add(&e->wheels[WHEEL_EXPIRIES], &j->trail->timer);
    } else if (state == JOB_LEASED) {
        j->where = WHERE_LEASED;
        place_leased(e, j->trail);
    } else {
        j->where = WHERE_PAST;
        place_ended(e, j, state);
    }
    if (j->ordered && !state_is_ahead(state))
        lane_set(e, j, state == JOB_LEASED);
    assert(place_rows[j->where].states >> j->state & 1);
    queue_count(e, q, job_counts_as(j), 1);
    weight = job_weight(j);
    e->place.bytes[j->where] += weight;
    q->tenant->memory_bytes += weight;
    if (j->where == WHERE_OWNS_LANE)
        q->tenant->owner_bytes += weight;
    if (j->where == WHERE_LEASED)
        leased_count(e, q->tenant, weight);
    if (j->ordered && j->where == WHERE_TAIL && spot_of(j)->in != SPOT_ASIDE)
        q->classes[INDEX_ORDERED]->tailed++;
    if (q->use != QUEUE_USED)
        queue_settle(e, q);
}

void job_place(struct engine *e, struct job *j, enum job_state state)
{
    place(e, j, state, false);
}

void job_place_hot(struct engine *e, struct job *j, enum job_state state)
{
    place(e, j, state, true);
}

void job_place_again(struct engine *e, struct job *j)
{
    job_unplace(e, j);
    job_place(e, j, state_is_ended(j->state) ? (enum job_state)j->state : JOB_SCHEDULED);
}

void jobs_place_upto(struct engine *e, struct wheel *w, int64_t upto_ms, int *budget)
{
    struct timer *t;

    for (; *budget > 0 && (t = wheel_pop(w, upto_ms)); --*budget)
        job_place_again(e, container_of(t, struct job, timer));
    if (*budget > 0 && wheel_next(w) <= upto_ms) /* they have to sink further */
        *budget = 0;
}

void jobs_place_all(struct engine *e, struct list *head)
{
    while (!list_empty(head)) {
        struct job *j = container_of(head->next, struct job, timer.link);

        list_remove(&j->timer.link);
        job_place(e, j, JOB_SCHEDULED);
    }
}

void jobs_rewind(struct engine *e, struct list *head)
{
    list_each_of_safe (struct job, j, head, timer.link)
        if (j->timer.at_ms > e->now_ms)
            job_place_again(e, j);
}

void job_unplace(struct engine *e, struct job *j)
{
    struct queue *q = j->queue;
    size_t weight = job_weight(j);

    assert(j->where != WHERE_NONE && e->place.bytes[j->where] >= weight);
    if (!job_is_waste(e, j)) { /* else the record that said so has counted */
        assert(q->jobs[job_counts_as(j)] > 0);
        queue_count(e, q, job_counts_as(j), -1);
        if (MUTANT(e->o.mutant, COUNT_DRIFT) && j->state == JOB_READY)
            q->jobs[JOB_READY]++;
        if (j->fed)
            batch_stale(e, j);
    }
    e->place.bytes[j->where] -= weight;
    q->tenant->memory_bytes -= weight;
    if (j->ordered && j->where == WHERE_TAIL && spot_of(j)->in < SPOT_ASIDE)
        q->classes[INDEX_ORDERED]->tailed--;
    if (j->where == WHERE_LEASED)
        leased_count(e, q->tenant, -weight);
    if (j->where == WHERE_OWNS_LANE) {
        q->tenant->owner_bytes -= weight;
        lulls_end(e, q->tenant);
    }
    if (j->ordered && j->state == JOB_READY)
        order_unplace(e, j);
    else if (j->where == WHERE_HOT)
        unplace_hot(j, weight);
    list_remove(&j->timer.link);
    if (j->trail)
        list_remove(&j->trail->timer.link);
    if (!state_is_ahead(j->state))
        list_remove(&j->trail->link);
    if (state_is_ended(j->state) && j->trail->flags & TRAIL_TELLING) {
        e->place.untold--;
        if (list_empty(&q->tenant->telling.jobs))
            list_remove(&q->tenant->telling.link);
    } else if (state_is_ended(j->state) && j->state != JOB_DEAD && !j->trail->hold_ms) {
        past_count(e, q, j, false);
    }
    j->where = WHERE_NONE;
    j->fed = 0;
    j->near = 0;
    if (j->trail)
        j->trail->weight = 0;
}

int job_enter(struct engine *e, struct job *j, bool hot)
{
    bool ended = state_is_ended(j->state);

    assert(j->queue && j->where == WHERE_NONE);
    /* The hold may have ended while the job was on disk, and another job may have the key. Replay
     * knows no time: there engine_start ends the hold. */
    if (ended && e->started && j->trail->hold_ms <= e->now_ms && !MUTANT(e->o.mutant, HOLD_AGAIN))
        j->trail->hold_ms = 0;
    int err = !ended || j->trail->hold_ms ? key_take(e, j) : 0;

    if (err < 0)
        return err;
    table_add(&e->place.jobs, &j->by_seq);
    e->place.hidden_jobs += j->queue->hidden != HIDDEN_NONE;
    segment_add(e, j->segment);
    e->place.live_bytes += job_live_bytes(j);
    kept_add(e, j->queue, (int64_t)job_live_bytes(j));
    if (j->trail)
        trail_recount(e, j->trail);
    place(e, j, (enum job_state)j->state, hot);
    return 0;
}

void job_leave(struct engine *e, struct job *j)
{
    struct queue *q = j->queue;

    assert(!q->hidden || e->place.hidden_jobs > 0);
    key_release(e, j);
    table_remove(&e->place.jobs, &j->by_seq);
    e->place.hidden_jobs -= q->hidden != HIDDEN_NONE;
    segment_sub(e, j->segment);
    e->place.live_bytes -= job_bytes(j);
    if (!job_is_waste(e, j)) /* else the record that said so has counted */
        kept_add(e, q, -(int64_t)job_bytes(j));
    job_unplace(e, j);
    if (j->ordered)
        lane_set(e, j, false);
    if (j->state == JOB_LEASED)
        queue_freed(e, q);
    job_free(e, j);
    queue_settle(e, q);
}

void job_image_of(const struct job *j, struct job_image *ret)
{
    *ret = (struct job_image){
        .seq = j->seq,
        .born_ms = (int64_t)j->born_ms,
        .state = j->state == JOB_READY ? JOB_SCHEDULED : (unsigned)j->state,
        .priority = j->priority,
        .due_ms = j->due_ms,
        .at_ms = state_is_ended(j->state) ? j->due_ms : j->timer.at_ms,
        .attempt = j->attempt,
        .stalls = j->stalls,
        .queue = queue_name(j->queue),
        .opts = { j->tail, j->opts_len },
        .payload = job_payload(j),
        .has_trail = j->trail != NULL,
    };
    if (j->trail)
        ret->trail = trail_image_of(j->trail);
}

static uint64_t hash_of_node(const struct table_node *node)
{
    return seq_hash(container_of(node, struct job, by_seq)->seq);
}

void jobs_init(struct engine *e)
{
    table_init(&e->place.jobs, hash_of_node);
}
