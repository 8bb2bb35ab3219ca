/* SPDX-License-Identifier: MIT */
/* Figures of the server's clients that verbs show. */
#ifndef VERBS_CLIENT_STATS_H
#define VERBS_CLIENT_STATS_H

#include <stdint.h>

struct client_stats {
    uint64_t strangers;   /* clients that have yet to show a token */
    uint64_t late;        /* strangers that were closed, as their time was over */
    uint64_t replaced;    /* strangers that were closed, as their place was needed */
    uint64_t refused;     /* tokens that were refused, as their tenant had too many clients */
    uint64_t limited;     /* requests that were refused by REQUESTS of a tenant */
    uint64_t bytes;       /* the size of all clients' buffers */
    uint64_t limit_bytes; /* the limit of `bytes` */
    uint64_t waits;       /* requests that had to wait for memory */
    uint64_t closed;      /* clients that were closed, as others needed their memory */
};

#endif
