/* SPDX-License-Identifier: MIT */
/*
 * A partition: one engine, its journal in a store, and the cycle between them.
 *
 *     engine --records--> gathering commit --take--> commit being written --settle--> durable
 *
 * The journal is a series of segments, each a log "pNNNN/journal/0000000001"; each element of it is
 * a commit. While one commit is being written the next gathers. Old segments are reclaimed oldest
 * first: what still lives in one is copied forward, and the segment is removed when the copies are
 * durable. What waits for long is in runs, "pNNNN/run/0000000001". Reading, writing and removing
 * are chores that the host runs off the engine's thread.
 *
 * Functions are called on the engine's thread, except commit_write, chore_run and fetch_run, which
 * block and may run on any other; one commit, one chore of a lane and any number of fetches can be
 * under way at a time.
 */
#ifndef PARTITION_PARTITION_H
#define PARTITION_PARTITION_H

#include "engine/engine.h"
#include "store/store.h"

struct partition;
struct commit;
struct chore;
struct fetch;

struct partition_options {
    uint16_t number;
    uint64_t segment_bytes; /* a segment takes no further commit beyond this. 0: 32 MiB */
    uint64_t slice_bytes;   /* read at a time when reclaiming. 0: 1 MiB */
    uint64_t commit_bytes;  /* a commit is closed beyond this. 0: a sixteenth of a segment, or so */
    unsigned reserve;       /* segments for which the store keeps space. 0: 2 */
    bool durable;           /* each commit survives power loss before it settles */
    uint64_t seed;
    uint64_t history_bytes;
    uint64_t memory_bytes;       /* the budget. 0: 256 MiB */
    uint64_t max_running;        /* jobs leased at a time. 0: any number */
    int64_t slow_start_ms;       /* see engine_options */
    size_t bulk_page;            /* jobs in a slice of a bulk, for tests. 0: some hundred */
    int64_t audit_ms;            /* how long the audit log is kept. 0: 90 days */
    uint64_t history_disk_bytes; /* kept on disk of done and cancelled jobs. 0: 1 GiB */
    size_t block_bytes;          /* of runs. 0: 32 KiB */
    uint64_t piece_bytes;        /* the smallest run of a stretch of time. 0: 1 MiB */
    unsigned merge_runs;         /* so many like each other become one. 0: 8 */
    int64_t lookahead_ms; /* jobs are brought to memory so long before they are due. 0: 1 minute */
    int slice_jobs;       /* jobs in a slice of other work, for tests. 0: some hundred */
    unsigned mutant;
    engine_event_fn *event; /* see event.h */
    bool listen;
    void *host;
};

/* What opening found. */
struct partition_report {
    uint64_t epoch;
    bool clean; /* the last owner closed it in order (or there was none) */
    uint32_t segments;
    uint64_t commits;
    /* > 0: a commit that was not whole was cut off, at `where`: half-written or damaged. After a
     * clean stop it is something else, behind the last commit. */
    uint64_t torn_bytes;
    char where[256];
};

/* Raises the epoch, replays the journal and starts the engine. Blocks. CORRUPT and IO with
 * store_detail(). The store stays the caller's. */
int partition_open(struct store *store, const struct partition_options *o, int64_t wall_ms,
                   int64_t mono_ms, struct partition **ret, struct partition_report *ret_report);

/* Marks a clean end if nothing is under way or gathered; frees. Accepts NULL. */
void partition_close(struct partition *p);

struct engine *partition_engine(struct partition *p);

/* ---- Commits ---- */

/* The gathered records as a commit to be written; NULL if there are none or one is being written.
 */
struct commit *partition_take(struct partition *p);
/* Appends it, resolving what was in doubt by reading back. FULL: nothing was written, the same
 * commit may be written again later. Anything else: the partition must be closed and opened anew.
 */
int commit_write(struct commit *c);
/* Neither begins a segment nor is synced out of turn: it takes as long as most do. */
bool commit_is_plain(const struct commit *c);
/* After commit_write answered 0. */
void partition_settle(struct partition *p, struct commit *c);

/* Writes everything that is gathered, on this thread; none may be under way. Answers as
 * commit_write. */
int partition_flush(struct partition *p);

/* Nothing is gathered or being written. */
bool partition_idle(const struct partition *p);

uint64_t partition_durable_lsn(const struct partition *p);
uint64_t partition_gathered_bytes(const struct partition *p);

/* Makes all that settled survive power loss, where commits do not do that themselves. Blocks; on
 * any thread, while none is in commit_write. */
int partition_sync(struct partition *p);

/* ---- Work ---- */

/* The engine's thread does a slice of what moves jobs between memory and disk: a few milliseconds
 * at most. To be called once in every turn; true: there is more, call again soon. */
bool partition_work(struct partition *p);

/* Memory is at its budget: no requests should be read until this is over, which the chores bring
 * about. */
bool partition_pressed(const struct partition *p);

/* It is pressed, and so far beyond its budget that nothing at all may be added meanwhile. */
bool partition_crammed(const struct partition *p);

/* Memory is beyond its budget and nothing could be done about it: no new jobs should be taken. */
bool partition_overfull(const struct partition *p);

/* ---- Chores: what blocks and is done off the engine's thread ---- */

/* One chore of each lane can be under way at a time. */
enum lane {
    LANE_JOURNAL, /* reads and removes old segments, removes runs */
    LANE_FEED,    /* writes jobs from memory to runs */
    LANE_LOAD,    /* reads the next jobs of a run */
    LANE_MERGE,   /* makes few runs of many */
    LANE_TASK,    /* looks up what the engine's own work needs */
    LANES
};

/* The next piece of work; NULL if there is nothing to do now or one is under way. */
struct chore *partition_chore(struct partition *p, enum lane lane);
int chore_run(struct chore *c);
/* After chore_run, whatever it answered. Errors: CORRUPT, IO, FULL: that work stops or is tried
 * again, service goes on. */
int partition_chore_done(struct partition *p, struct chore *c, int result);
/* What a chore does, in words: "reading the journal's oldest segment". */
const char *chore_name(const struct chore *c);

/* ---- Fetches: what a request needs from disk ---- */

/* Made after a request answered COLD; any number may be under way. NULL if out of memory. */
struct fetch *partition_fetch(struct partition *p);
/* Blocks; on any thread. */
int fetch_run(struct fetch *f);
/* Back on the engine's thread, with what fetch_run answered. 0: the request is to be executed again
 * now, and partition_fetch_end called after that; it may answer COLD for another reason. COLD:
 * fetch_run again. Else an error for the client. */
int partition_fetched(struct partition *p, struct fetch *f, int result);
/* Ends it, at any time while it is not in fetch_run. */
void partition_fetch_end(struct partition *p, struct fetch *f);

struct partition_stats {
    uint32_t segments;
    uint64_t journal_bytes;
    uint64_t commits;
    uint64_t committed_bytes;
    uint64_t reclaimed_segments;
    uint64_t copied_bytes;
    uint64_t fed_batches;
    uint64_t loaded_jobs;
    uint64_t merged_runs;
    uint64_t fetches;
    uint64_t memory_bytes; /* the engine's account and what is on its way to and from disk */
    uint64_t epoch;
};

void partition_stats(const struct partition *p, struct partition_stats *ret);

#endif
