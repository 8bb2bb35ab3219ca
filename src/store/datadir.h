/* SPDX-License-Identifier: MIT */
/*
 * The data directory of a file store: its lock and its format.
 *
 *     DIR/lock      held by flock while a process has the store open; holds its pid
 *     DIR/format    "belfry store 1"
 *     DIR/logs/     NAME.log, with directories for the parts of a name
 *     DIR/records/  cellfile.h
 *     DIR/spare/    spare.h
 *     DIR/damaged/  files that repair has replaced
 */
#ifndef STORE_DATADIR_H
#define STORE_DATADIR_H

#include <limits.h>

#include "store/disk.h"
#include "store/inodes.h"
#include "store/names.h"

#define DATADIR_FORMAT 1

/* Makes the directory if need be, locks it, and checks the format. The caller closes ret_lock,
 * which unlocks. INVALID (path too long), LOCKED, CORRUPT (not a store, or newer), IO, FULL. */
int datadir_open(struct disk *d, const char *dir, int *ret_lock);

/* Checks the format, and changes nothing. NOTFOUND, CORRUPT, IO. */
int datadir_check(const char *dir);

/* Syncs the directories of logs and cells: an earlier process may have been killed between a change
 * of a name and its sync. Adds the files that are logs to `ret`. IO, NOMEM. */
int datadir_settle(struct disk *d, const char *dir, struct inodes *ret);

/* The path of the file of a log. It fits, if datadir_open or datadir_check accepted `dir`. */
void datadir_log_path(const char *dir, struct str log, char ret[PATH_MAX]);

/* Adds the names of logs with a prefix, in no order. IO, NOMEM. */
int datadir_list(const char *dir, struct str prefix, struct names *ret);

#endif
