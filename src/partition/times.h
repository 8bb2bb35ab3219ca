/* SPDX-License-Identifier: MIT */
/* Rules that a census asks for their times; off the engine's thread. */
#ifndef PARTITION_TIMES_H
#define PARTITION_TIMES_H

#include "engine/times.h"
#include "recur/zonecache.h"

/* The cost of one rule. The loop does not wait for it, so it is more than that of PREVIEW. */
#define CENSUS_RULE_COST (10 * RECUR_COST_MAX)

/* Collects the times of the next recurrence of the reader. Returns the cost. */
uint64_t times_rule_count(struct census *c, struct zonecache *zones, struct wire_reader *in,
                          uint16_t partition);

#endif
