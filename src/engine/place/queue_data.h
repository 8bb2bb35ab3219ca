/* SPDX-License-Identifier: MIT */
/* Queues, their classes, and the tenants and kinds that they are of. */
#ifndef ENGINE_QUEUE_DATA_H
#define ENGINE_QUEUE_DATA_H

#include "base/heap.h"
#include "base/hist.h"
#include "base/list.h"
#include "base/table.h"
#include "base/wheel.h"
#include "engine/view.h"
#include "record/coldkey.h"

struct blob;

#define PRIORITIES    5
#define ORDERED       5 /* in queue.classes: jobs with an ordering key; */
#define INDEX_PASSING 6 /* those that pass all gates */
#define CLASSES       7

/* Jobs of this class in backlog runs up to `number` have been loaded up to here. */
struct floor {
    uint32_t number;
    struct cold_point upto;
};

/* The jobs of one priority of a queue, its ordered ones, or those that pass all gates. Those that
 * are due are in three parts, in this order:
 *
 *     ready list (memory) --- backlog runs (disk) --- tail (memory)
 *
 * A class is closed while it has a second or third part: then what becomes due joins the tail, so
 * that nothing overtakes. Those that are not due are in `moments`, or in `spare` if the class has
 * its share of memory there. What waits in a tail or in `spare` goes to disk when that is much. */
struct class
{
    struct queue *queue;
    struct list ready;
    struct list tail;
    struct list link;  /* in place.closed */
    struct timer near; /* in `nears`, when what is on disk should be loaded */
    bool closed;
    uint64_t hot_bytes;     /* due and not due; */
    uint64_t ready_bytes;   /* due only; */
    uint64_t near_bytes;    /* loaded from the backlog */
    struct cold_point from; /* what is on disk is not before this */
    struct floor *floors;   /* numbers rise, points fall */
    size_t floor_count;
    /* Of ordered jobs, in place of ready and tail: */
    struct heap hot;     /* the last one first */
    struct heap waiting; /* the first one first */
    struct heap feeding; /* of the tail what is to be fed */
    uint64_t tailed;     /* jobs there, in `spare`, and on their way to disk */
    struct list arrived; /* in place.arrived: some of its tail waits for others to become ready */
    struct list fed;     /* in batch.orders */
};

/* Where workers wait: at a queue, or at a kind. */
struct post {
    struct list waits;    /* struct wait_link */
    struct list dispatch; /* in place.turns.dispatch, serving or later: may have work for them */
    size_t waiters;
    int64_t asked_ms;    /* when a worker last asked here; 0: never */
    struct queue *queue; /* one of the two */
    struct kind *kind;
};

/* What a rate has left, of a queue or of a tenant. */
struct bucket {
    struct timer timer; /* in `buckets`, while somebody waits for it */
    int64_t full;       /* when it is full again: see turn.c */
    struct queue *queue;
    struct tenant *tenant;
};

/* See turn.c. */
struct tenant {
    struct table_node by_name;
    struct list link;   /* in place.tenant_list */
    struct list queues; /* by queue.of_tenant */
    struct list parked; /* by queue.turn */
    struct bucket bucket;
    int64_t pending;
    int64_t promised; /* jobs that are about to be scheduled together */
    uint64_t running;
    uint64_t holding; /* bytes of jobs that hold their lanes */
    uint64_t queue_total;
    bool pushes_full; /* The host has as many pushes of it under way as it may have. */
    uint32_t segment; /* where its settings stand; 0: they are the defaults */
    int64_t
        quiet_asked_ms; /* The engine looked at its quiet hours at this moment; -1: it did not. */
    int64_t quiet_until_ms; /* They were to end then; -1: it was not quiet. */
    struct tenant_settings settings;
    uint16_t name_len;
    char name[];
};

struct kind {
    struct table_node by_name;
    struct list link; /* in place.kind_list */
    struct list ring; /* by queue.turn */
    struct post post;
    size_t queues;
    uint16_t name_len;
    char name[];
};

/* How fast the jobs of a queue go. The histograms are made with its first lease. */
struct gauges {
    struct hist *lateness;
    struct hist *runtime;
    struct hist *wait;
    uint64_t served; /* work.served when `wait` was last counted */
};

struct queue {
    struct table_node by_name;
    struct list link; /* in place.queues, or place.idle when it could be forgotten */
    struct list of_tenant;
    struct list
        turn;    /* in the ring of `serves`, or parked at its tenant, or in place.turns.unwell: */
    bool parked; /* it was one of the latter, if it is in one of them */
    struct list lull; /* in place.turns.lulls */
    struct tenant *tenant;
    struct kind *kind;
    struct kind *serves; /* whose ring it gives in: its kind's, or that of all that push */
    char *push_text;     /* of its settings */
    struct post post;
    struct bucket bucket;
    int64_t credit; /* jobs that it may still give before it is the next one's turn */
    struct class classes[CLASSES];
    /* The first of its lanes, by rank: those that gates hold, and those that pass them; and those
     * of them that are tried again. */
    struct heap firsts[2];
    struct heap retries[2];
    uint64_t first_count;
    uint64_t asides;  /* lanes that have jobs aside */
    struct list past; /* done and cancelled, by end */
    struct list rich; /* in place.rich, if past has more than engine_options.history_bytes */
    struct list held; /* done, and their key is held: kept whatever their number */
    struct list dead;
    uint64_t jobs[JOB_STATE_COUNT]; /* in memory */
    int64_t cold[COLD_SLOTS];       /* on disk */
    uint64_t offered;               /* in the ready lists and firsts */
    uint64_t past_bytes;
    uint32_t segment;       /* where its settings stand; 0: they are the defaults */
    uint32_t tally_segment; /* where cold[] and the floors stand; 0: there is nothing to say */
    bool tally_changed;     /* since then */
    bool hidden;            /* the engine's own: its jobs are not users', see task.c */
    bool bulk;              /* its jobs are bulks, */
    bool audit;             /* or entries of the audit log: */
    struct list logged;     /* then those of them that have ended, by their trails' timers */
    bool idle;
    struct queue_settings settings;
    struct counters counters;
    struct gauges gauges;
    uint16_t name_len;
    char name[];
};

struct wait_link {
    struct list link;
    struct post *post;
    struct waiter *waiter;
};

struct waiter {
    struct timer timer; /* in `waits`, on the monotonic clock */
    int64_t since_ms;   /* likewise */
    void *owner;
    size_t count;
    int64_t for_ms;
    struct blob *worker;
    size_t link_count;
    struct wait_link links[];
};

#endif
