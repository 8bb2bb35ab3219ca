/* SPDX-License-Identifier: MIT */
/* How long a PING takes while others load the server. One connection sends a PING at fixed moments,
 * answered or not. So all pings of a second see a server that stands still for that second. The
 * lateness of the timer is measured, too. */
#ifndef CLI_PING_H
#define CLI_PING_H

#include "cli/load.h"

struct ping_result {
    struct load_result load; /* latency: from sending to the answer */
    struct hist timer;       /* microseconds */
};

/* Sends `count` pings, or fewer if load_interrupt() is called. Of `o` only the address and the
 * members about parts count. Blocks. 0, or an error with ret->load.why. */
int ping_measure(const struct load_options *o, uint64_t count, int64_t every_ms,
                 struct ping_result *ret);

#endif
