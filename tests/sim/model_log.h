/* SPDX-License-Identifier: MIT */
/* The log of a job as the model knows it: how many lines came, and the last of them. */
#ifndef SIM_MODEL_LOG_H
#define SIM_MODEL_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define MODEL_LINES     4
#define MODEL_LINE_MOST 48 /* bytes of a line in a job's image, at most */

struct model_log {
    uint32_t count;
    struct model_line {
        int64_t at_ms;
        uint32_t attempt;
        uint32_t text;
    } last[MODEL_LINES]; /* line n at n % MODEL_LINES */
};

void model_log_add(struct model_log *log, struct model_line line);
/* The most bytes that its lines take. */
uint64_t model_log_bytes(const struct model_log *log);
/* Whether the log of a view has these lines. */
bool model_log_is(const struct model_log *log, struct str bytes);

#endif
