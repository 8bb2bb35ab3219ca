/* SPDX-License-Identifier: MIT */
/* The whole of a job, as a PUT record and an entry of a run hold it. */
#ifndef RECORD_IMAGE_H
#define RECORD_IMAGE_H

#include "record/jobstate.h"

/* Set in trail_image.flags. */
#define TRAIL_CANCELLING 1u
#define TRAIL_REPLACING  2u
#define TRAIL_TELLING    4u  /* ended, and those who listen are to be told */
#define TRAIL_HOLDING    8u  /* leased or deferred at its present due time: it keeps its lane */
#define TRAIL_GRACED     16u /* leased, and a start has given it its grace */

/* What happened to a job since it was first leased. */
struct trail_image {
    uint64_t token;
    int64_t start_ms;
    int64_t until_ms;
    int64_t lease_ms;
    int64_t late_ms;
    int64_t ended_ms;
    int64_t keep_ms;
    int64_t hold_ms; /* the key stays taken until then; 0: not held */
    unsigned flags;
    int64_t progress;
    struct str worker;
    struct str note;
    struct str result;
    struct str error;
    struct str history; /* encoded attempts, oldest first */
    int64_t pending_due_ms;
    struct str pending; /* payload of a replacement */
    int64_t deferred_ms;
    uint32_t deferrals;
};

struct job_image {
    uint64_t seq;
    int64_t born_ms; /* due at creation: part of the id */
    unsigned state;  /* never JOB_READY: that follows from time */
    unsigned priority;
    int64_t due_ms;
    int64_t at_ms;
    uint32_t attempt;
    uint32_t stalls;
    struct str tenant; /* empty: default */
    struct str queue;
    struct str opts; /* see opts.h */
    struct str payload;
    bool has_trail;
    struct trail_image trail;
};

#endif
