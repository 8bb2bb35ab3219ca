/* SPDX-License-Identifier: MIT */
/*
 * The jobs that a rate has counted.
 *
 * A rate of `count` in `per_ms` allows at most `count` jobs in any `per_ms` milliseconds. With a
 * burst it allows `burst` jobs in any part of the period that is proportional:
 *
 *     100 in 1 s             100 in any 1000 ms    all may go at once, the next after a second
 *     100 in 1 s, burst 10    10 in any  100 ms    so also 100 in any second
 *
 * The log has parts: jobs that were given between two moments. A part counts until its last job is
 * as old as the period. So the log may count a job longer than it must, but never shorter. While
 * there is room each moment has a part of its own, and a rate of up to RATE_PARTS is exact. If
 * there is no room, the two parts that are nearest together become one. Half of RATE_PARTS pairs
 * share the period, so a part is never longer than about a thirtieth of it.
 */
#ifndef RECORD_RATELOG_H
#define RECORD_RATELOG_H

#include "base/buf.h"
#include "record/settings.h"

/* Whether the burst divides the count, and goes at most once in a millisecond. */
bool rate_burst_is_valid(const struct rate *r);

/* When a job may be given; 0: now. There is no limit if the count of the rate is 0. */
int64_t rate_moment(const struct rate_log *l, const struct rate *r, int64_t now_ms);
/* When a job with `ahead` others before it may be given, if all go as soon as they may; 0: now. */
int64_t rate_moment_behind(const struct rate_log *l, const struct rate *r, int64_t now_ms,
                           uint64_t ahead);
/* Counts a job. A moment before the last one is taken for the last one. */
void rate_count(struct rate_log *l, const struct rate *r, int64_t now_ms);
/* Moves the log from one clock to another. Jobs of the future were given now. */
void rate_shift(struct rate_log *l, const struct rate *r, int64_t from_now_ms, int64_t to_now_ms);

/* The stored form of its parts. */
void rate_put(struct buf *out, const struct rate_log *l);
/* False if the bytes are malformed. */
bool rate_get(struct str bytes, struct rate_log *ret);

#endif
