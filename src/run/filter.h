/* SPDX-License-Identifier: MIT */
/*
 * A blocked Bloom filter: the hash chooses 64 bytes, and FILTER_PROBES bits in them, so that a
 * question costs one or two cache lines. About ten bits for each item: one answer in a hundred is
 * wrong, and then it is "yes"; made for twice as many items, one in two thousand. Bytes are the
 * same on disk and in memory, any multiple of 64.
 */
#ifndef RUN_FILTER_H
#define RUN_FILTER_H

#include "base/buf.h"

#define FILTER_BITS   10 /* for each item */
#define FILTER_PROBES 6
#define FILTER_BLOCK  64u

/* All zeros, in the size for so many items. False if there is no memory. */
bool filter_init(struct buf *f, uint64_t items);
void filter_add(struct buf *f, uint64_t hash);

#endif
