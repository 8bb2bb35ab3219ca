/* SPDX-License-Identifier: MIT */
/* Queues by name, and their counts. */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include "engine/engine_data.h"

#define AGE_STEP_MS INT64_C(30000)

/* Both the engine's and the queue's counter. */
#define COUNT(e, q, name) ((e)->counters.name++, (q)->counters.name++)

void queues_init(struct engine *e);
struct queue *queue_find(const struct engine *e, struct str name);
struct queue *queue_obtain(struct engine *e, struct str name); /* NULL if out of memory */
/* To be called when a queue may have become, or is no longer, without use. */
void queue_settle(struct engine *e, struct queue *q);
static inline int64_t job_rank(const struct job *j)
{
    return j->timer.at_ms + (int64_t)(j->priority - 1) * AGE_STEP_MS;
}
/* So many jobs more in this state, in memory. */
void queue_count(struct engine *e, struct queue *q, unsigned state, int64_t n);
void queues_free(struct engine *e);
bool queue_is_of(const struct queue *q, struct str tenant); /* empty or `*`: anybody's */

#endif
