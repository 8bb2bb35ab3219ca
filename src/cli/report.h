/* SPDX-License-Identifier: MIT */
/* The lines of `belfry work` on standard error: text, or objects of JSON with an `event` each. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/client.h"
#include "cli/task.h"
#include "cli/worker.h"

struct report {
    const struct worker_options *o;
    int64_t began_ms; /* monotonic */
    uint64_t done, failed, dead, released, lost;
};

/* The first line, and the last. */
void report_begin(struct report *r, const struct worker_options *o, int64_t now_ms);
void report_end(const struct report *r, int64_t now_ms);

/* Jobs that ended after `took_ms`. */
void report_done(struct report *r, const struct task *t, int64_t took_ms);
void report_released(struct report *r, const struct task *t, int64_t took_ms, bool later);
void report_lost(struct report *r, const struct task *t, int64_t took_ms);

/* Appends the beginning of the line about a failed attempt. report_next completes the line when
 * FAIL is answered. */
void report_failed(struct report *r, const struct task *t, int64_t took_ms, struct buf *ret_note);
/* Completes the line: the answer of FAIL says what happens next. v NULL: the server is away. */
void report_next(struct report *r, struct str note, const struct resp_values *v);

#endif
