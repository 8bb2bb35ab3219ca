/* SPDX-License-Identifier: MIT */
/*
 * Ordering keys. The jobs of a queue with one ordering key form a lane: they run one at a time, in
 * the order of (due, seq). For files of src/engine only.
 *
 * A lane is made of the jobs that contend for it: those that are due and hot, the one that is
 * leased, and the one that holds the lane because it was leased and has not ended (its retry may be
 * hours away). It has no structure of its own: its first job stands in engine.lanes, and the others
 * in a heap of that one. Only the first can be given out: if it is ready it stands in queue.firsts.
 *
 *     engine.lanes: (queue, key) ---> first ---> heap of those behind it
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
 */
#ifndef ENGINE_LANE_H
#define ENGINE_LANE_H

#include "base/heap.h"
#include "base/table.h"
#include "engine/cold.h"

struct class;
struct engine;
struct job;
struct queue;

/* In front of an ordered job's own memory, so that it cannot be missing when it is needed. */
struct spot {
    struct table_node by_lane; /* first: in engine.lanes */
    uint64_t hash;             /* of queue and ordering key */
    struct heap_node line;     /* behind the first: in its heap; first, ready: in queue.firsts */
    struct heap followers;     /* first: who is behind it */
    struct heap_node by_due;   /* in its class: see enum spot_in */
    unsigned char in;          /* enum spot_in */
    unsigned char member;      /* enum spot_member */
    unsigned char listed;      /* enum spot_listed: can be given out */
};

enum spot_in { SPOT_NOWHERE, SPOT_HOT, SPOT_TAIL };
enum spot_member { SPOT_NONE, SPOT_FIRST, SPOT_BEHIND };
enum spot_listed { SPOT_UNLISTED, SPOT_RETRY, SPOT_FRESH };

static inline struct spot *spot_of(const struct job *j)
{
    return (struct spot *)(uintptr_t)j - 1;
}

void lanes_init(struct engine *e);
/* The first of the lane that an ordered job belongs to, or would; NULL if nobody contends. */
struct job *lane_first(const struct engine *e, const struct job *j);
/* To be called when an ordered job has a new place and state: `in`, it contends for its lane. */
void lane_set(struct engine *e, struct job *j, bool in);
/* It is about to change, or to go: nobody is to be given it. */
void lane_unlist(struct job *j);
/* The ready job of lowest rank among the firsts of a queue's lanes, or NULL. */
struct job *lanes_head(const struct engine *e, const struct queue *q);
/* Jobs that hold their lanes have to stay in memory: while they are many, no lane is begun. */
bool lanes_are_full(const struct engine *e);
/* Whether it keeps its lane though it is not leased: it was, for its present due time. */
bool job_holds(const struct job *j);

/* order.c: the class of a queue's ordered jobs. */
void spot_init(struct job *j, struct str order);
/* Places one that is due. */
void order_place(struct engine *e, struct job *j);
void order_unplace(struct job *j);
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
/* For tests: aborts if a lane or class is not as it should be. */
void order_verify(const struct engine *e, const struct queue *q);
void lanes_verify(const struct engine *e);

#endif
