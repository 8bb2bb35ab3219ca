/* SPDX-License-Identifier: MIT */
/* Whose turn it is; see turn.c. */
#ifndef ENGINE_TURN_H
#define ENGINE_TURN_H

#include "engine/engine_data.h"

/* Its parked queues are looked at again. */
void tenant_unpark(struct engine *e, struct tenant *t);
/* The queue of a kind whose turn it is, or NULL. */
struct queue *kind_next(struct engine *e, struct kind *k);
/* It may have jobs to give. */
void queue_offer(struct engine *e, struct queue *q);
/* Fewer jobs of a tenant hold their lanes: queues that waited for that may go on. */
void lulls_end(struct engine *e, const struct tenant *t);
/* The same, though what its tenant's other jobs wait for may last. */
void queue_unpark(struct engine *e, struct queue *q);
bool server_is_full(const struct engine *e);
/* When it may run more because slow start goes on, on the monotonic clock; INT64_MAX: never. */
int64_t slow_start_wake(const struct engine *e);
bool tenant_is_shut(const struct engine *e, const struct tenant *t); /* by maintenance */
/* For jobs that pass all gates, or others. */
enum hold queue_hold(const struct engine *e, const struct queue *q, bool passing);
/* Whether it has a ready job and may give it; if not, it waits for the event that changes that. */
bool queue_gives(struct engine *e, struct queue *q);
/* One was given; `in_turn`: because it was its turn among its kind. */
void queue_took(struct engine *e, struct queue *q, bool in_turn);
void queue_freed(struct engine *e, struct queue *q); /* a lease ended */
void buckets_fire(struct engine *e);
void bucket_change(const struct engine *e, struct bucket *b, const struct rate *old,
                   const struct rate *r);
/* How long a rate holds it back, if one does. */
int64_t queue_rate_pause_ms(const struct engine *e, const struct queue *q);

#endif
