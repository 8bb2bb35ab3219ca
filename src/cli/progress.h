/* SPDX-License-Identifier: MIT */
/* A bar on standard error, if that is a terminal, for something that takes a while. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *name;
    uint64_t total;
    int64_t begun_us;
    int64_t shown_us;
    bool on;
};

void progress_begin(struct progress *p, const char *name, uint64_t total, bool quiet);
/* Draws at most ten times a second. */
void progress_show(struct progress *p, uint64_t done);
/* Clears the line. */
void progress_end(struct progress *p);

#endif
