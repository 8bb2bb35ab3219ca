/* SPDX-License-Identifier: MIT */
/*
 * Spare log files, DIR/spare/N: allocated and really written, so that a commit changes no metadata
 * and its fdatasync is one write to the disk; and there when the disk is full.
 *
 * A thread of its own makes them, in the background, as they are taken. Files with a name that is
 * not all digits are unfinished, and swept away at the next start. Calls may come from any thread.
 *
 * Invariant: a spare has no other name, neither now nor after a loss of power, unless it is unused.
 * The names in DIR/spare are never synced: a spare that was taken may be back after a loss of
 * power, as a second name of the log that it has become. Such a one is known by its inode.
 */
#ifndef STORE_SPARE_H
#define STORE_SPARE_H

#include <limits.h>
#include <pthread.h>

#include "store/disk.h"
#include "store/inodes.h"
#include "store/store.h"

struct spares {
    struct disk *disk;
    char *dir;
    uint64_t bytes;   /* size of each */
    unsigned reserve; /* how many to keep ready */
    atomic_bool *low; /* the store's: fewer than reserve, and no space for one more */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is something for the maker to do */
    uint64_t *ready;        /* their numbers, room for reserve + 1 */
    unsigned count;
    uint64_t next_number;
    bool making;   /* the maker is at it, with the lock released */
    unsigned lent; /* writers that have the space of those that were given up: none is made */
    atomic_bool stop;
    bool running;
    pthread_t maker;
};

struct spares_options {
    const char *dir;
    uint64_t bytes;
    unsigned reserve;
    atomic_bool *low;
    struct inodes *logs; /* files that are no spares, whatever names they have; added to */
};

/* Takes stock of the files in the directory and starts the maker. IO, NOMEM. */
int spares_init(struct spares *p, struct disk *d, const struct spares_options *o);
/* Waits for the maker: at most for the few megabytes it is writing. */
void spares_fini(struct spares *p);

/* Takes a spare out: its path, and it open for writing. If there is none a file is made on the
 * spot, allocated but not written. With `plain` it is always a new file of no size, for a log that
 * is not committed to element by element. FULL, IO. */
int spares_take(struct spares *p, bool plain, char ret_path[PATH_MAX], int *ret_fd);

/* Moves a file here that nobody needs any more; false if the caller should unlink it. Nobody is
 * offered the file yet: it may have its old name after a loss of power, and its old content then.
 * The caller offers it when that name is gone for good. If that cannot be had the file stays as it
 * is, for the next start to see what has become of it. */
bool spares_receive(struct spares *p, const char *path, uint64_t *ret_number);
void spares_offer(struct spares *p, uint64_t number);

/* Gives up one spare for its space. False if there is none. */
bool spares_drop(struct spares *p);

/* Between the two the maker takes nothing back of what spares_drop gave up. The first waits for the
 * one that is being made. */
void spares_lend(struct spares *p);
void spares_return(struct spares *p);

/* How many are ready; for tests. */
unsigned spares_count(struct spares *p);

#endif
