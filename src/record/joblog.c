/* SPDX-License-Identifier: MIT */
#include "record/joblog.h"

#include "record/limits.h"

#define LINE_COST 16 /* bytes of a line beside its text, at most */

struct wire_reader joblog_reader(struct str log)
{
    struct wire_reader r = wire_reader_of(log);

    if (log.len > 0)
        wire_varint(&r);
    return r;
}

bool joblog_next(struct wire_reader *r, struct job_line *ret)
{
    struct job_line line;

    if (r->bad || r->p >= r->end)
        return false;
    line.at_ms = wire_zigzag(r);
    line.attempt = (uint32_t)wire_varint(r);
    line.text = wire_bytes(r);
    if (!r->bad)
        *ret = line;
    return !r->bad;
}

uint32_t joblog_left_out(struct str log)
{
    struct wire_reader r = wire_reader_of(log);
    uint64_t n = log.len > 0 ? wire_varint(&r) : 0;

    return r.bad ? 0 : (uint32_t)n;
}

uint32_t joblog_count(struct str log)
{
    struct wire_reader r = joblog_reader(log);
    struct job_line line;
    uint32_t n = 0;

    while (joblog_next(&r, &line))
        n++;
    return n;
}

/* Whether a log of so many lines and bytes is too large. */
static bool is_over(uint32_t lines, size_t bytes)
{
    return lines > LINES_MAX || bytes > LOG_MAX_BYTES;
}

void joblog_append(struct buf *out, struct str log, const struct job_line *more)
{
    struct wire_reader r = joblog_reader(log);
    uint32_t lines = joblog_count(log) + 1, gone = 0;
    size_t added = more->text.len + LINE_COST;
    struct job_line line;

    while (is_over(lines - gone, (size_t)(r.end - r.p) + added) && joblog_next(&r, &line))
        gone++;
    wire_put_varint(out, (uint64_t)joblog_left_out(log) + gone);
    if (!r.bad && r.p < r.end)
        buf_append(out, r.p, (size_t)(r.end - r.p));
    wire_put_zigzag(out, more->at_ms);
    wire_put_varint(out, more->attempt);
    wire_put_bytes(out, more->text);
}
