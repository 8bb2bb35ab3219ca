/* SPDX-License-Identifier: MIT */
/* Repairing the small records of a data directory: its layout, and the owners of partitions. */
#ifndef FSCK_RECORDS_H
#define FSCK_RECORDS_H

#include "fsck/journal.h"
#include "store/disk.h"

/* Puts a file aside that a server would remove or refuse. It is kept as DIR/damaged/NAME.N,
 * durably, with a '+' for each slash in `name`. The caller holds the directory's lock. ret_kept is
 * the new path. IO, FULL, with store_detail(). */
int records_keep(struct disk *d, const char *dir, const char *path, const char *name,
                 char ret_kept[PATH_MAX]);

/* Moves records that cannot be read to DIR/damaged and says so; with `dry` it only says so. Sets
 * *ret_any if there are any. LOCKED, IO, with store_detail(). */
int records_set_aside(const char *dir, bool dry, bool *ret_any);

/* Writes the owner record of a partition anew, after its journal was repaired. The record tells of
 * the journal's new end. If it was missing or behind, it gets an epoch beyond any in the journal,
 * so that no token is given twice. LOCKED, IO, FULL. */
int records_restore_owner(const struct journal *j, bool dry);

#endif
