/* SPDX-License-Identifier: MIT */
/*
 * The log of a job: lines that its workers added (trail_image.log), oldest first:
 *
 *     +-------------------+------+------+- - -
 *     | left out (varint) | line | line |
 *     +-------------------+------+------+- - -
 *
 * A line has its moment (zigzag), its attempt (varint) and its text (length and bytes). The log
 * keeps the last LINES_MAX lines, as far as they fit into LOG_MAX_BYTES. `left out` counts the
 * lines that went before them.
 */
#ifndef RECORD_JOBLOG_H
#define RECORD_JOBLOG_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/wire.h"

struct job_line {
    int64_t at_ms;
    uint32_t attempt;
    struct str text;
};

/* Appends to `out` a log, which may be empty, and one more line. */
void joblog_append(struct buf *out, struct str log, const struct job_line *more);
/* How many lines went before those that the log has. */
uint32_t joblog_left_out(struct str log);
/* How many lines joblog_next will give. */
uint32_t joblog_count(struct str log);
/* The first line that joblog_next gives is the oldest. */
struct wire_reader joblog_reader(struct str log);
/* False: there is no further line. */
bool joblog_next(struct wire_reader *r, struct job_line *ret);

#endif
