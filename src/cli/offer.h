/* SPDX-License-Identifier: MIT */
/* A job as LEASE offers it to a worker: the map at index `at` of the reply. */
#ifndef CLI_OFFER_H
#define CLI_OFFER_H

#include "cli/client.h"
#include "cli/task.h"

/* Everything that the job's command is told, borrowed from the reply. */
void offer_read(const struct resp_values *v, size_t at, struct task_job *ret);

/* The length of the lease: as the server tells, or else the time left by our clock. */
int64_t offer_lease_ms(const struct resp_values *v, size_t at);

#endif
