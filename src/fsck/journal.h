/* SPDX-License-Identifier: MIT */
/*
 * A partition's journal as it lies in a data directory, whole or damaged: what `belfry check` shows
 * and `belfry repair` works from. Reading it changes nothing, and a server may be running: then the
 * journal is looked at again if it changed underneath.
 *
 * How many commits a segment has is known from its successor, whose first commit says so. For the
 * last one it is what the server would take: what a clean stop noted, or else all that are whole,
 * as a bad one at the end may just have been half-written. With which segment the journal begins
 * its records say, and how far it goes at least the owner record.
 */
#ifndef FSCK_JOURNAL_H
#define FSCK_JOURNAL_H

#include <limits.h>

#include "engine/engine.h"
#include "engine/record.h"
#include "partition/owner.h"
#include "store/store.h"

#define JOURNAL_NAME_BYTES 48
#define JOURNAL_UNKNOWN    UINT64_MAX

struct journal_segment {
    uint32_t number;
    bool missing;      /* there is no such file, though there was one */
    bool headless;     /* header and copy are damaged: nothing in it can be read */
    bool begun;        /* its first commit is whole, and says: */
    bool tail;         /* the journal ends in it: something half-written behind `limit` is fine */
    bool faulty;       /* something was found that keeps a server from starting */
    uint64_t previous; /* how many commits the segment before has */
    uint64_t limit;    /* commits that it must have; JOURNAL_UNKNOWN if nothing says so */
    uint64_t next;     /* behind the last whole commit */
    uint64_t whole;    /* commits that can be used */
    uint64_t bytes;    /* of those */
    struct commit_head head; /* of the first of them */
};

struct journal_finding {
    size_t segment;  /* index */
    uint64_t offset; /* in the file, if bytes > 0 */
    uint64_t bytes;
    uint64_t first; /* commits lost by it, if any: the first, and */
    uint64_t lost;  /* how many */
    bool malformed; /* the commit is whole but makes no sense */
    char what[160];
};

struct journal {
    const char *dir; /* borrowed */
    uint16_t partition;
    uint64_t epoch;         /* of the last owner; 0: there was none */
    bool clean;             /* who closed it in order */
    struct owner_note note; /* what its record says of the journal */
    bool ownerless; /* the owner's record is gone, or behind the journal: tokens would repeat */
    bool end_lost;  /* commits at its end are: they might have told of a later beginning */
    uint64_t newest_epoch;  /* of any whole commit */
    char record_fault[256]; /* a record of the store that cannot be read, and why; "": none */
    struct journal_segment *segments; /* oldest first, without gaps in their numbers */
    size_t segment_count;
    size_t segment_cap;
    struct journal_finding *findings;
    size_t finding_count;
    size_t finding_cap;
    uint64_t commits;
    uint64_t bytes;
    uint64_t torn_bytes; /* > 0: half-written at the end, at `where` */
    char where[256];
    struct engine *engine; /* everything that is whole, replayed */
};

/* Opens a directory to look at it, and says how many partitions it has. NOTFOUND (no data
 * directory), INVALID (none of this version), IO; with store_detail(). */
int journal_store(const char *dir, struct store **ret, uint16_t *ret_partitions);

/* Reads a partition of the directory that `store` is, opened read-only. Damage is no error but a
 * finding. IO, CORRUPT (a log that is no segment), NOMEM, CONFLICT (it keeps changing), with
 * store_detail(). journal_fini is right after either. */
int journal_load(struct journal *j, struct store *store, const char *dir, uint16_t partition);
void journal_fini(struct journal *j);

/* Names of a partition's logs, by their kind, and the path of one's file. */
#define SEGMENTS "journal"
#define RUNS     "run"
void journal_log_prefix(const struct journal *j, const char *kind, char ret[JOURNAL_NAME_BYTES]);
void journal_log_name(const struct journal *j, const char *kind, uint32_t number,
                      char ret[JOURNAL_NAME_BYTES]);
void journal_path(const struct journal *j, const char *kind, uint32_t number, char ret[PATH_MAX]);

/* Reads one segment into the engine and adds what is wrong with it to the findings; limit and
 * previous are known by then. NOTFOUND (it was removed meanwhile), IO, NOMEM. */
int journal_scan(struct journal *j, size_t index);

/* The type of a commit's first record, 0 if the commit is malformed; ret_head is of the commit. */
enum record_type journal_first_record(struct str commit, struct commit_head *ret_head,
                                      struct str *ret_body);

/* How many places are damaged. */
size_t journal_faults(const struct journal *j);

/* Room for one more item of `size` bytes in an array; NULL if out of memory. */
void *journal_grow(void *items, size_t count, size_t *cap, size_t size);

/* Adds a finding about a segment, which is faulty then. 0, NOMEM. */
int journal_find(struct journal *j, size_t index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The finding that was added last. */
static inline struct journal_finding *journal_found(struct journal *j)
{
    return &j->findings[j->finding_count - 1];
}

#endif
