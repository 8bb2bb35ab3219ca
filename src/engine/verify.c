/* SPDX-License-Identifier: MIT */
/* For tests: a hash of the logical state, and a recount of everything that is kept as a count. */
#include "engine/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

/* Everything of a job that replay must give again: its image, but for what is kept only as long as
 * there is room. */
static int hash_job(void *arg, struct table_node *node)
{
    const struct job *j = container_of(node, struct job, by_seq);
    struct buf b = { 0 };
    struct job_image image;

    if (j->state == JOB_DONE || j->state == JOB_CANCELLED)
        return 0;
    job_image_of(j, &image);
    record_put_job(&b, &image);
    *(uint64_t *)arg += XXH3_64bits(b.ptr, b.len);
    buf_fini(&b);
    return 0;
}

uint64_t engine_hash(const struct engine *e)
{
    const struct list *heads[] = { &e->queues, &e->idle };
    uint64_t sum = e->next_seq;

    table_each_stripe(&e->jobs, 0, 0, hash_job, &sum);
    for (size_t i = 0; i < 2; i++) {
        const struct list *node;

        list_each (node, heads[i]) {
            const struct queue *q = container_of(node, struct queue, link);
            struct buf b = { 0 };

            if (q->segment == 0)
                continue;
            record_put_queue(&b, &(struct queue_record){ .queue = { q->name, q->name_len },
                                                         .settings = q->settings });
            sum += XXH3_64bits(b.ptr, b.len);
            buf_fini(&b);
        }
    }
    return sum;
}

#define CHECK(what)                                                                   \
    do {                                                                              \
        if (!(what)) {                                                                \
            fprintf(stderr, "engine_verify: %s:%d: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

struct recount {
    const struct engine *e;
    uint64_t states[JOB_STATE_COUNT];
    uint64_t live_bytes;
    uint64_t keys;
};

static int check_job(void *arg, struct table_node *node)
{
    struct recount *c = arg;
    const struct engine *e = c->e;
    const struct job *j = container_of(node, struct job, by_seq);
    bool ended = j->state > JOB_LEASED;
    struct job_opts o;

    job_opts_get(j, &o);
    c->states[j->state]++;
    c->live_bytes += 48u + j->queue->name_len + j->opts_len + j->payload_len +
                     (j->trail ? j->trail->live_bytes : 0);
    CHECK(job_find(e, j->seq) == j);
    CHECK(queue_find(e, (struct str){ j->queue->name, j->queue->name_len }) == j->queue);
    CHECK(j->state < JOB_LEASED || j->trail);
    CHECK(!j->trail || j->trail->job == j);
    CHECK(list_empty(&j->timer.link) == (j->state == JOB_LEASED));
    CHECK(j->state != JOB_LEASED || !list_empty(&j->trail->timer.link));
    if (o.key.len > 0 && (!ended || j->trail->hold_ms)) {
        CHECK(key_find(e, j->queue, o.key) == j);
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

static void check_queue(const struct queue *q, uint64_t *sums)
{
    size_t ready = 0;

    for (int i = 0; i < PRIORITIES; i++)
        ready += length(&q->ready[i]);
    CHECK(ready == q->jobs[JOB_READY]);
    CHECK(length(&q->dead) == q->jobs[JOB_DEAD]);
    CHECK(length(&q->past) + length(&q->held) == q->jobs[JOB_DONE] + q->jobs[JOB_CANCELLED]);
    CHECK(length(&q->waits) == q->waiters);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        sums[i] += q->jobs[i];
}

void engine_verify(const struct engine *e)
{
    struct recount c = { .e = e };
    uint64_t sums[JOB_STATE_COUNT] = { 0 };
    const struct list *node;

    table_each_stripe(&e->jobs, 0, 0, check_job, &c);
    list_each (node, &e->queues)
        check_queue(container_of(node, struct queue, link), sums);
    list_each (node, &e->idle)
        check_queue(container_of(node, struct queue, link), sums);
    for (int i = 0; i < JOB_STATE_COUNT; i++) {
        CHECK(c.states[i] == e->states[i]);
        CHECK(c.states[i] == sums[i]);
    }
    CHECK(c.keys == e->keys.count);
    CHECK(c.live_bytes == e->live_bytes);
    CHECK(length(&e->leased) == e->states[JOB_LEASED]);
}
