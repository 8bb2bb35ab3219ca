/* SPDX-License-Identifier: MIT */
/* What a partition is made of, besides its chores. For files of src/partition only. */
#ifndef PARTITION_INTERNAL_H
#define PARTITION_INTERNAL_H

#include <assert.h>
#include <pthread.h>

#include "engine/mutant.h"
#include "partition/chore_data.h"
#include "recur/zonecache.h"
#include "run/run.h"

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
    bool durable; /* it survives power loss when it is written, and all before it */
};

/* A run's root and, of a locator, its filter: kept in cold_run.opened once read. */
struct opened {
    struct run *run;
    struct buf filter;
    bool has_filter;
};

struct partition {
    struct store *store;
    struct partition_options o;
    struct engine *engine;
    struct zonecache zones;
    uint64_t epoch;
    char fence[NAME_BYTES];
    struct owner_note note; /* what the owner record says; see tenure.c */
    uint64_t end_hash;      /* of the commit that a clean stop noted as the last one */

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
    uint64_t sync_lsn;             /* so will this, when the commits that are closed are written */
    bool sync_owed;                /* the gathering commit is to be durable */
    _Atomic uint32_t sync_segment; /* where the last written commit stands */

    struct segment *segments; /* oldest first; the last is gathered for */
    size_t segment_count;
    size_t segment_cap;

    struct chore chores[LANES];
    struct list fetches;
    struct fetch *task;        /* that the engine's own work waits for */
    pthread_mutex_t open_lock; /* guards cold_run.opened */
    _Atomic size_t filter_bytes;
    bool feed_paused;       /* after an error */
    int64_t last_fed_ms;    /* when a batch was last written */
    int64_t merge_look_ms;  /* when what could be merged was last looked at, */
    uint64_t merge_changes; /* and engine_run_changes then */
    bool reclaiming;        /* the oldest segment */
    bool reclaim_broken;
    uint64_t reclaim_next; /* element to look at next */
    bool reclaim_rest;     /* what is not jobs was copied too */
    uint64_t reclaim_lsn;  /* its copies are durable when this is */

    struct partition_stats stats;
};

/* As engine_slice. */
static inline size_t partition_slice(const struct partition *p, size_t usual)
{
    size_t n = p->o.slice_jobs > 0 ? (size_t)p->o.slice_jobs : usual;

    return n < usual ? n : usual;
}

void partition_log_name(const struct partition *p, uint32_t segment, char ret[NAME_BYTES]);
/* NOMEM. */
int partition_add_segment(struct partition *p, struct segment s);
/* Answers whether this record survives power loss. If it does not, the next commit is synced, and a
 * later call answers true. */
bool partition_make_safe(struct partition *p, uint64_t lsn);

/* replay.c: reads all segments into the engine. */
int partition_replay(struct partition *p, struct partition_report *ret);

/* tenure.c: the time of one owner, from its epoch to its clean stop. */

/* Reads the owner record. CORRUPT if there is a journal but no such record. */
int tenure_look(struct partition *p);
/* Raises the epoch: appends of older ones are refused from now on. The owner record keeps what it
 * says of the journal's end. */
int tenure_begin(struct partition *p);
/* After replay, before anything is changed: whether the journal has the beginning and the end that
 * are known of it. `tail`: of the last segment. CORRUPT. */
int tenure_check(const struct partition *p, const struct store_tail *tail);
/* The journal is whole, its last segment synced: commits may follow. */
int tenure_confirm(struct partition *p);
/* Notes that this segment survives power loss with a commit in it; where commits are written. If
 * that fails the next call tries again. */
void tenure_note(struct partition *p, uint32_t segment);
/* Notes where the journal ends, everything being written. If that fails the next start merely
 * takes more care. */
void tenure_end(struct partition *p);

/* reclaim.c, feed.c, load.c, merge.c: for each lane, what partition_chore, chore_run and
 * partition_chore_done do. */
bool reclaim_begin(struct partition *p, struct chore *c);
int reclaim_run(struct chore *c);
int reclaim_end(struct partition *p, struct chore *c, int result);
bool reclaim_is_behind(const struct partition *p);
bool feed_begin(struct partition *p, struct chore *c);
int feed_run(struct chore *c);
int feed_end(struct partition *p, struct chore *c, int result);
bool feed_work(struct partition *p);
bool feed_waits(const struct partition *p);
bool load_begin(struct partition *p, struct chore *c);
int load_run(struct chore *c);
int load_end(struct partition *p, struct chore *c, int result);
bool own_begin(struct partition *p, struct chore *c);
int own_run(struct chore *c);
int own_end(struct partition *p, struct chore *c, int result);
bool own_work(struct partition *p);
/* merge_choose.c: false if nothing is worth it; else m's family and inputs, or an error. */
bool merge_choose(struct partition *p, struct merge *m, int *ret_err);
/* The stretch of time that a moment belongs to: the further away the longer. */
int64_t merge_stretch(int64_t at_ms, int64_t now_ms);

bool merge_begin(struct partition *p, struct chore *c);
int merge_run(struct chore *c);
int merge_end(struct partition *p, struct chore *c, int result);

void feed_clear(struct feed *f);
void load_clear(struct load *l);
void merge_clear(struct merge *m);

/* chore.c */
void chores_init(struct partition *p);
void chores_fini(struct partition *p);
uint64_t chores_memory(const struct partition *p);

/* cold.c */
void cold_log_name(const struct partition *p, uint32_t file, char ret[NAME_BYTES]);
/* Pins the runs that `fits` says. NOMEM. */
int cold_pin(struct partition *p, bool (*fits)(void *arg, const struct cold_run *r), void *arg,
             struct pinned *ret);
void cold_unpin(struct pinned *pinned);
/* A pinned run's reader; on any thread. */
int cold_open(struct partition *p, struct cold_run *r, struct run **ret);
void cold_close(struct cold_run *r);
/* Makes the locator's filters of pinned runs known, as long as there is room for them. */
void cold_load_filter(struct partition *p, struct cold_run *r);
bool cold_may_have(void *partition, uint64_t hash);
/* Removes logs of runs that nobody knows of, unless one that is known is missing: then the others
 * may be what is left of it. */
int cold_remove_strays(struct partition *p);
/* The journal remembers that something in it could not be read. */
void cold_mark_broken(struct partition *p, struct cold_run *r, bool unreadable);
/* Notes when those that no longer count may be removed. */
void cold_note_gone(struct partition *p);

/* What a run is about to become: what its description says besides where it is. */
struct outline {
    struct run_desc d;
    struct cold_key first;
    struct cold_key last;
    uint64_t stride; /* entries between two points of the spread */
    uint64_t next;   /* entry to take as a point */
};

struct out_run {
    struct partition *p;
    struct run_writer *writer; /* NULL: none is open */
    struct outline o;
    char log[NAME_BYTES];
    uint32_t file; /* of the next one */
    uint32_t number;
    uint32_t oldest;
    uint32_t *written; /* counts logs that exist */
    struct buf *descs; /* of those that are done */
};

/* Adds an entry that matters until gone_ms, beginning a run if none is open. */
int out_add(struct out_run *o, const struct run_entry *e, int64_t gone_ms, bool split,
            uint64_t filter_items);
/* Ends the run that is open, if any. */
int out_end(struct out_run *o);
/* When an entry of history or the locator no longer matters; INT64_MAX: not by time. */
int64_t entry_gone_ms(const struct run_entry *e); /* no grave */

/* tally.c: counts by queue and slot. */
struct tally {
    struct tally_item *items;
    struct tally_item *last; /* counted */
    size_t n;
    size_t cap;
    struct buf asides;        /* of lanes that are counted, */
    struct tally_entry aside; /* and of the one that is being; n 0: none */
    char aside_queue[QUEUE_MAX_BYTES];
};
/* `key`: of the job; of a class the first that comes is remembered. NOMEM. */
int tally_count(struct tally *t, struct str queue, enum cold_slot slot, int64_t n, struct str key);
void tally_write(const struct tally *t, struct buf *out);
void tally_fini(struct tally *t);

#endif
