/* SPDX-License-Identifier: MIT */
/*
 * Records as files, DIR/records/NAME with '+' for each '/' (no name has a '+', and records "a" and
 * "a/b" can then both exist).
 *
 *     +----------+---------+----------+-----------+---------+---------+------+-------+----------+
 *     | BELFRYRC | version | name len | value len | record  | expires | name | value | checksum |
 *     | 8        | u32     | u32      | u32       | version | i64     |      |       | u64      |
 *     |          |         |          |           | u64     |         |      |       |          |
 *     +----------+---------+----------+-----------+---------+---------+------+-------+----------+
 */
#ifndef STORE_RECORDFILE_H
#define STORE_RECORDFILE_H

#include "store/disk.h"
#include "store/recordset.h"

/* Reads all records of a directory into `ret`. CORRUPT with the file's name, IO, NOMEM. A file of
 * an unfinished write is left out, and unlinked if `sweep`. */
int recordfile_load(const char *dir, bool sweep, struct recordset *ret);

/* Writes one, up to the step that puts it in place: the caller does that (recordfile_place) with
 * the lock held that appends are fenced by. FULL, IO. */
int recordfile_write(struct disk *d, const char *dir, const struct store_record *record);
int recordfile_place(const char *dir, struct str name);

#endif
