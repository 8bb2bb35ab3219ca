/* SPDX-License-Identifier: MIT */
/*
 * Drives a partition on the calling thread, without a loop or other threads: chores run where they
 * begin. For tests, which own the time.
 */
#ifndef TESTS_DRIVE_H
#define TESTS_DRIVE_H

#include "partition/partition.h"

/* A chore ended: err is the answer of partition_chore_done, and store_detail() says more. */
typedef void drive_chore_fn(void *arg, const char *name, int err);

/* Does a slice of work, then one chore of each kind. True: there was work, and there may be more.
 */
bool drive_round(struct partition *p, drive_chore_fn *ended, void *arg);

/* Makes rounds, and commits after each, until no work is left. Answers as partition_flush; BUSY:
 * there still was work after so many rounds. */
int drive_settle(struct partition *p, int rounds_max, drive_chore_fn *ended, void *arg);

/* Fetches the item for which a request answered COLD, after ending the fetch in *f, if any. 0: the
 * caller executes the request again, and that may answer COLD once more. Otherwise the error is the
 * answer. In both cases the caller calls drive_fetch_end when it has looked at the answer. */
int drive_fetch(struct partition *p, struct fetch **f);
/* Accepts *f == NULL. */
void drive_fetch_end(struct partition *p, struct fetch **f);

#endif
