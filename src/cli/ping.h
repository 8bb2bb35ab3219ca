/* SPDX-License-Identifier: MIT */
/*
 * How long a PING takes while others load the server: one connection sends one at fixed moments,
 * whether or not the last has been answered, so that a server that stands still for a second is
 * seen by all of that second's pings. Beside it, how late the moments themselves came.
 */
#ifndef CLI_PING_H
#define CLI_PING_H

#include "cli/load.h"

struct ping_result {
    struct load_result load; /* latency: from sending to the answer */
    struct hist timer;       /* microseconds */
};

/* Sends `count` pings, or fewer if load_interrupt is called; of `o` only the address and what is
 * said of parts are looked at. Blocks. 0, or an error with ret->load.why. */
int ping_measure(const struct load_options *o, uint64_t count, int64_t every_ms,
                 struct ping_result *ret);

#endif
