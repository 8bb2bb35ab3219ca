/* SPDX-License-Identifier: MIT */
/* What is ready in a queue. */
#include "engine/place/lane.h"
#include "engine/place/queue.h"

/* The job of a lane in a heap of firsts. */
static const struct job *first_of(const struct heap_node *node)
{
    return spot_job(container_of(node, const struct spot, line));
}

/* The moment since which the next of the ready firsts waits; INT64_MAX: no first is ready. */
static int64_t lanes_oldest_ms(const struct queue *q)
{
    int64_t oldest = INT64_MAX;

    for (int passing = 0; passing < 2; passing++) {
        const struct heap_node *heads[] = { q->retries[passing].root, q->firsts[passing].root };

        for (int i = 0; i < 2; i++)
            if (heads[i] && first_of(heads[i])->timer.at_ms < oldest)
                oldest = first_of(heads[i])->timer.at_ms;
    }
    return oldest;
}

uint64_t queue_ready(const struct queue *q)
{
    uint64_t n = q->jobs[JOB_READY];

    for (int i = 0; i < COLD_SLOTS; i++)
        if (cold_state((enum cold_slot)i) == JOB_READY)
            n += (uint64_t)q->cold[i];
    return n;
}

int64_t queue_oldest_ms(const struct queue *q)
{
    int64_t oldest = lanes_oldest_ms(q);

    for (int i = 0; i < CLASSES; i++) {
        const struct class *c = q->classes[i];

        if (c && !list_empty(&c->ready)) {
            const struct job *j = container_of(c->ready.next, const struct job, timer.link);

            oldest = j->timer.at_ms < oldest ? j->timer.at_ms : oldest;
        } else if (c && class_is_on_disk(c) && c->from.at_ms < oldest) {
            oldest = c->from.at_ms;
        }
    }
    return oldest == INT64_MAX ? -1 : oldest;
}
