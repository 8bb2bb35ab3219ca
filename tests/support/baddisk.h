/* SPDX-License-Identifier: MIT */
/* A file store on a disk that fails on demand, and that tells which directories were synced. */
#ifndef TESTS_BADDISK_H
#define TESTS_BADDISK_H

#include "support/filestore.h"

#include <errno.h>

#include "store/inodes.h"

/* A disk that fails on demand. Hooks have no argument, so this is global. */
struct baddisk {
    atomic_int write_errno; /* 0: works */
    atomic_int write_some;  /* bytes that a failing write takes first */
    atomic_int sync_errno;
    atomic_int dir_errno;
    atomic_bool short_writes; /* one byte less than asked for, each time */
    atomic_int syncs;
    atomic_int writes;
    struct store *watched; /* NULL, or whose spares are counted when a directory is synced */
    unsigned spares;       /* as it was then */
    struct inodes dirs;    /* directories that were synced since that was set */
};

extern struct baddisk disk;
extern const struct disk_hooks bad_disk; /* what a store on it has to use */

void wait_for_spares(struct store *s, unsigned count);

/* Whether a directory was synced since disk.watched was set. */
bool was_synced(const struct fixture *x, const char *dir);
int setup_bad_disk(void **state);

#endif
