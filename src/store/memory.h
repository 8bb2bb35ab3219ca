/* SPDX-License-Identifier: MIT */
/*
 * The store in memory: the reference for the contract, and what the simulator runs on.
 *
 * It remembers which elements were asked to be durable, and it can hold a torn element at the end
 * of a log, so that the fault wrapper can leave behind what a real crash would.
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/store.h"

/* For the table in store.c. `path` must be empty. */
int memory_open(const char *path, const struct store_options *o, struct store **ret);

/* Replaces the wall clock, e.g. by virtual time. Call it before the store is used. */
void memory_set_clock(struct store *s, int64_t (*clock)(void *arg), void *arg);

/* What append would answer now, without doing it. */
int memory_check(struct store *s, const struct store_append *a);

/* A write went wrong: leaves `torn_bytes` of a half-written element (0: as it is) at the end
 * of the log, which is made if it does not exist and torn_bytes > 0. Appends answer IO until
 * `sync`. */
int memory_tear(struct store *s, struct str name, uint64_t torn_bytes);

/* A cell is gone, as if its file had been removed. */
void memory_forget(struct store *s, struct str cell);

/* A loss of power: of each log's elements that were never made durable a random number is kept, the
 * first ones; a log that keeps none vanishes. `pick` gives a number in [0, bound]. */
void memory_lose(struct store *s, uint64_t (*pick)(void *arg, uint64_t bound), void *arg);

#endif
