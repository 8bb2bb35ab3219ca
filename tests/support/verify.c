/* SPDX-License-Identifier: MIT */
#include "support/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "engine/place/lane.h"
#include "record/record.h"
#include "support/heap_each.h"
#include "support/verify_shares.h"

struct hashing {
    const struct engine *e;
    uint64_t sum;
};

/* Everything of a job that replay must give again: its image, but for what is kept only as long as
 * there is room. The image shows a ready job as scheduled. Time alone ends the hold of a key as
 * well, and a clock that was set back lets it begin again at a start: the hash leaves it out. */
static int hash_job(void *arg, struct table_node *node)
{
    const struct job *j = container_of(node, struct job, by_seq);
    struct buf b = { 0 };
    struct job_image image;

    if (j->state == JOB_DONE || j->state == JOB_CANCELLED || j->state == JOB_EXPIRED)
        return 0;
    if (job_is_waste(((struct hashing *)arg)->e, j))
        return 0;
    job_image_of(j, &image);
    image.trail.hold_ms = 0;
    record_put_job(&b, &image);
    ((struct hashing *)arg)->sum += XXH3_64bits(b.ptr, b.len);
    buf_fini(&b);
    return 0;
}

static int hash_aside(void *arg, uint64_t lane, struct cold_point from)
{
    uint64_t words[] = { lane, (uint64_t)from.at_ms, from.seq };

    *(uint64_t *)arg += XXH3_64bits(words, sizeof(words));
    return 0;
}

/* The runs, and what of them counts: the frontier and the floors are part of that. */
static uint64_t hash_cold(const struct engine *e)
{
    uint64_t sum = 0;
    const struct list *node;

    list_each (node, &e->cold.runs) {
        const struct cold_run *r = container_of(node, struct cold_run, link);

        sum += r->d.file * UINT64_C(0x9e3779b97f4a7c15) + r->d.entries;
    }
    list_each (node, &e->cold.grave_list) {
        const struct grave *g = container_of(node, struct grave, link);
        struct str key = { g->key, g->len };
        struct cold_point p;

        if (g->key[0] != FAMILY_DUE || !cold_key_point(key, &p) ||
            point_after(p, e->cold.frontier_noted)) /* else it may be forgotten any time */
            sum += XXH3_64bits(g->key, g->len);
    }
    for (int i = 0; i < COLD_SLOTS; i++)
        sum += (uint64_t)(e->cold.counts[i] * (i + 1));
    for (const struct queue *q = NULL; (q = queue_next(e, q));)
        sum += (uint64_t)q->cold_bytes * XXH3_64bits(queue_name(q).ptr, queue_name(q).len);
    asides_each(e, NULL, hash_aside, &sum);
    return sum;
}

static uint64_t hash_tenants(const struct engine *e)
{
    const struct list *node;
    uint64_t sum = 0;

    list_each (node, &e->place.tenant_list) {
        const struct tenant *t = container_of(node, struct tenant, link);
        struct buf b = { 0 };

        if (t->segment == 0)
            continue;
        record_put_tenant(
            &b, &(struct tenant_record){ .name = tenant_name(t), .settings = t->settings });
        sum += XXH3_64bits(b.ptr, b.len);
        buf_fini(&b);
    }
    return sum;
}

uint64_t engine_hash(const struct engine *e)
{
    const struct list *heads[] = { &e->place.queues, &e->place.idle };
    struct hashing h = { e, e->log.next_seq };
    uint64_t sum;

    table_each_stripe(&e->place.jobs, 0, 0, hash_job, &h);
    sum = h.sum + hash_cold(e) + hash_tenants(e) + series_hash(e);
    for (size_t i = 0; i < 2; i++) {
        const struct list *node;

        list_each (node, heads[i]) {
            const struct queue *q = container_of(node, struct queue, link);
            struct queue_record r = { .queue = queue_name(q), .settings = *q->settings };
            struct buf b = { 0 };

            if (q->segments[NOTE_SETTINGS] == 0)
                continue;
            record_put_queue(&b, &r);
            sum += XXH3_64bits(b.ptr, b.len);
            buf_fini(&b);
        }
    }
    return sum;
}

/* ---- Lanes ---- */

static struct job *job_of_line(const struct heap_node *node)
{
    return spot_job(container_of(node, struct spot, line));
}

static struct job *job_of_due(const struct heap_node *node)
{
    return spot_job(container_of(node, struct spot, by_due));
}

static struct cold_point point_of(const struct job *j)
{
    return (struct cold_point){ j->timer.at_ms, j->seq };
}

static int urgency(const struct job *j)
{
    return j->state == JOB_LEASED ? 0 : job_owns_lane(j) ? 1 : 2;
}

static bool goes_before(const struct job *a, const struct job *b)
{
    if (urgency(a) != urgency(b))
        return urgency(a) < urgency(b);
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->seq < b->seq;
}

static bool same_lane(const struct job *a, const struct job *b)
{
    struct job_opts x, y;

    job_opts_get(a, &x);
    job_opts_get(b, &y);
    return a->queue == b->queue && str_eq(x.order, y.order);
}

struct following {
    const struct engine *e;
    const struct job *first;
    uint32_t n;
};

static int verify_follower(void *arg, struct heap_node *node)
{
    struct following *f = arg;
    const struct job *first = f->first, *j = job_of_line(node);

    f->n++;
    CHECK(spot_of(j)->in != SPOT_HOT || !aside_before(f->e, j));

    CHECK(spot_of(j)->member == SPOT_BEHIND && !spot_of(j)->listed);
    CHECK(j->state != JOB_LEASED && !goes_before(j, first));
    CHECK(same_lane(first, j));
    return 0;
}

static int verify_lane(void *arg, struct table_node *node)
{
    const struct engine *e = arg;
    struct job *first = spot_job(container_of(node, struct spot, by_lane));
    struct following f = { e, first, 0 };

    CHECK(spot_of(first)->in != SPOT_HOT || !aside_before(e, first));
    CHECK(job_find(e, first->seq) && first->ordered);
    CHECK(spot_of(first)->member == SPOT_FIRST && lane_first(e, first) == first);
    CHECK((spot_of(first)->listed != SPOT_UNLISTED) == (first->state == JOB_READY));
    heap_each(&spot_of(first)->followers, verify_follower, &f);
    CHECK(f.n == spot_of(first)->behind);
    return 0;
}

static void lanes_verify(const struct engine *e)
{
    bool broken = MUTANT(e->o.mutant, LANE_SWAP);

    if (MUTANT(e->o.mutant, LANE_OVERLAP))
        broken = true;
    if (!broken)
        table_each_stripe(&e->place.lanes, 0, 0, verify_lane, (void *)(uintptr_t)e);
}

/* ---- The classes of ordered jobs ---- */

static int verify_hot(void *arg, struct heap_node *node)
{
    const struct job *j = job_of_due(node);

    CHECK(j->state == JOB_READY && j->where == WHERE_HOT && spot_of(j)->in == SPOT_HOT);
    CHECK(spot_of(j)->member != SPOT_NONE && !job_owns_lane(j));
    *(uint64_t *)arg += job_weight(j);
    return 0;
}

static int verify_tail(void *arg, struct heap_node *node)
{
    const struct job *j = job_of_due(node), *last = arg;

    CHECK(j->where == WHERE_TAIL && spot_of(j)->in == SPOT_TAIL);
    CHECK(spot_of(j)->member == SPOT_NONE);
    CHECK(!last || point_after(point_of(j), point_of(last)));
    return 0;
}

static void order_verify(const struct engine *e, const struct queue *q)
{
    const struct class *c = q->classes[INDEX_ORDERED];

    if (!c)
        return;
    struct job *last = c->hot.root ? job_of_due(c->hot.root) : NULL;
    uint64_t bytes = 0;

    heap_each(&c->hot, verify_hot, &bytes);
    CHECK(bytes == c->ready_bytes);
    heap_each(&c->waiting, verify_tail, last);
    heap_each(&c->feeding, verify_tail, last);
    CHECK(list_empty(&c->ready) && list_empty(&c->tail));
    CHECK(!last || !class_is_on_disk(c) || !point_after(point_of(last), c->from));
    CHECK(c->feeding.root == NULL || (e->place.batch.active && !e->place.batch.fed));
}

/* ---- Jobs that were set aside ---- */

static bool is_somewhere(struct cold_point p)
{
    return p.at_ms != INT64_MAX;
}

static int verify_waiting(void *arg, struct heap_node *node)
{
    const struct aside *a = arg;
    const struct job *j = spot_job(container_of(node, struct spot, by_due));

    CHECK(j->queue == a->queue && spot_of(j)->hash == a->lane);
    CHECK(j->where == WHERE_TAIL && j->state == JOB_READY && spot_of(j)->in == SPOT_ASIDE);
    CHECK(spot_of(j)->member == SPOT_NONE);
    return 0;
}

static void asides_verify(const struct engine *e)
{
    const struct list *node;
    size_t n = 0;

    list_each (node, &e->place.asides.all) {
        struct aside *a = container_of(node, struct aside, link);

        CHECK(a->waiting.root || is_somewhere(a->feeds) || is_somewhere(a->from));
        CHECK(is_somewhere(a->feeds) == !list_empty(&a->fed));
        CHECK(is_somewhere(a->feeds) <= batch_takes_tails(e));
        CHECK(aside_find(e, a->queue, a->lane) == a);
        heap_each(&a->waiting, verify_waiting, a);
        heap_each(&a->feeding, verify_waiting, a);
        n++;
    }
    CHECK(n == e->place.asides.by_lane.count);
}

/* ---- The rest ---- */

struct recount {
    const struct engine *e;
    uint64_t states[JOB_STATE_COUNT];
    uint64_t live_bytes;
    uint64_t keys;
    uint64_t waste_keys;
    int64_t kept_bytes; /* of jobs in memory, and on disk */
    uint64_t bytes[WHERES];
    uint64_t waste;
    uint64_t unlisted; /* ready, with an ordering key, and in no list */
    uint64_t listed;
};

static bool is_kept(const struct queue *q)
{
    return !q->hidden || q->hidden == HIDDEN_RECURRENCE;
}

/* The bytes of a job are those of its image. */
static void check_bytes(struct recount *c, const struct job *j)
{
    struct job_image image;

    job_image_of(j, &image);
    CHECK(job_bytes(j) == image_bytes(&image));
    if (is_kept(j->queue))
        c->kept_bytes += (int64_t)job_bytes(j);
}

static int check_job(void *arg, struct table_node *node)
{
    struct recount *c = arg;
    const struct engine *e = c->e;
    const struct job *j = container_of(node, struct job, by_seq);
    bool ended = state_is_ended(j->state);
    struct job_opts o;

    job_opts_get(j, &o);
    c->bytes[j->where] += job_weight(j);
    CHECK(o.listeners == job_listeners(j) && (o.listeners > 0) == j->heard);
    CHECK(!j->heard || (ear_of(j)->opts_room >= j->opts_len && ear_of(j)->promised == 0));
    if (job_is_waste(e, j)) {
        c->waste++;
        c->live_bytes += 48u + queue_name(j->queue).len + j->opts_len + j->payload_len +
                         (j->trail ? j->trail->live_bytes : 0);
        c->waste_keys += o.key.len > 0 && (!ended || j->trail->hold_ms);
        return 0;
    }
    check_bytes(c, j);
    if (!j->queue->hidden)
        c->states[job_counts_as(j)]++;
    c->live_bytes += 48u + queue_name(j->queue).len + j->opts_len + j->payload_len +
                     (j->trail ? j->trail->live_bytes : 0);
    CHECK(job_find(e, j->seq) == j);
    CHECK(queue_find(e, queue_name(j->queue)) == j->queue);
    CHECK(state_is_ahead(j->state) || j->trail);
    CHECK(!j->trail || j->trail->job == j);
    if (!j->ordered || ended) {
        CHECK(list_empty(&j->timer.link) ==
              (j->state == JOB_LEASED || (ended && j->trail->flags & TRAIL_TELLING)));
    } else {
        bool contends = j->state == JOB_LEASED || job_owns_lane(j) ||
                        (j->state == JOB_READY && j->where == WHERE_HOT);

        CHECK(spot_of(j)->hash == cold_lane(&e->naming, queue_name(j->queue), o.order));
        CHECK((spot_of(j)->member != SPOT_NONE) == contends);
        c->unlisted += j->state == JOB_READY && !spot_of(j)->listed;
    }
    CHECK(j->state != JOB_LEASED || !list_empty(&j->trail->timer.link));
    if (o.key.len > 0 && (!ended || j->trail->hold_ms)) {
        CHECK(key_find(e, j->queue, o.order, o.key) == j);
        c->keys++;
    }
    return 0;
}

static size_t length(const struct list *head)
{
    const struct list *node;
    size_t n = 0;

    list_each (node, head)
        n++;
    return n;
}

/* Ended jobs of a queue that others are to be told of: they are in no list of it. */
static size_t telling(const struct queue *q, bool dead)
{
    const struct list *node;
    size_t n = 0;

    list_each (node, &q->tenant->telling.jobs) {
        const struct job *j = container_of(node, struct trail, link)->job;

        n += j->queue == q && (j->state == JOB_DEAD) == dead;
    }
    return n;
}

static int count_node(void *arg, struct heap_node *node)
{
    (void)node;
    ++*(size_t *)arg;
    return 0;
}

static void check_use(const struct queue *q)
{
    uint64_t jobs = 0;

    for (int i = 0; i < JOB_STATE_COUNT; i++)
        jobs += q->jobs[i];
    for (int i = 0; i < COLD_SLOTS; i++)
        jobs += (uint64_t)q->cold[i];
    CHECK((q->segments[NOTE_SETTINGS] == 0) == (q->settings == &queue_defaults));
    CHECK(q->use == QUEUE_NEW ||
          (q->use == QUEUE_USED) == (jobs > 0 || q->settings != &queue_defaults));
    CHECK(q->use != QUEUE_IDLE || (q->post.waiters == 0 && q->segments[NOTE_TALLY] == 0));
    CHECK(!list_empty(&q->ended) ||
          (list_empty(&q->past) && list_empty(&q->past_keyed) && list_empty(&q->dead)));
    for (int i = 0; i < QUEUE_NOTES; i++)
        CHECK((q->segments[i] == 0) == list_empty(&q->noted[i]));
}

/* Reclaiming takes the oldest records about queues first. */
static void check_notes(const struct engine *e)
{
    for (int i = 0; i < QUEUE_NOTES; i++) {
        uint32_t last = 0;

        list_each_of (const struct queue, q, &e->place.noted[i], noted[i]) {
            CHECK(q->segments[i] >= last);
            last = q->segments[i];
        }
    }
}

static void check_queue(const struct engine *e, const struct queue *q, struct recount *r,
                        uint64_t *sums)
{
    size_t ready = 0, tail = 0, firsts = 0, retries = 0;

    order_verify(e, q);
    for (int i = 0; i < 2; i++) {
        heap_each(&q->firsts[i], count_node, &firsts);
        heap_each(&q->retries[i], count_node, &retries);
    }
    for (int i = 0; i < CLASSES; i++) {
        const struct class *c = q->classes[i];

        if (!c)
            continue;
        ready += length(&c->ready);
        CHECK(c->ready_count == length(&c->ready));
        tail += length(&c->tail);
        CHECK(c->closed || (list_empty(&c->tail) && !c->waiting.root && !class_is_on_disk(c)));
        CHECK(c->closed == !list_empty(&c->link));
    }
    CHECK(firsts == q->first_count);
    CHECK(ready + firsts + retries == q->offered);
    CHECK(q->offered > 0 || list_empty(&q->turn));
    r->listed += ready + tail + firsts + retries;
    int64_t cold = 0;
    for (int i = 0; i < COLD_SLOTS; i++) {
        CHECK(q->cold[i] >= 0);
        cold += q->cold[i];
    }
    CHECK(q->cold_kept >= cold * (int64_t)JOB_KEPT_BYTES && (cold > 0 || q->cold_kept == 0));
    CHECK(q->cold_kept == q->cold_bytes || q->cold_kept == cold * (int64_t)JOB_KEPT_BYTES);
    r->kept_bytes += is_kept(q) ? q->cold_kept : 0;
    if (!e->place.batch.active && !q->hidden) {
        CHECK(length(&q->dead) + telling(q, true) == q->jobs[JOB_DEAD]);
        CHECK(length(&q->past) + length(&q->past_keyed) + telling(q, false) ==
              q->jobs[JOB_DONE] + q->jobs[JOB_CANCELLED] + q->jobs[JOB_EXPIRED]);
    }
    CHECK(length(&q->post.waits) == q->post.waiters);
    check_use(q);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        sums[i] += q->hidden ? 0 : q->jobs[i];
}

/* The sums of a tenant are those of its queues. */
static void check_sums(const struct tenant *t)
{
    int64_t jobs[JOB_STATE_COUNT] = { 0 };
    uint64_t uses[QUEUE_USES] = { 0 }, waiters = 0;
    const struct list *node;

    list_each (node, &t->queues) {
        const struct queue *q = container_of(node, struct queue, of_tenant);

        if (q->hidden)
            continue;
        uses[q->use]++;
        waiters += q->post.waiters;
        for (int i = 0; i < JOB_STATE_COUNT; i++)
            jobs[i] += (int64_t)q->jobs[i];
        for (int i = 0; i < COLD_SLOTS; i++)
            jobs[cold_state((enum cold_slot)i)] += q->cold[i];
    }
    CHECK(memcmp(uses, t->uses, sizeof(uses)) == 0);
    CHECK(memcmp(jobs, t->sums.jobs, sizeof(jobs)) == 0);
    CHECK(waiters == t->sums.waiters);
}

/* The memory of leased jobs, of one tenant. */
static uint64_t leased_bytes(const struct engine *e, const struct tenant *t)
{
    const struct list *node;
    uint64_t bytes = 0;

    list_each (node, &e->place.leased) {
        const struct job *j = container_of(node, struct trail, link)->job;

        bytes += j->queue->tenant == t ? job_weight(j) : 0;
        CHECK(j->trail->weight == trail_weight(j->trail));
    }
    return bytes;
}

static void leased_verify(const struct engine *e)
{
    const struct list *node;
    uint64_t bytes = 0;

    list_each (node, &e->place.tenant_list) {
        const struct tenant *t = container_of(node, struct tenant, link);

        bytes += t->leased_bytes;
        CHECK(e->place.tenant_total > 100 || t->leased_bytes == leased_bytes(e, t));
    }
    CHECK(bytes == e->place.bytes[WHERE_LEASED]);
    CHECK(e->place.leases.bytes <= bytes);
}

/* What a tenant counts is what its queues do. */
static void check_tenant(const struct tenant *t)
{
    const struct list *node;
    uint64_t running = 0, queues = 0, bytes = 0;
    int64_t pending = 0;

    check_sums(t);

    list_each (node, &t->queues) {
        const struct queue *q = container_of(node, struct queue, of_tenant);

        bytes += q->use == QUEUE_IDLE ? 0 : queue_bytes(q);
        if (q->hidden)
            continue;
        pending += (int64_t)q->jobs[JOB_WAITING] + q->cold[COLD_WAITING];
        for (int i = 0; i <= JOB_LEASED; i++)
            pending += (int64_t)q->jobs[i];
        for (int i = 0; i < COLD_SLOTS; i++)
            pending += cold_state((enum cold_slot)i) < JOB_LEASED ? q->cold[i] : 0;
        running += q->jobs[JOB_LEASED];
        queues++;
    }
    CHECK(pending == t->pending);
    CHECK(running == t->running);
    CHECK(queues == t->queue_total);
    CHECK(bytes == t->standing.queue_bytes);
    CHECK(t->promised == 0 && t->promised_queues == 0 && t->promised_bytes == 0);
    CHECK(t->kept_bytes >= 0);
}

void engine_verify(const struct engine *e)
{
    struct recount c = { .e = e };
    uint64_t sums[JOB_STATE_COUNT] = { 0 }, untold = 0;
    const struct list *node;

    table_each_stripe(&e->place.jobs, 0, 0, check_job, &c);
    list_each (node, &e->place.queues)
        check_queue(e, container_of(node, struct queue, link), &c, sums);
    list_each (node, &e->place.idle)
        check_queue(e, container_of(node, struct queue, link), &c, sums);
    check_notes(e);
    lanes_verify(e);
    asides_verify(e);
    shares_verify(e);
    if (!e->place.batch.active)
        CHECK(c.listed + c.unlisted == e->place.states[JOB_READY]);
    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        CHECK(c.states[i] == e->place.states[i]);
        CHECK(c.states[i] == sums[i]);
    }
    CHECK(c.kept_bytes == e->place.kept.bytes);
    CHECK(e->place.leases.waiting ==
          list_length(&e->place.leases.laden) + list_length(&e->place.leases.capped));
    list_each (node, &e->place.tenant_list) {
        const struct tenant *t = container_of(node, struct tenant, link);

        check_tenant(t);
        c.kept_bytes -= t->kept_bytes;
        untold += length(&t->telling.jobs);
        CHECK(list_empty(&t->telling.jobs) == list_empty(&t->telling.link));
    }
    CHECK(c.kept_bytes == 0);
    leased_verify(e);
    CHECK(length(&e->place.tenant_list) == e->place.tenant_total);
    CHECK(c.keys <= e->place.keys.count && e->place.keys.count <= c.keys + c.waste_keys);
    for (int i = 1; i < WHERES; i++)
        CHECK(c.bytes[i] == e->place.bytes[i]);
    CHECK(e->cold.graves.count == length(&e->cold.grave_list));
    CHECK(c.live_bytes == e->place.live_bytes);
    CHECK(length(&e->place.leased) == e->place.states[JOB_LEASED]);
    CHECK(untold == e->place.untold);
}

uint64_t engine_pick_steps(const struct engine *e)
{
    return e->place.turns.pick_steps;
}

bool engine_gathered(const struct engine *e, size_t n, struct job_id *ret)
{
    const struct batch *b = &e->place.batch;

    list_each_of (struct job, j, &b->jobs, timer.link)
        if (b->gathering && n-- == 0)
            return *ret = job_id_of(e, j), true;
    return false;
}

void engine_slice(struct engine *e, int timers)
{
    for (int i = 0; i < WHEELS; i++)
        e->wheels[i].slice = timers;
}
