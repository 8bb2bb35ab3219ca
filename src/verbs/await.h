/* SPDX-License-Identifier: MIT */
/* Requests that wait for the end of a job. */
#ifndef VERBS_AWAIT_H
#define VERBS_AWAIT_H

#include "base/id.h"

/* A request that waits for the end of a job. It is executed in steps: the verb's handler names the
 * job, and later steps look at the job again. */
struct await {
    struct job_id id; /* seq 0: the request waits for no job */
    int64_t until_ms; /* on the engine's monotonic clock; then its state so far is shown */
    bool made;        /* an error must not hide the job, which the request has made or waited for */
};

/* How a reply shows a job. */
enum awaited_reply { REPLY_PLAIN, REPLY_AWAITED /* it has ended */, REPLY_SO_FAR };

#endif
