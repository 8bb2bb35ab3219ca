/* SPDX-License-Identifier: MIT */
/*
 * Cells as files. The file of a cell is DIR/records/NAME with '+' for each '/'. No name has a '+',
 * and cells "a" and "a/b" can then both exist.
 *
 *     +----------+---------+----------+-----------+---------+---------+------+-------+----------+
 *     | BELFRYRC | version | name len | value len | cell    | expires | name | value | checksum |
 *     | 8        | u32     | u32      | u32       | version | i64     |      |       | u64      |
 *     |          |         |          |           | u64     |         |      |       |          |
 *     +----------+---------+----------+-----------+---------+---------+------+-------+----------+
 */
#ifndef STORE_CELLFILE_H
#define STORE_CELLFILE_H

#include "store/disk.h"
#include "store/cellset.h"

/* Reads all cells of a directory into `ret`. CORRUPT with the name of the file, IO, NOMEM. The file
 * of an unfinished write is left out, and unlinked if `sweep`. */
int cellfile_load(const char *dir, bool sweep, struct cellset *ret);

/* Writes a cell beside its place, durably. FULL, IO. The caller then puts it in its place, with the
 * lock held that appends are fenced by. */
int cellfile_write(struct disk *d, const char *dir, const struct store_cell *cell);
int cellfile_place(const char *dir, struct str name);

#endif
