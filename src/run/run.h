/* SPDX-License-Identifier: MIT */
/*
 * Sorted runs are immutable logs of entries in the order of their keys. They hold everything on
 * disk that is found by key or read forward: jobs by due time, the backlog by class, history, the
 * locator. A run does not know the meaning of its keys and values.
 *
 *     elements of the log:  data ... data | index ... index | filter ... filter | root
 *
 * A data block holds entries, each key without the bytes that it shares with the key before it. An
 * index block names data blocks by their last keys, and the root names index blocks by theirs. So
 * a reader finds a key with one index block and one data block. The root is small, and is read when
 * a run is opened; nothing else of a run stays in memory. Each block names its kind.
 *
 * An entry has a version. Where several runs have a key, the entry of the highest version
 * counts; a *grave* is an entry without value that says: there is nothing here.
 *
 * Errors are negative, with store_detail(). Reading is safe from any number of threads, each with
 * its own cursor; a struct run may be shared by them.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/buf.h"
#include "store/store.h"

#define RUN_KEY_MAX 1024
#define RUN_BLOCK   (32u << 10) /* about; an entry larger than this has a block of its own */

struct run_entry {
    struct str key; /* 1 .. RUN_KEY_MAX bytes, compared by memcmp, then the shorter first */
    uint32_t version;
    bool grave;
    struct str value; /* empty in a grave */
};

/* The facts that are needed to open a run again. */
struct run_place {
    uint64_t elements; /* the root is the last of them */
    uint64_t root_at;  /* where the store has it: a hint, see store_read */
};

struct run_info {
    struct run_place place;
    uint64_t entries; /* graves included */
    uint64_t graves;
    uint64_t bytes; /* of all elements */
};

/* ---- Writing ---- */

struct run_writer;

struct run_options {
    struct store *store;
    struct str log; /* new; borrowed until the end */
    struct str fence;
    uint64_t epoch;
    size_t block_bytes;    /* 0: RUN_BLOCK */
    uint64_t filter_items; /* > 0: with a filter for about this number of distinct hashes */
};

int run_writer_new(const struct run_options *o, struct run_writer **ret); /* NOMEM */
/* INVALID (keys do not rise), TOOLARGE (a value over 63 MiB). The writer repeats an error. */
int run_writer_add(struct run_writer *w, const struct run_entry *e);
/* Adds a well mixed hash to the filter. */
void run_writer_filter(struct run_writer *w, uint64_t hash);
uint64_t run_writer_bytes(const struct run_writer *w); /* so far */
/* Writes the rest and makes the log durable. At least one entry must have been added. */
int run_writer_end(struct run_writer *w, struct run_info *ret);
/* In any case. A log that was not ended is left behind for the caller to remove. Accepts NULL. */
void run_writer_free(struct run_writer *w);

/* ---- Reading ---- */

struct run;

/* Reads the root. CORRUPT, NOTFOUND, IO, NOMEM. */
int run_open(struct store *store, struct str log, const struct run_place *place, struct run **ret);
void run_close(struct run *r);                         /* accepts NULL */
const struct run_info *run_about(const struct run *r); /* borrowed */

/* The entry of a key: its value is copied into *hold, to which ret's slices point. NOTFOUND. */
int run_find(struct run *r, struct str key, struct buf *hold, struct run_entry *ret);

/* The filter as bytes to keep in memory; empty if the run has none. */
int run_filter_load(struct run *r, struct buf *ret);
bool run_filter_has(struct str filter, uint64_t hash); /* false: certainly not there */

/* A place in a run, behind an entry. Zeroed to begin with; run_cursor_fini in any case. */
struct run_cursor {
    struct run *run;
    struct run_entry entry; /* valid until the next call on this cursor */
    bool at_end;            /* there is no entry */
    bool skips_damage;      /* a data block that cannot be read is left out and counted */
    uint64_t damaged;       /* blocks left out; store_detail() of the last in `where` */
    char where[256];

    /* For cursor.c. */
    int failed;      /* sticky, until run_seek */
    uint64_t block;  /* element of the data block */
    struct buf data; /* its bytes */
    uint32_t base;
    size_t next;       /* offset of the entry behind this one */
    struct buf key;    /* key of the entry */
    struct buf before; /* the last key of the block before */
    struct buf index;  /* the index block that names the data block */
    size_t index_next;
    uint64_t index_block;
    struct buf index_key; /* the last name that was read in the index: last key of the data block */
    uint64_t at;          /* position of the data block */
    uint64_t block_next;  /* the data block that the next name is for */
};

/* To the first entry with a key > `after` (empty: the first of all). */
int run_seek(struct run_cursor *c, struct run *r, struct str after);
/* After an error it answers that error until the next run_seek. At the end it stays there. */
int run_next(struct run_cursor *c);
void run_cursor_fini(struct run_cursor *c);

/* ---- Merging ---- */

/* Several runs read as one: keys rise, of equal keys only the highest version is given. */
struct run_merge {
    struct run_cursor *cursors;
    size_t n;
    struct run_cursor *now; /* whose entry is next; NULL at the end */

    /* For merge.c. */
    struct run_cursor **heap;
    size_t live;
};

/* Cursors are set behind `after`. On error fini as well. */
int run_merge_init(struct run_merge *m, struct run *const *runs, size_t n, struct str after,
                   bool skips_damage);
/* As run_merge_init, with each cursor behind an `after` of its own. */
int run_merge_init_each(struct run_merge *m, struct run *const *runs, size_t n,
                        const struct str *afters, bool skips_damage);
int run_merge_next(struct run_merge *m);
void run_merge_fini(struct run_merge *m);

#endif
