/* SPDX-License-Identifier: MIT */
/* The figures of a server and its queues at a moment, for `belfry top`. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include "cli/client.h"

/* The figures of the server, or of a queue: the map at index `at` of a reply. Borrowed. */
struct figures {
    const struct resp_values *v;
    size_t at;
};

/* A reply that is kept. */
struct snapshot_reply {
    struct buf bytes;
    struct resp_values values;
};

struct snapshot {
    struct snapshot_reply stats, list; /* of STATS and QUEUES */
    struct figures server;
    struct figures *queues; /* by name, as the server gives them, until the caller sorts them */
    size_t n;
    int64_t at_us; /* monotonic */
};

/* Asks with STATS and QUEUES of all tenants. Blocks. NULL after an error, with c->why. */
struct snapshot *snapshot_new(struct client *c);
void snapshot_free(struct snapshot *s);

/* That queue in this snapshot; NULL if it is not there. */
const struct figures *snapshot_queue(const struct snapshot *s, const struct figures *queue);

int64_t figures_int(const struct figures *f, const char *name);
struct str figures_text(const struct figures *f, const char *name);

#endif
