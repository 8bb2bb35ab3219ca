/* SPDX-License-Identifier: MIT */
/*
 * The committer: a thread that writes one commit at a time and says when it is done. While it is
 * busy, the next commit gathers, so that a slow disk makes commits larger, not slower.
 *
 * All calls come from the loop's thread.
 */
#ifndef HOST_COMMITTER_H
#define HOST_COMMITTER_H

#include <uv.h>

#include "partition/partition.h"

struct committer;

/* On the loop's thread: the commit was written (0), or failed for good. */
typedef void committer_done_fn(void *arg, struct commit *c, int result);

/* If sync_interval_ms is not 0, commits are not durable by themselves, and the thread syncs this
 * often. */
int committer_new(uv_loop_t *loop, int64_t sync_interval_ms, committer_done_fn *done, void *arg,
                  struct committer **ret);

/* Hands over a commit of p. No other commit may be under way. */
void committer_write(struct committer *c, struct partition *p, struct commit *commit);

/* Writes a commit on the calling thread, which saves two changes of thread. The committer must be
 * idle. This pays for a lone client while the disk is quick. Answers as commit_write. */
int committer_write_now(struct committer *c, struct commit *commit);
/* Whether the last writes took so little time that the loop may wait for the next. */
bool committer_is_quick(struct committer *c);

/* Whether a commit waits for space on the disk. */
bool committer_is_full(const struct committer *c);

/* Why the last write failed, or why a commit waits; "" if neither. Valid until the next call. */
const char *committer_detail(struct committer *c);

/* Waits for the write or sync under way, and forgets the partition. */
void committer_detach(struct committer *c);

/* Stops the thread. Accepts NULL. */
void committer_free(struct committer *c);

#endif
