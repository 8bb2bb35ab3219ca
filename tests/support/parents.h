/* SPDX-License-Identifier: MIT */
/* Helpers for tests of jobs that wait for others. */
#ifndef TESTS_PARENTS_H
#define TESTS_PARENTS_H

#include "support/waits.h"

struct job_id job(const char *queue);
/* A job that waits for others. */
struct job_id after_all(const char *queue, const struct job_id *parents, size_t n,
                        enum after_fail fail);
struct job_id after(const char *queue, struct job_id parent, enum after_fail fail);
/* One of queue q, which is cancelled with its parent. */
struct job_id waits_for(struct job_id parent);
/* Such a job is refused, and nothing changes: answers the error. */
int refused(const struct job_id *parents, size_t n);
/* Leases a job of the queue, which has one. */
struct job_view take(const char *queue);
void cancel(struct job_id id);

#endif
