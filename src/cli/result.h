/* SPDX-License-Identifier: MIT */
/* The results of a benchmark on standard output: lines for people, or the elements of a JSON array.
 * Each element is a line of its own and flushed at once, so that a program can follow. */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H

#include "cli/drain.h"
#include "cli/late.h"
#include "cli/load.h"
#include "cli/ping.h"

struct result {
    bool json;
    bool begun; /* JSON: the array is open */
    const struct target *target;
};

/* `more` is empty, or has further members of the JSON object, each with a comma before it. */
void result_load(struct result *r, const char *op, const struct load_options *o,
                 const struct load_result *l, struct str more);
void result_part(struct result *r, const char *op, uint64_t so_far, const struct load_result *part);
void result_late(struct result *r, const struct late_result *l, int64_t span_ms);
void result_ping(struct result *r, const struct ping_result *p);
void result_drain(struct result *r, const struct load_options *o, const struct drain_result *d);
/* Closes the array. */
void result_end(struct result *r);

#endif
