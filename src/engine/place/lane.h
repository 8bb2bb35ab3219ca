/* SPDX-License-Identifier: MIT */
/*
 * Ordering keys. The jobs of a queue with one ordering key form a lane: they run one at a time, in
 * the order of (due, seq).
 *
 * A lane is made of the jobs that contend for it: due and hot jobs, the leased job, and the job
 * that owns the lane. A job owns its lane if it was leased and has not ended; its retry may be
 * hours away. A lane has no structure of its own. Its first job is in place.lanes, and the other
 * jobs are in a heap of the first. Only the first can be given out: if it is ready, it is in
 * queue.firsts or queue.retries.
 *
 *     place.lanes: (queue, key) ----> first ---> heap of those behind it
 *                                       |
 *     queue.firsts, by rank <-----------+  while it is ready
 *
 * All ordered jobs of a queue are one class, whatever their priority, in the order of (due, seq):
 *
 *     hot (memory) --- backlog runs (disk) --- tail (memory)
 *
 * Hot jobs always come before all others, so the first job of a lane in memory is the first of the
 * lane. A due job therefore waits in the tail until all jobs that could be before it have come.
 * They may come from the wheels, from the runs by due time (the frontier), or from the backlog. A
 * job that has to be hot though there is no room sends the last of the hot jobs to the tail.
 *
 * A lane may be stuck, and the jobs behind its first would fill the room of the class. When memory
 * is crowded, the last of them are set aside (aside.c). They wait in memory and then on disk until
 * their lane needs them. The hot jobs of a lane always come before those that are aside.
 */
#ifndef ENGINE_LANE_H
#define ENGINE_LANE_H

#include "engine/engine_data.h"

/* While memory is crowded, LANE_HOT jobs behind the first may be hot. Below LANE_LOW, jobs that are
 * aside come back. */
#define LANE_HOT      32
#define LANE_LOW      16
#define LANE_LOAD_MAX (256u << 10)

void lanes_init(struct engine *e);
/* The first of the lane that an ordered job belongs to, or would; NULL: no job contends for it. */
struct job *lane_first(const struct engine *e, const struct job *j);
/* An ordered job has a new place and state. `in`: the job contends for its lane. */
void lane_set(struct engine *e, struct job *j, bool in);
/* The job is about to change or to leave, and must not be given out. A call of lane_set has to
 * follow. */
void lane_unlist(struct job *j);
/* The ready job of lowest rank among the firsts of a queue's lanes, or NULL. */
struct job *lanes_head(const struct engine *e, const struct queue *q);
/* Whether any job contends for a lane, and how many are behind its first. */
bool lane_is_taken(const struct engine *e, const struct queue *q, uint64_t lane);
unsigned lane_behind(const struct engine *e, const struct queue *q, uint64_t lane);
/* Whether one job goes before another of its lane. */
bool lane_goes_before(const struct job *a, const struct job *b);
/* The job keeps its lane though it is not leased: it was leased at its present due time. */
bool job_owns_lane(const struct job *j);

/* ---- order.c: the class of a queue's ordered jobs ---- */
void spot_init(const struct engine *e, struct job *j, struct str order);
/* Places a due job. */
void order_place(struct engine *e, struct job *j);
void order_unplace(struct engine *e, struct job *j);
heap_before_fn order_earlier; /* for spot.by_due */
/* A job that comes before this point may not be hot yet: the job of the point must wait. */
bool order_is_early(const struct engine *e, const struct class *c, struct cold_point at);
/* Sets aside jobs that are in the way of others. */
void order_shed(struct engine *e, struct class *c, int *budget);
struct job *order_tail(const struct class *c); /* the first of its tail, or NULL */
/* Whether jobs that come before those on disk are on their way to memory or to disk. */
bool order_waits(const struct engine *e, const struct class *c);
/* No job in a wheel has a moment before this one. If it is not after now, some jobs are due and not
 * ready yet. Then no other job of their classes may become ready before them. */
int64_t unfired_ms(const struct engine *e);
/* Lets jobs of the tail go on. */
void order_drain(struct engine *e, struct class *c, int *budget);
/* Does so for all classes that wait for other jobs to become ready. */
void orders_arrive(struct engine *e, int *budget);
/* The clock was set back: jobs that are not due any more get other places. */
void order_rewind(struct engine *e, struct class *c);
/* Feeding: the whole tail is to be fed; the next job of it, or NULL; the rest stays after all. */
void order_feed_begin(struct class *c);
struct job *order_feed_next(struct class *c);
void order_feed_end(struct class *c);

/* ---- aside.c: jobs that were set aside ---- */
void asides_init(struct engine *e);
struct aside *aside_find(const struct engine *e, const struct queue *q,
                         uint64_t lane); /* or NULL */
struct aside *aside_obtain(struct engine *e, struct queue *q,
                           uint64_t lane); /* NULL: there is no memory */
/* Forgets an aside that has no more jobs. */
void aside_settle(struct engine *e, struct aside *a);
/* A job has left a lane. */
void aside_touch(struct engine *e, const struct queue *q, uint64_t lane);
/* The aside that a due job has to join, as a job of its lane that is aside comes before it; or
 * NULL. */
struct aside *aside_before(const struct engine *e, const struct job *j);
void aside_add(struct engine *e, struct aside *a, struct job *j);
/* Sets the last job of a lane aside, which must not be hot any more. False: too many lanes have an
 * aside. */
bool aside_take_last(struct engine *e, struct job *j);
void aside_remove(struct engine *e, struct job *j);
/* Lets jobs come back from memory; or says which jobs are to be loaded. */
void asides_refill(struct engine *e, int *budget);
bool asides_load(struct engine *e, struct load_want *ret);
/* Whether jobs of the queue that are aside may soon be given out. The answer is also true if
 * finding out would take long. */
bool asides_owe(const struct engine *e, const struct queue *q);
/* Looks at lanes again whose next job is due by now. */
void asides_wake(struct engine *e, int *budget);
void asides_rewind(struct engine *e);
/* Feeding, as in order.c, of so many lanes. The end is that of a batch that was fed, or aborted. */
void asides_feed_begin(struct engine *e, int lanes);
struct job *asides_feed_next(struct engine *e);
void asides_feed_end(struct engine *e);
/* Jobs of a lane went to disk, this point the first of them. The lane has an aside. */
void aside_fed(struct engine *e, struct queue *q, uint64_t lane, struct cold_point first);
/* The journal's earlier words about the asides of a queue on disk do not count. */
void asides_forget(struct engine *e, const struct queue *q);
/* Visits the asides that have jobs on disk, of a queue or of all. */
int asides_each(const struct engine *e, const struct queue *q,
                int (*fn)(void *arg, uint64_t lane, struct cold_point from), void *arg);

#endif
