/* SPDX-License-Identifier: MIT */
/* Queues that push. */
#ifndef ENGINE_PUSHING_H
#define ENGINE_PUSHING_H

#include "engine/engine_data.h"
#include "engine/push.h"

/* The queue gets these settings, in memory of its own unless they are the defaults. NOMEM. */
int queue_settings_set(struct engine *e, struct queue *q, const struct queue_settings *s);
/* The memory of settings that are not the defaults. */
size_t queue_settings_bytes(const struct queue_settings *s);
void queue_settings_fini(struct engine *e, struct queue *q);
static inline bool queue_pushes(const struct queue *q)
{
    return q->settings->push.url.len > 0;
}

void unwell_init(struct engine *e);
void unwell_free(struct engine *e);
/* The moment until which the host leaves the queue's endpoint alone, as engine_endpoint_set was
 * told; -1: the host does not. */
int64_t queue_endpoint_until(const struct engine *e, const struct queue *q);
/* Parks a queue whose endpoint is left alone, until engine_endpoint_set ends that. */
void queue_wait_for_endpoint(struct engine *e, struct queue *q);

#endif
