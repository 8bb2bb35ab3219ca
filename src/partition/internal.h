/* SPDX-License-Identifier: MIT */
/* What a partition is made of. For files of src/partition only. */
#ifndef PARTITION_INTERNAL_H
#define PARTITION_INTERNAL_H

#include <assert.h>

#include "base/list.h"
#include "engine/mutant.h"
#include "partition/partition.h"

#define NAME_BYTES     48
#define COMMIT_KEEP    (4u << 20) /* a commit's buffer that grew beyond this is given back */
#define ELEMENT_FRAME  24         /* what a store adds to an element, about */
#define RECLAIM_PAUSE  4          /* commits that wait before reclaiming adds to them */
#define SPARE_SEGMENTS 4          /* segments beyond twice the live state before reclaiming */

struct commit {
    struct list link; /* in partition.closed or .unused */
    struct partition *p;
    struct buf buf;
    uint32_t segment;
    uint64_t seq;
    uint64_t last_lsn;
};

struct segment {
    uint32_t number;
    uint64_t elements;
    uint64_t bytes;
};

enum chore_kind { CHORE_READ, CHORE_REMOVE };

struct chore {
    struct partition *p;
    enum chore_kind kind;
    struct segment segment;
    uint64_t from;       /* element to read from, and */
    uint64_t next;       /* where the next slice begins */
    struct buf elements; /* each as u32 length and bytes */
};

struct partition {
    struct store *store;
    struct partition_options o;
    struct engine *engine;
    uint64_t epoch;
    char fence[NAME_BYTES];

    struct commit *gathering;
    struct commit *writing;
    struct list closed; /* commits that wait to be written: more than one after a burst */
    struct list unused;
    uint64_t closed_bytes;
    uint64_t commit_bytes; /* a commit that has reached this is closed */
    uint64_t gather_lsn;   /* of the last record before the gathering commit */
    bool owed;             /* the gathering commit is to be written though it may be empty */
    uint64_t durable_lsn;
    uint64_t safe_lsn;             /* survives power loss for certain */
    _Atomic uint32_t sync_segment; /* where the last written commit stands */

    struct segment *segments; /* oldest first; the last is gathered for */
    size_t segment_count;
    size_t segment_cap;

    struct chore chore;
    bool chore_running;
    bool reclaiming; /* the oldest segment */
    bool reclaim_broken;
    uint64_t reclaim_next; /* element to look at next */
    uint64_t reclaim_lsn;  /* its copies are durable when this is */

    struct partition_stats stats;
};

void partition_log_name(const struct partition *p, uint32_t segment, char ret[NAME_BYTES]);
/* NOMEM. */
int partition_add_segment(struct partition *p, struct segment s);

/* replay.c: reads all segments into the engine. */
int partition_replay(struct partition *p, struct partition_report *ret);

#endif
