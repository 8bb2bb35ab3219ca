/* SPDX-License-Identifier: MIT */
/*
 * Cells in memory, sorted by name: all cells of a memory store, and the file store's cache of its
 * cell files. Not thread-safe: the owner locks.
 */
#ifndef STORE_CELLSET_H
#define STORE_CELLSET_H

#include "store/names.h"

struct cellset {
    struct nameset cells;
};

void cellset_fini(struct cellset *set);

/* Answers `err` unless the cell has the version `expect`, or is absent or expired if that is 0. */
int cellset_check(const struct cellset *set, struct str name, int64_t now_ms, uint64_t expect,
                  int err);

/* Makes a private copy, and room for it in the set, so that cellset_put cannot fail: a backend
 * prepares before it writes. NOMEM. The caller frees a copy that it does not put with free(). */
int cellset_prepare(struct cellset *set, const struct store_cell *cell, struct store_cell **ret);
/* Takes the copy over, in place of a cell with its name. */
void cellset_put(struct cellset *set, struct store_cell *copy);

/* Prepares a copy and puts it. NOMEM. */
int cellset_add(struct cellset *set, const struct store_cell *cell);

/* Removes a cell, if it is there. */
void cellset_drop(struct cellset *set, struct str name);

/* Adds copies of the cells with the prefix that have not expired to `ret`. NOMEM. */
int cellset_copy(const struct cellset *set, struct str prefix, int64_t now_ms, struct cellset *ret);
int cellset_each(const struct cellset *set, store_cell_fn *fn, void *arg);

#endif
