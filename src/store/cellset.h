/* SPDX-License-Identifier: MIT */
/*
 * Cells in memory, sorted by name: the whole of the memory store's cells, and the file store's
 * cache of its cell files. Not thread-safe: the owner locks.
 */
#ifndef STORE_CELLSET_H
#define STORE_CELLSET_H

#include "store/store.h"

struct cellset_item {
    struct store_cell cell; /* its slices point into `bytes` */
    char bytes[];
};

struct cellset {
    struct cellset_item **items;
    size_t count;
    size_t cap;
};

void cellset_fini(struct cellset *set);

/* The version it has at that moment; 0 if it is absent or has expired. */
uint64_t cellset_version(const struct cellset *set, struct str name, int64_t now_ms);

/* A private copy, and room for it in the set, so that cellset_put cannot fail: a backend prepares
 * before it writes. NOMEM. Free it with free() if it is not put. */
int cellset_prepare(struct cellset *set, const struct store_cell *cell, struct cellset_item **ret);
/* Takes the item over, in place of an item with its name. */
void cellset_put(struct cellset *set, struct cellset_item *item);

/* Removes one, if it is there. */
void cellset_drop(struct cellset *set, struct str name);

/* Adds copies of those with the prefix that have not expired to `ret`. NOMEM. */
int cellset_copy(const struct cellset *set, struct str prefix, int64_t now_ms, struct cellset *ret);
int cellset_each(const struct cellset *set, store_cell_fn *fn, void *arg);

#endif
