/* SPDX-License-Identifier: MIT */
/*
 * Records in memory, sorted by name: the whole of the memory store's records, and the file store's
 * cache of its record files. Not thread-safe: the owner locks.
 */
#ifndef STORE_RECORDSET_H
#define STORE_RECORDSET_H

#include "store/store.h"

struct recordset_item {
    struct store_record record; /* its slices point into `bytes` */
    char bytes[];
};

struct recordset {
    struct recordset_item **items;
    size_t count;
    size_t cap;
};

void recordset_fini(struct recordset *set);

/* The version it has at that moment; 0 if it is absent or has expired. */
uint64_t recordset_version(const struct recordset *set, struct str name, int64_t now_ms);

/* A private copy, and room for it in the set, so that recordset_put cannot fail: a backend prepares
 * before it writes. NOMEM. Free it with free() if it is not put. */
int recordset_prepare(struct recordset *set, const struct store_record *record,
                      struct recordset_item **ret);
/* Takes the item over, in place of an item with its name. */
void recordset_put(struct recordset *set, struct recordset_item *item);

/* Removes one, if it is there. */
void recordset_drop(struct recordset *set, struct str name);

/* Adds copies of those with the prefix that have not expired to `ret`. NOMEM. */
int recordset_copy(const struct recordset *set, struct str prefix, int64_t now_ms,
                   struct recordset *ret);
int recordset_each(const struct recordset *set, store_record_fn *fn, void *arg);

#endif
