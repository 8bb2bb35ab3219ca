/* SPDX-License-Identifier: MIT */
/*
 * Reading damaged logs of a file store, for `belfry check` and `belfry repair`.
 *
 * Repair reads with store_salvage, and writes the elements that it keeps to a salvage, which takes
 * the place of the log at commit. The damaged file becomes DIR/damaged/NAME.N ('+' for each '/').
 */
#ifndef STORE_SALVAGE_H
#define STORE_SALVAGE_H

#include "store/store.h"

/* Is told of a stretch of a file without a whole element. 0 goes on. */
typedef int store_damage_fn(void *arg, uint64_t offset, uint64_t bytes, const char *what);

/* Gives every whole element with its number, and every damaged stretch, a torn tail included, in
 * the order of the file. `damaged` may be NULL. Changes nothing and takes no lock. CORRUPT if
 * header and copy are both damaged. NOTFOUND, IO, NOMEM, or the answer of a callback. */
int store_salvage(const char *dir, struct str log, store_element_fn *fn, store_damage_fn *damaged,
                  void *arg);

struct salvage;

/* Starts a replacement for the log, and locks the store until salvage_free. LOCKED, NOTFOUND (no
 * such log), IO, FULL. */
int salvage_new(const char *dir, struct str log, struct salvage **ret);
/* Adds an element. The elements of a salvage are numbered from 0. */
int salvage_put(struct salvage *s, struct str element);
/* Puts the new file in the place of the log, durably. ret_kept (NULL, or PATH_MAX bytes) is the
 * path of the old file. Until this succeeds the log is as it was. */
int salvage_commit(struct salvage *s, char *ret_kept);
void salvage_free(struct salvage *s); /* gives up what is not committed; accepts NULL */

#endif
