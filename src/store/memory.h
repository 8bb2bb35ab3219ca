/* SPDX-License-Identifier: MIT */
/*
 * The store in memory: the reference for the contract, and the store of the simulator.
 *
 * It knows which elements are durable, and can have a torn element at the end of a log. So a
 * wrapper of the tests can leave it as a real crash would.
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/store.h"

/* For the table in store.c. `path` must be empty. */
int memory_open(const char *path, const struct store_options *o, struct store **ret);

/* Replaces the wall clock, e.g. by virtual time. Call it before the store is used. */
void memory_set_clock(struct store *s, int64_t (*clock)(void *arg), void *arg);

/* Answers as append would, and changes nothing. */
int memory_check(struct store *s, const struct store_append *a);

/* Leaves the log as a failed write does. Its end has `torn_bytes` of a half-written element (0:
 * none), and it refuses appends with IO until `sync`. Makes the log if it does not exist and
 * torn_bytes > 0. */
int memory_tear(struct store *s, struct str name, uint64_t torn_bytes);

/* Removes a cell, as if its file had been removed. */
void memory_forget(struct store *s, struct str cell);

/* A loss of power. A log keeps its durable elements and a random number of those behind them. A log
 * that keeps no element vanishes. `pick` gives a number in [0, bound]. */
void memory_lose(struct store *s, uint64_t (*pick)(void *arg, uint64_t bound), void *arg);

#endif
