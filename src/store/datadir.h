/* SPDX-License-Identifier: MIT */
/*
 * The data directory of a file store: whose it is, and which format it has.
 *
 *     DIR/lock      held by flock while a process has the store open; holds its pid
 *     DIR/format    "belfry store 1"
 *     DIR/logs/     NAME.log, with directories for the parts of a name
 *     DIR/records/  cellfile.h
 *     DIR/spare/    spare.h
 *     DIR/damaged/  what repair has replaced
 */
#ifndef STORE_DATADIR_H
#define STORE_DATADIR_H

#include <limits.h>

#include "store/disk.h"
#include "store/inodes.h"
#include "store/names.h"

#define DATADIR_FORMAT 1

/* Makes the directory if need be, locks it, checks the format. ret_lock is to be closed (which
 * unlocks). INVALID (path too long), LOCKED, CORRUPT (not ours, or newer), IO, FULL. */
int datadir_open(struct disk *d, const char *dir, int *ret_lock);

/* Looks only. NOTFOUND, CORRUPT, IO. */
int datadir_check(const char *dir);

/* Makes what an earlier process did to the names of logs and cells last, removals too: it may
 * have been killed before it had. Adds the files that are logs to `ret`. IO, NOMEM. */
int datadir_settle(struct disk *d, const char *dir, struct inodes *ret);

/* The path of a log's file. Names are valid, so it fits if datadir_open or datadir_check did. */
void datadir_log_path(const char *dir, struct str log, char ret[PATH_MAX]);

/* Adds the names of logs with a prefix, in no order. IO, NOMEM. */
int datadir_list(const char *dir, struct str prefix, struct names *ret);

#endif
