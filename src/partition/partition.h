/* SPDX-License-Identifier: MIT */
/*
 * A partition: one engine, its journal in a store, and the cycle between them.
 *
 *     engine --records--> gathering commit --take--> commit being written --settle--> durable
 *
 * The journal is a series of segments, each a log "pNNNN/journal/0000000001". Each element of a
 * segment is a commit. While one commit is being written, the next gathers. The oldest segment is
 * reclaimed first: its live records are copied forward, and it is removed when the copies are
 * durable. Jobs that wait for long are in runs, "pNNNN/run/0000000001". Reading, writing and
 * removing are chores that the host runs off the engine's thread.
 *
 * Functions are called on the engine's thread, except commit_write, chore_run and fetch_run, which
 * block and may run on any other. One commit, one chore of each kind and any number of fetches can
 * be under way at a time.
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
    uint64_t slice_bytes;   /* that reclaiming reads at a time. 0: 1 MiB */
    uint64_t commit_bytes;  /* a commit is closed beyond this. 0: about a sixteenth of a segment */
    unsigned reserve;       /* segments for which the store keeps space. 0: 2 */
    bool durable;           /* each commit survives power loss before it settles */
    uint64_t seed;
    struct hash_key secret; /* see engine_options */
    uint64_t history_bytes;
    uint64_t memory_bytes;       /* the budget. 0: 256 MiB */
    uint64_t max_running;        /* jobs leased at a time. 0: any number */
    uint64_t tenant_bytes;       /* see engine_options */
    int64_t slow_start_ms;       /* see engine_options */
    size_t bulk_page;            /* jobs in a slice of a bulk, for tests. 0: some hundred */
    int64_t min_every_ms;        /* see engine_options */
    int64_t audit_ms;            /* how long the audit log is kept. 0: 90 days */
    uint64_t audit_max;          /* how many entries of it are kept. 0: any number */
    uint64_t history_disk_bytes; /* of done and cancelled jobs that are kept on disk. 0: 1 GiB */
    size_t block_bytes;          /* of runs. 0: 32 KiB */
    uint64_t piece_bytes;        /* the smallest run of a stretch of time. 0: 1 MiB */
    uint32_t attempts_kept;      /* see engine_options */
    unsigned merge_runs;         /* so many runs that are alike become one. 0: 8 */
    int64_t lookahead_ms;        /* jobs are loaded so long before they are due. 0: 1 minute */
    int slice_jobs;              /* jobs in a slice of other work, for tests. 0: some hundred */
    size_t idle_queues;          /* as engine_options.idle_queues */
    unsigned mutant;
    engine_event_fn *event; /* see event.h */
    bool listen;
    void *host;
};

/* The state that opening found. */
struct partition_report {
    uint64_t epoch;
    bool clean; /* the last owner closed the partition in order, or there was no owner */
    uint32_t segments;
    uint64_t commits;
    /* Bytes that were cut off at `where`: a half-written or damaged commit. After a clean stop they
     * are other bytes behind the last commit. */
    uint64_t torn_bytes;
    char where[256];
    bool unkeyed; /* there is no secret: see engine_name_secretly */
};

/* Raises the epoch, replays the journal and starts the engine. Blocks. CORRUPT and IO with
 * store_detail(). The store stays the caller's. */
int partition_open(struct store *store, const struct partition_options *o, int64_t wall_ms,
                   int64_t mono_ms, struct partition **ret, struct partition_report *ret_report);

/* Notes a clean end if no commit is under way or gathered; frees. Accepts NULL. */
void partition_close(struct partition *p);

struct engine *partition_engine(struct partition *p);

/* ---- Commits ---- */

/* The gathered records as a commit; NULL if there are none, or a commit is being written. */
struct commit *partition_take(struct partition *p);
/* Appends the commit. If that is in doubt, it reads back. FULL: nothing was written, and the commit
 * may be written again later. Any other error: the partition must be closed and opened anew. */
int commit_write(struct commit *c);
/* Whether the commit takes as long as most: it begins no segment, nor is it synced out of turn. */
bool commit_is_plain(const struct commit *c);
/* After commit_write answered 0. */
void partition_settle(struct partition *p, struct commit *c);

/* Writes all gathered records on this thread. No commit is under way. Answers as commit_write. */
int partition_flush(struct partition *p);

/* Whether no record is gathered or being written. */
bool partition_idle(const struct partition *p);

uint64_t partition_durable_lsn(const struct partition *p);
uint64_t partition_gathered_bytes(const struct partition *p);
/* Whether as many bytes are gathered as may be: the disk does not keep up, and no request should
 * be executed. */
bool partition_is_behind(const struct partition *p);
/* Whether the engine's own work is held up by gathered bytes. Then no request should be executed
 * before the next partition_work: commits make room, and requests would take it. */
bool partition_owes_work(const struct partition *p);

/* Makes all settled commits survive power loss, if commits do not do that themselves. Blocks; on
 * any thread, while no thread is in commit_write. */
int partition_sync(struct partition *p);

/* ---- Work ---- */

/* Does a slice of the work that moves jobs between memory and disk, and some of the engine's own
 * work: a few milliseconds at most. Own work ends at until_us of the monotonic clock; INT64_MAX:
 * the clock is not read. The host calls it once in every turn, and soon again if it answers true.
 */
bool partition_work(struct partition *p, int64_t until_us);

/* The host has so many bytes of tables of its own. They count in the account of memory. */
void partition_beside(struct partition *p, size_t bytes);

/* Memory is at its budget. The host should read no requests until the chores have made room. */
bool partition_pressed(const struct partition *p);

/* The partition is pressed, and so far beyond its budget that the tenant may add nothing at all. An
 * empty name, or that of all tenants, stands for a tenant that has much in memory. */
bool partition_crammed(const struct partition *p, struct str tenant);

/* Memory is beyond its budget, and no chore can make room: the host should take no new jobs. */
bool partition_overfull(const struct partition *p);

/* ---- Chores: work that blocks, off the engine's thread ---- */

/* One chore of each kind can be under way at a time. */
enum chore_kind {
    CHORE_RECLAIM, /* reads and removes old segments, removes runs */
    CHORE_FEED,    /* writes jobs from memory to runs */
    CHORE_LOAD,    /* reads the next jobs of a run */
    CHORE_MERGE,   /* makes few runs of many */
    CHORE_TASK,    /* fetches jobs that the engine's own work needs */
    CHORE_KINDS
};

/* The next chore of a kind; NULL if there is nothing to do now, or one is under way. */
struct chore *partition_chore(struct partition *p, enum chore_kind kind);
int chore_run(struct chore *c);
/* After chore_run, whatever it answered. After an error (CORRUPT, IO, FULL) this work stops or is
 * tried again, and service goes on. */
int partition_chore_done(struct partition *p, struct chore *c, int result);
/* The chore in words: "reading the journal's oldest segment". */
const char *chore_name(const struct chore *c);

/* ---- Fetches: jobs on disk that a request needs ---- */

/* To be called after a request answered COLD. NULL if memory ran out. */
struct fetch *partition_fetch(struct partition *p);
/* Whether requests have read as much as one request may bring to memory. */
bool partition_copies_much(const struct partition *p);
/* How many jobs the request brings to memory, as far as it knows. */
size_t fetch_grows(const struct fetch *f);
/* How many jobs the fetch looks for. */
size_t fetch_looks(const struct fetch *f);
/* Blocks; on any thread. */
int fetch_run(struct fetch *f);
/* Back on the engine's thread, with the answer of fetch_run. 0: the host executes the request again
 * now, and then calls partition_fetch_end; the request may answer COLD for another reason. COLD:
 * the host calls fetch_run again. Any other answer is an error for the client. */
int partition_fetched(struct partition *p, struct fetch *f, int result);
/* Ends a fetch, at any time while it is not in fetch_run. */
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
    uint64_t memory_bytes; /* of the engine, of filters, of tables of the host, and of jobs on their
                              way to or from disk */
    uint64_t fetch_bytes;  /* the part of memory_bytes that belongs to requests for jobs on disk */
    uint64_t epoch;
};

void partition_stats(const struct partition *p, struct partition_stats *ret);

#endif
