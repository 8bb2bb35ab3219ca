/* SPDX-License-Identifier: MIT */
/*
 * Ordering keys. The jobs of a queue with one ordering key form a lane: they run one at a time, in
 * the order of (due, seq).
 *
 * A lane is made of the jobs that contend for it: those that are due and hot, the one that is
 * leased, and the one that holds the lane because it was leased and has not ended (its retry may be
 * hours away). It has no structure of its own: its first job stands in place.lanes, and the others
 * in a heap of that one. Only the first can be given out: if it is ready it stands in queue.firsts.
 *
 *     place.lanes: (queue, key) ----> first ---> heap of those behind it
 *                                       |
 *     queue.firsts, by rank <-----------+  while it is ready
 *
 * All ordered jobs of a queue are one class, whatever their priority, in the order of (due, seq):
 *
 *     hot (memory) --- backlog runs (disk) --- tail (memory)
 *
 * What is hot comes before all the rest, always; so what is first in a lane is the first there is.
 * A job that is due therefore waits in the tail until all that could be before it has come: from
 * the wheels, from the runs by due time (the frontier), from the backlog. One that has to be hot
 * though there is no room sends the last of the hot ones to the tail.
 *
 * But a lane may be stuck, and then those behind its first would fill the room of the class. When
 * memory is crowded the last of them are set aside (aside.c), and wait there, in memory and then on
 * disk, until their lane needs them. Of a lane what is hot comes before what is aside, always.
 */
#ifndef ENGINE_LANE_H
#define ENGINE_LANE_H

#include "engine/engine_data.h"

/* Jobs behind the first that are hot at most while memory is crowded; and when there are fewer,
 * more come from those aside. */
#define LANE_HOT      32
#define LANE_LOW      16
#define LANE_LOAD_MAX (256u << 10)

void lanes_init(struct engine *e);
/* The first of the lane that an ordered job belongs to, or would; NULL if nobody contends. */
struct job *lane_first(const struct engine *e, const struct job *j);
/* To be called when an ordered job has a new place and state: `in`, it contends for its lane. */
void lane_set(struct engine *e, struct job *j, bool in);
/* It is about to change, or to go: nobody is to be given it. lane_set has to follow. */
void lane_unlist(struct job *j);
/* The ready job of lowest rank among the firsts of a queue's lanes, or NULL. */
struct job *lanes_head(const struct engine *e, const struct queue *q);
/* Of a lane: whether anybody contends for it, and how many are behind the first. */
bool lane_is_taken(const struct engine *e, const struct queue *q, uint64_t lane);
unsigned lane_behind(const struct engine *e, const struct queue *q, uint64_t lane);
/* The job keeps its lane though it is not leased: it was leased at its present due time. */
bool job_owns_lane(const struct job *j);

/* order.c: the class of a queue's ordered jobs. */
void spot_init(struct job *j, struct str order);
/* Places one that is due. */
void order_place(struct engine *e, struct job *j);
void order_unplace(struct engine *e, struct job *j);
heap_before_fn order_earlier; /* by_due */
/* Whether something that comes before it may not be hot: then it must wait. */
bool order_is_early(const struct engine *e, const struct class *c, struct cold_point at);
/* Sets aside what is in the way of others. */
void order_shed(struct engine *e, struct class *c, int *budget);
struct job *order_tail(const struct class *c); /* the first of its tail, or NULL */
/* It has jobs on disk, but what comes before them is on its way. */
bool order_waits(const struct engine *e, const struct class *c);
/* Lets jobs of the tail go on. */
void order_drain(struct engine *e, struct class *c, int *budget);
/* The same for all classes that wait for nothing but their turn among what is due. */
void orders_arrive(struct engine *e, int *budget);
/* The clock was set back: what is not due any more does not wait as if it were. */
void order_rewind(struct engine *e, struct class *c);
/* All that is in the tail is to be fed; the next of it, or NULL; it is not, after all. */
void order_feed_begin(struct engine *e, struct class *c);
struct job *order_feed_next(struct engine *e);
void order_feed_abort(struct engine *e);

/* aside.c: jobs that were set aside. */
void asides_init(struct engine *e);
struct aside *aside_find(const struct engine *e, const struct queue *q,
                         uint64_t lane);                                      /* or NULL */
struct aside *aside_obtain(struct engine *e, struct queue *q, uint64_t lane); /* NULL: no memory */
/* It may have no more of them: then it is gone. */
void aside_settle(struct engine *e, struct aside *a);
/* Somebody has left a lane. */
void aside_touch(struct engine *e, const struct queue *q, uint64_t lane);
/* Where a job has to go that is due, as one of its lane that is aside comes before it; or NULL. */
struct aside *aside_before(const struct engine *e, const struct job *j);
void aside_add(struct engine *e, struct aside *a, struct job *j);
/* The same for the last of a lane, which must not be hot any more. False: there are too many. */
bool aside_take_last(struct engine *e, struct job *j);
void aside_remove(struct engine *e, struct job *j);
/* Lets some come back, from memory; or says what of them is to be loaded. */
void asides_refill(struct engine *e, int *budget);
bool asides_load(struct engine *e, struct load_want *ret);
/* Time has passed: some may be due by now. */
void asides_wake(struct engine *e);
void asides_rewind(struct engine *e);
/* Like those of order.c; the end is that of both kinds. */
void asides_feed_begin(struct engine *e);
struct job *asides_feed_next(struct engine *e);
void asides_feed_end(struct engine *e);
/* Some went to disk, this one the first of them; its aside is there. */
void aside_fed(struct engine *e, struct queue *q, uint64_t lane, struct cold_point first);
/* What the journal said so far of those of a queue on disk does not count. */
void asides_forget(struct engine *e, const struct queue *q);
/* Those on disk, of a queue or of all. */
int asides_each(const struct engine *e, const struct queue *q,
                int (*fn)(void *arg, uint64_t lane, struct cold_point from), void *arg);

#endif
