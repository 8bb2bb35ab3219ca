/* SPDX-License-Identifier: MIT */
/*
 * The attempts of a job that its trail remembers (trail_image.history), oldest first:
 *
 *     +---------+---------+- - -          at most ATTEMPTS_FIRST, and none was left out
 *     | attempt | attempt |
 *     +---------+---------+- - -
 *
 *     +---+----------+-------+-------------+---------+- - -+- - -+---------+
 *     | 0 | left out | count | first bytes | attempt | ...   ... | attempt |
 *     +---+----------+-------+-------------+---------+- - -+- - -+---------+
 *                                            first attempts  last attempts
 *
 * The head has four varints. Its 0 tells it from an attempt, whose number is 1 or more. Attempts
 * that were left out would stand between the first and the last ones. So one more attempt is
 * appended without a look at the others.
 */
#ifndef RECORD_ATTEMPTS_H
#define RECORD_ATTEMPTS_H

#include "base/buf.h"
#include "base/wire.h"
#include "record/jobstate.h"

#define ATTEMPTS_FIRST        10 /* attempts that stay, however many follow */
#define ATTEMPTS_KEPT_DEFAULT 100
#define ATTEMPTS_KEPT_MAX     1000

/* How many attempts of a history were left out. */
uint32_t attempts_left_out(struct str history);
/* How many attempts attempts_next will give. */
size_t attempts_count(struct str history);

/* The first attempt that attempts_next gives is the oldest. */
struct wire_reader attempts_reader(struct str history);
/* False: there is no further attempt. */
bool attempts_next(struct wire_reader *r, struct attempt *ret);
/* The newest attempt; false: there is none. */
bool attempts_last(struct str history, struct attempt *ret);

/* How many of the first attempts stay if `kept` attempts do. */
static inline uint32_t attempts_first(uint32_t kept)
{
    return kept / 2 < ATTEMPTS_FIRST ? kept / 2 : ATTEMPTS_FIRST;
}

/* Appends to `out` a history and one more attempt. At most `kept` attempts stay: the first
 * attempts_first(kept), and the last. 0 is for records of older versions: the last ten stay, as far
 * as they fit into 4096 bytes. */
void attempts_append(struct buf *out, struct str history, const struct attempt *more,
                     uint32_t kept);

#endif
