/* SPDX-License-Identifier: MIT */
/*
 * Spare log files, DIR/spare/N. They are allocated and really written, so that a commit changes no
 * metadata and its fdatasync is one write to the disk. They are also the reserve for a full disk.
 *
 * A thread of its own, the maker, replaces spares that were taken. Files with a name that is not
 * all digits are unfinished; the next start sweeps them away. Calls may come from any thread.
 *
 * Invariant: a spare has no other name, neither now nor after a loss of power, unless it is unused.
 * The names in DIR/spare are never synced. So the name of a spare that was taken may be back after
 * a loss of power, as a second name of a log. Such a file is known by its inode.
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
    uint64_t bytes;   /* size of a spare */
    unsigned reserve; /* number of spares to keep ready */
    atomic_bool *low; /* the store's: fewer spares than reserve, and no space for another */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* there is something for the maker to do */
    uint64_t *ready;        /* the numbers of spares, room for reserve + 1 */
    unsigned count;
    uint64_t next_number;
    bool making;   /* the maker makes a spare, with the lock released */
    unsigned lent; /* writers that need the space of dropped spares; the maker waits for them */
    atomic_bool stop;
    bool running;
    pthread_t maker;
};

struct spares_options {
    const char *dir;
    uint64_t bytes;
    unsigned reserve;
    atomic_bool *low;
    struct inodes *logs; /* files that are no spares, whatever names they have; spares are added */
};

/* Takes stock of the files in the directory and starts the maker. IO, NOMEM. */
int spares_init(struct spares *p, struct disk *d, const struct spares_options *o);
/* Waits for the maker, which writes a few megabytes at most. */
void spares_fini(struct spares *p);

/* Takes a spare: its path, and a descriptor for writing. If there is none, a file is made on the
 * spot, allocated but not written. With `plain` it is a new, empty file, for a log that is not
 * synced element by element. FULL, IO. */
int spares_take(struct spares *p, bool plain, char ret_path[PATH_MAX], int *ret_fd);

/* Moves the file of a removed log here; false if the caller should unlink it. The file is no spare
 * yet: after a loss of power it may have its old name, and must have its old content. The caller
 * offers it when that name is gone for good. If that fails, the next start looks at the file. */
bool spares_receive(struct spares *p, const char *path, uint64_t *ret_number);
void spares_offer(struct spares *p, uint64_t number);

/* Removes a spare for its space. False if there is none. */
bool spares_drop(struct spares *p);

/* Between the two calls the maker takes no space. The first waits while a spare is made. */
void spares_lend(struct spares *p);
void spares_return(struct spares *p);

/* The number of spares that are ready. */
unsigned spares_count(struct spares *p);

#endif
