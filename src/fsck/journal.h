/* SPDX-License-Identifier: MIT */
/*
 * A partition's journal in a data directory, whole or damaged. `belfry check` shows it, and `belfry
 * repair` works from it. Reading changes nothing. A server may be running: if the journal changes
 * meanwhile, it is read again.
 *
 * The first commit of a segment says how many commits the segment before must have. The last
 * segment must have the commits that a server would take: as many as a clean stop noted. Without a
 * clean stop these are all whole commits, since a bad one at the end may be half-written. The
 * journal's own records say with which segment it begins. The owner record says how far it goes at
 * least.
 */
#ifndef FSCK_JOURNAL_H
#define FSCK_JOURNAL_H

#include <limits.h>

#include "base/array.h"
#include "engine/engine.h"
#include "record/record.h"
#include "partition/owner.h"
#include "store/store.h"

#define JOURNAL_UNKNOWN UINT64_MAX

struct journal_name {
    char text[48];
};

struct journal_path {
    char text[PATH_MAX];
};

struct journal_segment {
    uint32_t number;
    bool missing;      /* its file is gone */
    bool headless;     /* its header and the copy are damaged, so that nothing in it can be read */
    bool begun;        /* its first commit is whole and gives `previous` */
    bool tail;         /* the journal ends in it: half-written bytes behind `limit` are no damage */
    bool faulty;       /* it has a finding, which keeps a server from starting */
    uint64_t previous; /* commits that the segment before must have */
    uint64_t limit;    /* commits that it must have; JOURNAL_UNKNOWN: nothing says how many */
    uint64_t next;     /* the number behind its last whole commit */
    uint64_t whole;    /* commits that can be used */
    uint64_t bytes;    /* size of the commits that can be used */
    struct commit_head head; /* of the first commit in it that is whole */
};

struct journal_finding {
    size_t segment;  /* index in journal.segments */
    uint64_t offset; /* of the damaged stretch in the file */
    uint64_t bytes;  /* length of that stretch; 0: the finding has no place in the file */
    uint64_t first;  /* the first commit that is lost */
    uint64_t lost;   /* how many commits are lost; 0: none */
    bool malformed;  /* the commit `first` is whole but makes no sense */
    char what[160];
};

struct journal {
    const char *dir; /* borrowed */
    uint16_t partition;
    uint64_t epoch;         /* of the last owner; 0: there was none */
    bool clean;             /* the last owner stopped in order */
    struct owner_note note; /* the owner record */
    bool ownerless; /* the owner record is gone, or behind the journal: tokens would repeat */
    bool end_lost;  /* commits at the end are lost, which may have told of a later beginning */
    uint64_t newest_epoch;  /* the greatest epoch of a whole commit */
    char record_fault[256]; /* which record of the store cannot be read, and why; "": none */
    struct journal_segment *segments; /* oldest first, without gaps in their numbers */
    size_t segment_count;
    size_t segment_cap;
    struct journal_finding *findings;
    size_t finding_count;
    size_t finding_cap;
    uint64_t commits;      /* in all segments, that can be used */
    uint64_t bytes;        /* size of these commits */
    uint64_t torn_bytes;   /* half-written bytes at the end */
    char where[256];       /* file and offset of the half-written bytes */
    struct engine *engine; /* it has replayed the commits that can be used */
};

/* Opens a directory for reading, and says how many partitions it has. NOTFOUND (no data
 * directory), INVALID (none of this version), IO; with store_detail(). */
int journal_store(const char *dir, struct store **ret, uint16_t *ret_partitions);

/* Reads a partition of `dir`; `store` is that directory, opened for reading. Damage is no error but
 * a finding. IO, CORRUPT (a log that is no segment), NOMEM, CONFLICT (the journal keeps changing),
 * with store_detail(). The caller calls journal_fini() also after an error. */
int journal_load(struct journal *j, struct store *store, const char *dir, uint16_t partition);
void journal_fini(struct journal *j);

/* The name of a log of the partition, the beginning of all names of its kind, and the path of its
 * file. There are two kinds. */
#define SEGMENTS "journal"
#define RUNS     "run"
struct journal_name journal_log(const struct journal *j, const char *kind, uint32_t number);
struct journal_name journal_prefix(const struct journal *j, const char *kind);
struct journal_path journal_path(const struct journal *j, const char *kind, uint32_t number);

/* Reads one segment into the engine and adds a finding for each fault. The segment's `limit` and
 * `previous` are set before. NOTFOUND (a server removed it meanwhile), IO, NOMEM. */
int journal_scan(struct journal *j, size_t index);

/* Answers the type of a commit's first record, and 0 if the commit is malformed. */
enum record_type journal_first_record(struct str commit, struct commit_head *ret_head,
                                      struct str *ret_body);

/* How many places are damaged, of those that keep a server from starting. */
size_t journal_faults(const struct journal *j);

/* Adds a finding about a segment and marks the segment faulty. 0, NOMEM. */
int journal_find(struct journal *j, size_t index, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The finding that was added last. */
static inline struct journal_finding *journal_found(struct journal *j)
{
    return &j->findings[j->finding_count - 1];
}

#endif
