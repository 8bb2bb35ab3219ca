/* SPDX-License-Identifier: MIT */
/* The figures of a server and its queues at a moment. */
#ifndef CLI_SNAPSHOT_H
#define CLI_SNAPSHOT_H

#include "cli/client.h"

/* Figures that are looked for by name, in the server's and in a queue's map. */
#define SNAPSHOT_FIGURES(X) \
    X(scheduled)            \
    X(ready)                \
    X(leased)               \
    X(done)                 \
    X(dead)                 \
    X(cancelled)            \
    X(waiting_workers)      \
    X(paused)               \
    X(total_scheduled)      \
    X(total_picked)         \
    X(total_succeeded)      \
    X(total_failed)         \
    X(total_stalled)        \
    X(lateness_p50_ms)      \
    X(lateness_p99_ms)      \
    X(lateness_max_ms)      \
    X(runtime_p50_ms)       \
    X(runtime_p99_ms)       \
    X(wait_p50_ms)          \
    X(wait_p99_ms)          \
    X(uptime_ms)            \
    X(connections)          \
    X(commands)             \
    X(commits)              \
    X(queues)               \
    X(rss_bytes)            \
    X(cold_jobs)            \
    X(run_bytes)            \
    X(journal_bytes)

struct figures {
    char name[136];   /* the queue's; for the server its version */
    char tenant[136]; /* the tenant that has the queue */
#define SNAPSHOT_MEMBER(name) int64_t name;
    SNAPSHOT_FIGURES(SNAPSHOT_MEMBER)
#undef SNAPSHOT_MEMBER
};

struct snapshot {
    struct figures server;
    struct figures *queues; /* sorted by name, as the server gives them */
    size_t n;
    int64_t at_us; /* monotonic */
};

/* Asks with STATS and QUEUES of all tenants. Blocks. 0 or an error with c->why. ret need not be
 * initialised. */
int snapshot_take(struct client *c, struct snapshot *ret);
void snapshot_fini(struct snapshot *s);

/* That queue in this snapshot; NULL if it is not there. */
const struct figures *snapshot_queue(const struct snapshot *s, const struct figures *queue);

#endif
