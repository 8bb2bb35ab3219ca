/* SPDX-License-Identifier: MIT */
/* The parts of a job that has an ordering key; see lane.h. */
#ifndef ENGINE_LANE_DATA_H
#define ENGINE_LANE_DATA_H

#include "base/heap.h"
#include "base/table.h"
#include "base/wheel.h"
#include "record/coldkey.h"

struct job;
struct queue;

/* A spot stands in front of an ordered job's own memory, so it is there whenever it is needed. */
struct spot {
    struct table_node by_lane; /* of the first of a lane: in place.lanes */
    uint64_t hash;             /* of queue and ordering key; see table_entry_hash */
    struct heap_node line;   /* in the heap of the first; a ready first: queue.firsts or .retries */
    struct heap followers;   /* of the first: the jobs behind it */
    struct heap_node by_due; /* in the heap that `in` names */
    unsigned char in;        /* enum spot_in */
    unsigned char member;    /* enum spot_member */
    unsigned char listed;    /* enum spot_listed: whether the job can be given out */
    unsigned char back;      /* the job was aside on disk: it stays in memory, if there is room */
    uint32_t behind;         /* of the first: how many jobs are behind it */
};

/* SPOT_FED: the job was aside, and is in a batch. */
enum spot_in { SPOT_NOWHERE, SPOT_HOT, SPOT_TAIL, SPOT_ASIDE, SPOT_FED };
enum spot_member { SPOT_NONE, SPOT_FIRST, SPOT_BEHIND };
enum spot_listed { SPOT_UNLISTED, SPOT_RETRY, SPOT_FRESH };

static inline struct spot *spot_of(const struct job *j)
{
    return (struct spot *)(uintptr_t)j - 1;
}

static inline struct job *spot_job(const struct spot *s)
{
    return (struct job *)(uintptr_t)(s + 1);
}

/* A lane that has jobs aside. */
struct aside {
    struct table_node node; /* in place.asides.by_lane */
    uint64_t lane;          /* a hash: see struct spot, and table_entry_hash */
    struct list link;       /* in place.asides.all */
    struct list fed;        /* in batch.asides, or .asides_fed */
    struct timer low; /* in place.asides.lows while the lane may need jobs, or in WHEEL_SLEEPERS */
    struct queue *queue;
    struct heap waiting;
    struct heap feeding;
    struct cold_point feeds; /* the first job that is on its way to disk */
    struct cold_point from; /* jobs on disk are after this point; at_ms INT64_MAX: there are none */
    bool pinned;
};

#endif
