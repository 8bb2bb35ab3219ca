/* SPDX-License-Identifier: MIT */
/*
 * What can be had from a damaged log of a file store: for `belfry check` and `belfry repair`.
 *
 * Repair reads with store_salvage, decides what to keep, and writes that to a salvage, which takes
 * the log's place at commit. The damaged file is kept as DIR/damaged/NAME.N ('+' for each '/').
 */
#ifndef STORE_SALVAGE_H
#define STORE_SALVAGE_H

#include "store/store.h"

/* A stretch of a file that holds nothing whole. 0 to go on. */
typedef int store_damage_fn(void *arg, uint64_t offset, uint64_t bytes, const char *what);

/* Gives every whole element with the number it was written under (numbers are missing where
 * elements are), and every damaged stretch, a torn tail included, in the order of the file.
 * `damaged` may be NULL. Changes nothing and takes no lock. CORRUPT if header and copy are both
 * damaged: nothing can be told then. NOTFOUND, IO, NOMEM, or what a callback answered. */
int store_salvage(const char *dir, struct str log, store_element_fn *fn, store_damage_fn *damaged,
                  void *arg);

struct salvage;

/* Starts a replacement for the log, and locks the store until salvage_free. LOCKED, NOTFOUND (no
 * such log), IO, FULL. */
int salvage_new(const char *dir, struct str log, struct salvage **ret);
/* Adds an element; they are numbered from 0 again. */
int salvage_put(struct salvage *s, struct str element);
/* Puts the new file in the log's place, durable; ret_kept (may be NULL, PATH_MAX bytes) says where
 * the old one is. Until it succeeds the log is as it was. */
int salvage_commit(struct salvage *s, char *ret_kept);
void salvage_free(struct salvage *s); /* gives up what is not committed; accepts NULL */

#endif
