/* SPDX-License-Identifier: MIT */
/* The classes of a queue. */
#ifndef ENGINE_CLASS_DATA_H
#define ENGINE_CLASS_DATA_H

#include "base/heap.h"
#include "base/list.h"
#include "base/wheel.h"
#include "record/coldkey.h"

struct queue;

#define PRIORITIES 5

/* The classes of a queue, in the order of queue.classes: name, number in keys and records, slot in
 * which its jobs on disk are counted. */
#define QUEUE_CLASSES(X)                      \
    X(PRIORITY_1, 1, COLD_BACKLOG)            \
    X(PRIORITY_2, 2, COLD_BACKLOG + 1)        \
    X(PRIORITY_3, 3, COLD_BACKLOG + 2)        \
    X(PRIORITY_4, 4, COLD_BACKLOG + 3)        \
    X(PRIORITY_5, 5, COLD_BACKLOG + 4)        \
    X(ORDERED, CLASS_ORDERED, COLD_BACKLOG_7) \
    X(PASSING, CLASS_PASSING, COLD_BACKLOG_8)

enum {
#define CLASS_INDEX(name, number, slot) INDEX_##name,
    QUEUE_CLASSES(CLASS_INDEX)
#undef CLASS_INDEX
        CLASSES
};

/* The jobs of one priority of a queue, its ordered jobs, or those that pass all gates. The due jobs
 * are in three parts, in this order:
 *
 *     ready list (memory) --- backlog runs (disk) --- tail (memory)
 *
 * A class is closed while it has a second or third part. Then a job that becomes due joins the
 * tail, so that it overtakes none. Other jobs are in WHEEL_MOMENTS, or in WHEEL_SPARE if the class
 * has its share of memory. The tail and WHEEL_SPARE go to disk when they are large. */
struct class
{
    struct queue *queue;
    struct list ready;
    struct list tail;
    struct list link;   /* in place.closed */
    struct list waits;  /* in batch.waits, if its tail has jobs, or had */
    struct list fed;    /* in batch.classes */
    struct list source; /* jobs of the tail that join the batch */
    struct timer near;  /* in WHEEL_NEARS: when jobs on disk should be loaded */
    bool closed;
    uint8_t number;                /* of its row in QUEUE_CLASSES */
    uint8_t slot;                  /* of its row: an enum cold_slot */
    uint32_t tail_first;           /* the last batch that took jobs from before all those on disk */
    uint64_t ready_count;          /* jobs of the ready list */
    uint64_t hot_bytes;            /* of hot jobs */
    uint64_t ready_bytes;          /* of hot jobs that are due */
    uint64_t near_bytes;           /* of hot jobs that came from disk */
    struct cold_point from;        /* jobs on disk are not before this point */
    struct cold_point from_before; /* `from` without the jobs of the FED record being applied */
    int64_t fed_count;             /* jobs of the FED record being applied that are not stale */
    struct floor *floors;          /* numbers rise, points fall */
    size_t floor_count;
    /* Ordered jobs have these three in place of ready and tail. */
    struct heap hot;     /* due jobs, the last one first */
    struct heap waiting; /* the tail, the first job first */
    struct heap feeding; /* the part of the tail that is to be fed */
    uint64_t tailed;     /* jobs of the tail, in WHEEL_SPARE, and on their way to disk */
    struct list arrived; /* in place.arrived: some of the tail waits for jobs to become ready */
};

#endif
