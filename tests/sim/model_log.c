/* SPDX-License-Identifier: MIT */
#include "sim/model_log.h"

#include "record/joblog.h"
#include "record/limits.h"
#include "sim/text.h"

void model_log_add(struct model_log *log, struct model_line line)
{
    log->last[log->count++ % MODEL_LINES] = line;
}

static uint32_t lines_kept(const struct model_log *log)
{
    return log->count < LINES_MAX ? log->count : LINES_MAX;
}

uint64_t model_log_bytes(const struct model_log *log)
{
    return lines_kept(log) * (uint64_t)MODEL_LINE_MOST;
}

bool model_log_is(const struct model_log *log, struct str bytes)
{
    struct wire_reader r = joblog_reader(bytes);
    uint32_t n = joblog_left_out(bytes);
    struct job_line line;

    if (n != log->count - lines_kept(log))
        return false;
    for (; joblog_next(&r, &line); n++) {
        const struct model_line *m = &log->last[n % MODEL_LINES];

        if (log->count - n <= MODEL_LINES &&
            (line.at_ms != m->at_ms || line.attempt != m->attempt ||
             !text_is(line.text, TEXT_NOTE, m->text)))
            return false;
    }
    return n == log->count;
}
