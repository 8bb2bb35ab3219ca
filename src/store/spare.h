/* SPDX-License-Identifier: MIT */
/*
 * Spare log files, DIR/spare/N: allocated and really written, so that a commit changes no metadata
 * and its fdatasync is one write to the disk; and there when the disk is full.
 *
 * A thread of its own makes them, in the background, as they are taken. Files with a name that is
 * not all digits are unfinished, and swept away at the next start. Calls may come from any thread.
 */
#ifndef STORE_SPARE_H
#define STORE_SPARE_H

#include <limits.h>
#include <pthread.h>

#include "store/disk.h"
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
    bool stop;
    bool running;
    pthread_t maker;
};

/* Takes stock of what is in `dir`, starts the maker. IO, NOMEM. */
int spares_init(struct spares *p, struct disk *d, const char *dir, uint64_t bytes, unsigned reserve,
                atomic_bool *low);
/* Waits for the maker: at most for the few megabytes it is writing. */
void spares_fini(struct spares *p);

/* Takes a spare out: its path, and it open for writing. If there is none a file is made on the
 * spot, allocated but not written. With `plain` it is always a new file of no size, for a log that
 * is not committed to element by element. FULL, IO. */
int spares_take(struct spares *p, bool plain, char ret_path[PATH_MAX], int *ret_fd);

/* Gives a file that nobody needs any more: true if it was moved here, false if the caller should
 * unlink it. */
bool spares_give(struct spares *p, const char *path);

/* Gives up one spare for its space. False if there is none. */
bool spares_drop(struct spares *p);

/* How many are ready; for tests. */
unsigned spares_count(struct spares *p);

#endif
