/* SPDX-License-Identifier: MIT */
/* A blocked Bloom filter: the hash chooses 64 bytes, and FILTER_PROBES bits in them, so that a
 * question costs one or two cache lines. With about ten bits for each item one answer in a hundred
 * is a wrong "yes"; with twice as many bits one in two thousand. The bytes on disk are those in
 * memory, any multiple of 64. */
#ifndef RUN_FILTER_H
#define RUN_FILTER_H

#include "base/buf.h"

#define FILTER_BITS   10 /* for each item */
#define FILTER_PROBES 6
#define FILTER_BLOCK  64u

/* All zeros, in the size for `items` items. False if there is no memory. */
bool filter_init(struct buf *f, uint64_t items);
void filter_add(struct buf *f, uint64_t hash);

#endif
