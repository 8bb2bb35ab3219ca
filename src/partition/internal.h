/* SPDX-License-Identifier: MIT */
/* The inside of a partition. For files of src/partition only. */
#ifndef PARTITION_INTERNAL_H
#define PARTITION_INTERNAL_H

#include <assert.h>
#include <pthread.h>

#include "engine/mutant.h"
#include "partition/chore_data.h"
#include "recur/zonecache.h"
#include "run/run.h"

#define COMMIT_KEEP    (4u << 20) /* A commit gives a larger buffer back. */
#define ELEMENT_FRAME  24         /* about what a store adds to an element */
#define RECLAIM_PAUSE  4          /* Reclaiming pauses while so many commits wait. */
#define SPARE_SEGMENTS 4 /* Reclaiming begins so many segments beyond twice the live state. */

struct commit {
    struct list link; /* in partition.closed or .unused */
    struct partition *p;
    struct buf buf;
    uint32_t segment;
    uint64_t seq;
    uint64_t last_lsn;
    bool durable; /* once written, it survives power loss, with all before it */
};

/* The root of a run and, for a locator, its filter. Once read they stay in cold_run.opened. */
struct opened {
    struct run *run;
    struct buf filter;
    bool has_filter;
};

/* Memory beside that of the engine and of batches. */
struct partition_bytes {
    _Atomic size_t filters;
    _Atomic size_t copies; /* jobs that fetches have read */
    size_t fetches;        /* fetches without their copies, waiting ones too */
    size_t beside;         /* tables of the host: see partition_beside */
};

struct partition {
    struct store *store;
    struct partition_options o;
    struct engine *engine;
    struct zonecache zones;
    uint64_t epoch;
    char fence[NAME_BYTES];
    struct owner_note note; /* the text of the owner record; see tenure.c */
    uint64_t end_hash;      /* of the commit that a clean stop noted as the last one */

    struct commit *gathering;
    struct commit *writing;
    struct list closed; /* commits that wait to be written */
    struct list unused;
    uint64_t closed_bytes;
    uint64_t commit_bytes; /* a commit that has reached this is closed */
    uint64_t gather_lsn;   /* of the last record before the gathering commit */
    bool own_first;        /* the engine's own work comes before the next request */
    bool owed;             /* the gathering commit is to be written though it may be empty */
    uint64_t durable_lsn;
    uint64_t safe_lsn; /* records up to here survive power loss for certain */
    uint64_t sync_lsn; /* records up to here will, once the closed commits are written */
    bool sync_owed;    /* the gathering commit is to be durable */
    _Atomic uint32_t sync_segment; /* the segment of the last written commit */

    struct segment *segments; /* oldest first; the gathering commit goes to the last */
    size_t segment_count;
    size_t segment_cap;

    struct chore chores[CHORE_KINDS];
    struct list fetches;
    struct fetch *task;        /* the engine's own work waits for it */
    pthread_mutex_t open_lock; /* guards cold_run.opened */
    struct partition_bytes bytes;
    bool feed_paused;       /* no batch begins, because of an error */
    int64_t last_fed_ms;    /* when a batch was last written */
    int64_t merge_look_ms;  /* the moment of the last look for runs to merge */
    uint64_t merge_changes; /* engine_run_changes at that moment */
    struct reclaim reclaim;

    struct partition_stats stats;
};

/* The jobs in a slice: `usual`, or fewer in tests. */
static inline size_t partition_slice(const struct partition *p, size_t usual)
{
    size_t n = p->o.slice_jobs > 0 ? (size_t)p->o.slice_jobs : usual;

    return n < usual ? n : usual;
}

void partition_log_name(const struct partition *p, uint32_t segment, char ret[NAME_BYTES]);
/* NOMEM. */
int partition_add_segment(struct partition *p, struct segment s);
/* Whether this record survives power loss. If it does not, the next commit is synced, and a later
 * call answers true. */
bool partition_make_safe(struct partition *p, uint64_t lsn);

/* The most bytes that may be gathered: see partition_is_behind. */
uint64_t partition_gather_max(const struct partition *p);

/* For messages, before tail->where, which is empty if nothing is torn. */
static inline const char *damage_at(const struct store_tail *tail)
{
    return tail->torn_bytes ? "; damage at " : "";
}

/* replay.c: reads all segments into the engine. */
int partition_replay(struct partition *p, struct partition_report *ret);

/* tenure.c: the time of one owner, from its epoch to its clean stop. */

/* Reads the owner record. CORRUPT if there is a journal but no such record. */
int tenure_look(struct partition *p);
/* Raises the epoch: from now on appends of older epochs are refused. The text of the owner record
 * stays as it is. */
int tenure_begin(struct partition *p);
/* After replay, before anything is changed: checks the beginning and the end of the journal. `tail`
 * is that of the last segment. CORRUPT. */
int tenure_check(const struct partition *p, const struct store_tail *tail);
/* Notes that the journal is whole and its last segment synced. Commits may follow. */
int tenure_confirm(struct partition *p);
/* Notes that this segment has a commit that survives power loss. It is called on the thread that
 * writes commits. If it fails, the next call tries again. */
void tenure_note(struct partition *p, uint32_t segment);
/* Notes the end of the journal, after everything is written. If it fails, the next start merely
 * takes more care. */
void tenure_end(struct partition *p);

bool reclaim_is_behind(const struct partition *p);
bool reclaim_work(struct partition *p); /* true: there is more */
bool feed_work(struct partition *p);
bool merge_work(struct partition *p);
bool feed_waits(const struct partition *p);
bool own_work(struct partition *p, int64_t until_us);
/* merge_choose.c: false if no merge is worth it; else the family and inputs of m, or an error. */
bool merge_choose(struct partition *p, struct merge *m, int *ret_err);
/* The stretch of time that a moment belongs to: the further away the longer. */
int64_t merge_stretch(int64_t at_ms, int64_t now_ms);
void feed_clear(struct feed *f);
void load_clear(struct load *l);
void merge_clear(struct merge *m);

/* chore.c */
void chores_init(struct partition *p);
void chores_fini(struct partition *p);
uint64_t chores_memory(const struct partition *p);

/* cold.c */

static inline struct cold_run *run_of(struct list *node)
{
    return container_of(node, struct cold_run, link);
}

/* Walks engine_runs or engine_gone_runs. */
#define each_run(r, head) \
    for ((r) = run_of((head)->next); &(r)->link != (head); (r) = run_of((r)->link.next))

void cold_log_name(const struct partition *p, uint32_t file, char ret[NAME_BYTES]);
/* Pins the runs for which `fits` is true, or all if it is NULL. NOMEM. */
int cold_pin(struct partition *p, bool (*fits)(void *arg, const struct cold_run *r), void *arg,
             struct pinned *ret);
void cold_unpin(struct pinned *pinned);
/* The reader of a pinned run; on any thread. */
int cold_open(struct partition *p, struct cold_run *r, struct run **ret);
/* The readers of all pinned runs. If a run cannot be opened, it is *ret_broken. */
int cold_open_all(struct partition *p, const struct pinned *pinned, struct run **ret,
                  struct cold_run **ret_broken);
/* After the error err: removes the logs of n new runs from `file` on, unless they may be another
 * owner's. If that fails, the next start removes them. */
void cold_discard(struct partition *p, uint32_t file, uint32_t n, int err);
void cold_close(struct cold_run *r);
/* Reads the filter of a pinned run of the locator, as long as there is room for filters. */
void cold_load_filter(struct partition *p, struct cold_run *r);
bool cold_may_have(void *partition, uint64_t hash);
/* Removes logs of runs that no record names. If a run that a record names is missing, it removes
 * none: they may be the remains of that run. */
int cold_remove_strays(struct partition *p);
/* Notes in the journal that a part of the run could not be read. */
void cold_mark_broken(struct partition *p, struct cold_run *r, bool unreadable);
/* Notes the record after which runs that no longer count may be removed. */
void cold_note_gone(struct partition *p);

/* Runs that are being written, one after the other. */
struct out_run {
    struct partition *p;
    struct run_writer *writer; /* NULL: no run is open */
    struct run_desc d;         /* of the open run, without its place */
    struct cold_key first;
    struct cold_key last;
    uint64_t stride; /* entries between two points of the spread */
    uint64_t next;   /* the entry that is the next point */
    char log[NAME_BYTES];
    uint32_t file; /* of the next run */
    uint32_t number;
    uint32_t oldest;
    uint32_t *written; /* counts logs that exist */
    struct buf *descs; /* of complete runs */
};

/* Adds an entry that matters until gone_ms, beginning a run if none is open. */
int out_add(struct out_run *o, const struct run_entry *e, int64_t gone_ms, bool split,
            uint64_t filter_items);
/* Ends the run that is open, if any. */
int out_end(struct out_run *o);
/* Copies an entry of the run `number`. NOMEM. */
int items_add(struct items *x, const struct run_entry *e, uint32_t number);
/* No further entry comes: from now on items point to their bodies. */
void items_settle(struct items *x);
void items_fini(struct items *x);
/* The moment from which an entry of history or of the locator no longer matters. The entry must be
 * no grave. INT64_MAX: the entry has no such moment. */
int64_t entry_gone_ms(const struct run_entry *e);

/* census.c, sorted.c: the part that blocks of a census or sorted page. Off the engine's thread. */
int census_run(struct fetch *f), sorted_run(struct fetch *f);

/* cut.c: history that gives way to new jobs of its tenant. */

/* Whether an entry of history belongs to a cut. */
bool cut_has(const struct cut *c, const struct run_entry *e);
/* Finds out up to which moment a run is cut. Off the engine's thread. */
int cut_find(struct merge *m, struct run *run);

struct tally {           /* tally.c: counts by queue and slot */
    struct hash_key key; /* queues are found by their names */
    struct tally_item *items;
    struct tally_item *last; /* the item that was counted last */
    size_t n;
    size_t cap;
    struct buf asides;        /* tallies of lanes that are counted */
    struct tally_entry aside; /* the lane that is being counted; n 0: none */
    char aside_queue[QUEUE_MAX_BYTES];
};
/* A number of jobs, and their bytes: see image_bytes. */
struct counted {
    int64_t n;
    int64_t bytes;
};
/* Counts jobs. `key` is that of a job; the first key of each slot is remembered. NOMEM. */
int tally_count(struct tally *t, struct str queue, enum cold_slot slot, struct counted c,
                struct str key);
void tally_write(const struct tally *t, struct buf *out);
void tally_fini(struct tally *t);

#endif
