/* SPDX-License-Identifier: MIT */
/*
 * A partition: one engine, its journal in a store, and the cycle between them.
 *
 *     engine --records--> gathering commit --take--> commit being written --settle--> durable
 *
 * The journal is a series of segments, each a log "pNNNN/journal/0000000001"; each element of it is
 * a commit. While one commit is being written the next gathers. Old segments are reclaimed oldest
 * first: what still lives in one is copied forward, and the segment is removed when the copies are
 * durable. Reading and removing are chores that the host runs off the engine's thread.
 *
 * Functions are called on the engine's thread, except commit_write and chore_run, which block and
 * may run on any other; one commit and one chore at most are under way at a time.
 */
#ifndef PARTITION_PARTITION_H
#define PARTITION_PARTITION_H

#include "engine/engine.h"
#include "store/store.h"

struct partition;
struct commit;
struct chore;

struct partition_options {
    uint16_t number;
    uint64_t segment_bytes; /* a segment takes no further commit beyond this. 0: 32 MiB */
    uint64_t slice_bytes;   /* read at a time when reclaiming. 0: 1 MiB */
    uint64_t commit_bytes;  /* a commit is closed beyond this. 0: a sixteenth of a segment, or so */
    bool durable;           /* each commit survives power loss before it settles */
    uint64_t seed;
    uint64_t history_bytes;
    unsigned mutant;
    engine_deliver_fn *deliver;
    void *host;
};

/* What opening found. */
struct partition_report {
    uint64_t epoch;
    bool clean; /* the last owner closed it in order (or there was none) */
    uint32_t segments;
    uint64_t commits;
    uint64_t torn_bytes; /* > 0: a half-written commit was cut off, at `where` */
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

/* ---- Chores ---- */

/* The next piece of reclaiming; NULL if there is nothing to do now or one is under way. */
struct chore *partition_chore(struct partition *p);
int chore_run(struct chore *c);
/* After chore_run, whatever it answered. Errors: CORRUPT, IO: reclaiming stops, service goes on. */
int partition_chore_done(struct partition *p, struct chore *c, int result);

struct partition_stats {
    uint32_t segments;
    uint64_t journal_bytes;
    uint64_t commits;
    uint64_t committed_bytes;
    uint64_t reclaimed_segments;
    uint64_t copied_bytes;
    uint64_t epoch;
};

void partition_stats(const struct partition *p, struct partition_stats *ret);

#endif
