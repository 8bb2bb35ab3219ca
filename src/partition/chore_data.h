/* SPDX-License-Identifier: MIT */
/* The data of chores and fetches, which run beside the engine's thread. */
#ifndef PARTITION_CHORE_DATA_H
#define PARTITION_CHORE_DATA_H

#include "base/list.h"
#include "engine/cold.h"
#include "partition/owner.h"
#include "partition/partition.h"

#define NAME_BYTES OWNER_NAME

struct segment {
    uint32_t number;
    uint64_t elements;
    uint64_t bytes;
};

/* What a chore of CHORE_RECLAIM does next. */
enum reclaim_step {
    RECLAIM_READ,   /* reads a slice of the oldest segment */
    RECLAIM_REMOVE, /* removes the oldest segment */
    RECLAIM_UNLINK, /* removes a run that no longer counts */
};

/* Runs that another thread reads: pinned, so that they are not removed. */
struct pinned {
    struct cold_run **runs;
    size_t n;
};

/* Entries of runs, copied for the engine. */
struct items {
    struct cold_item *at; /* their bodies are offsets into `bodies` until items_settle */
    size_t n;
    size_t cap;
    struct buf bodies;
};

/* A slice of a segment, which is copied forward. */
struct slice {
    struct segment segment;
    uint64_t from;       /* the first element */
    uint64_t next;       /* the first element of the next slice */
    struct buf elements; /* each as u32 length and bytes */
};

/* A batch on its way from memory to runs. */
struct feed {
    enum { FEED_IDLE, FEED_GATHER, FEED_WRITE, FEED_RECORD } state;
    struct buf batch; /* as the engine wrote it */
    uint32_t file;    /* of the first run, and the version of all entries */
    struct buf runs;  /* its result, as seqs and tallies are: see struct feed_result */
    struct buf seqs;
    struct buf tallies;
    uint32_t written; /* logs that were begun */
};

struct load {
    struct load_want want;
    char queue[QUEUE_MAX_BYTES];
    struct pinned pinned;
    struct cold_point *floors; /* the point in each run behind which its jobs count */
    struct items items;
    struct cold_point upto;
    bool end;
    uint32_t number;
    uint64_t moves;
    struct cold_run *broken; /* a run of which a part could not be read */
};

/* The floors of the classes on disk, as they were when the merge began. The engine's thread takes
 * the notes slice by slice. The merging thread reads them from the first to the last, because it
 * asks in the order of keys, too. */
struct floor_notes {
    struct buf bytes;           /* for each class: the prefix of its keys, and its floors */
    char last[QUEUE_MAX_BYTES]; /* taking: the last queue of which there are notes */
    size_t last_len;
    size_t at;             /* reading: behind the note that was read last */
    struct str prefix;     /* of that note */
    struct str floors;     /* of that note */
    struct cold_key asked; /* the class that the merge asked for last */
    bool found;            /* the note that was read last is of that class */
};

struct merge {
    struct pinned inputs; /* the runs that are replaced */
    struct pinned others; /* all other runs of the family: they may have newer entries */
    char family;
    bool cut_all;  /* after the cut, the run has no history of the tenant */
    bool cut_none; /* the run has no history of the tenant, and stays as it is */
    bool drops_graves;
    uint64_t audits;    /* the number of oldest entries of the audit log that go, and are tallied */
    bool expires;       /* all jobs of the inputs go, and are tallied; at most graves are written */
    struct buf dropped; /* tallies of jobs that went before their time was over */
    struct cut cut;     /* its run is the only input, or NULL: nothing is cut */
    int64_t graves_gone_ms; /* when the remaining graves no longer matter */
    uint32_t file;
    uint32_t number;
    uint32_t oldest;
    unsigned mutant;
    int64_t now_ms;
    struct cold_point frontier;
    uint32_t oldest_backlog;
    bool noting; /* the engine's thread takes notes of floors */
    bool noted;  /* it has all of them */
    struct floor_notes floors;
    struct str *graves; /* of the family, sorted */
    size_t grave_count;
    struct buf grave_bytes;
    struct buf runs;
    struct buf drops;
    struct buf tallies;
    uint32_t written;
    struct cold_run *broken;
};

struct chore {
    struct partition *p;
    enum chore_kind kind;
    enum reclaim_step step; /* of CHORE_RECLAIM; else 0 */
    bool running;
    char detail[256]; /* the error in a run, if the chore went on in spite of it */
    union {
        struct {
            struct slice slice;
            struct cold_run *unlink; /* the run that RECLAIM_UNLINK removes */
        };
        struct feed feed;
        struct load load;
        struct merge merge;
    };
};

/* A kind of chore: its parts of partition_chore, chore_run and partition_chore_done. */
struct chore_ops {
    const char *names[3]; /* by step, see chore_name */
    bool (*begin)(struct partition *p, struct chore *c);
    int (*run)(struct chore *c);
    int (*end)(struct partition *p, struct chore *c, int result);
};

extern const struct chore_ops reclaim_chore, feed_chore, load_chore, merge_chore, task_chore;

struct fetch {
    struct list link; /* in partition.fetches */
    struct partition *p;
    struct cold_want want;
    struct cold_answer answer;
    struct pinned pinned;
    struct items items;
    unsigned tries;     /* how many times jobs had moved when the answer came */
    size_t whole_bytes; /* of jobs that were asked for as a whole */
    size_t bytes;       /* in partition.bytes.fetches, */
    size_t copy_bytes;  /* and in partition.bytes.copies */
};

/* The oldest segment, whose live records are being copied forward. */
struct reclaim {
    bool on;
    bool broken;
    uint64_t next; /* the first element of the next slice */
    bool rest;     /* facts other than jobs were copied, too */
    uint64_t lsn;  /* the last of the copies */
};

#endif
