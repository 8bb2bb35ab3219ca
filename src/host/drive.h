/* SPDX-License-Identifier: MIT */
/*
 * Drives a partition on the calling thread, without a loop or other threads: chores run where they
 * begin. For users that may block, and for tests, which own the time.
 */
#ifndef HOST_DRIVE_H
#define HOST_DRIVE_H

#include "partition/partition.h"

/* A chore ended: err is 0 or the answer of partition_chore_done, store_detail() says more. */
typedef void drive_chore_fn(void *arg, const char *name, int err);

/* A slice of work, then one chore of each kind. True: something was done, and there may be more. */
bool drive_round(struct partition *p, drive_chore_fn *ended, void *arg);

/* Rounds, with everything committed after each, until nothing is left to be done. Answers as
 * partition_flush; BUSY: there still was something after so many rounds. */
int drive_settle(struct partition *p, int rounds_max, drive_chore_fn *ended, void *arg);

/* A request answered COLD: fetches what it needs, after ending the fetch in *f, if there is one. 0:
 * the request is to be executed again, and may answer COLD once more. Else an error for it. In both
 * cases drive_fetch_end is to be called when the answer has been looked at. */
int drive_fetch(struct partition *p, struct fetch **f);
/* Also if there is none. */
void drive_fetch_end(struct partition *p, struct fetch **f);

#endif
