/* SPDX-License-Identifier: MIT */
/* A load generator: one thread, epoll, several connections, each with a window of commands under
 * way. It takes little of the machine that it shares with the server. Commands are copied from
 * templates and written in batches. Replies are read in large pieces and only measured. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "base/hist.h"
#include "cli/driver.h"
#include "cli/progress.h"

#define LOAD_CONNECTIONS_MAX 256
#define LOAD_IN_FLIGHT_MAX   65536
#define LOAD_BATCH_MAX       1000

#define LOAD_IDLE_MS 60000 /* rounds end after this time without a job */

struct load_result;

/* Tells of the last part of a load; `so_far` jobs are done. */
typedef void load_part_fn(void *arg, uint64_t so_far, const struct load_result *part);

struct load_options {
    const struct target *target;
    const char *host, *port;
    unsigned connections;
    unsigned in_flight; /* commands under way per connection */
    unsigned batch;     /* jobs taken at a time */
    bool quiet;
    bool stoppable; /* load_interrupt ends a stream early */

    uint64_t every; /* jobs in a part; 0: no parts */
    load_part_fn *part;
    void *part_arg;
};

struct load_result {
    uint64_t jobs;
    double seconds;
    double cpu_seconds;  /* time of a core that the generator itself took */
    struct hist latency; /* microseconds: of a command, or of a batch taken and finished */
    char why[256];       /* after an error */
};

/* The part of a load that is under way. */
struct load_part {
    struct load_result sum;
    int64_t begun_us;
};

/* Adds a part to the whole, tells of it, and begins the next part; `done` jobs are done. */
void load_end_part(const struct load_options *o, struct load_part *p, uint64_t done, int64_t now_us,
                   struct load_result *whole);

/* Appends command number n. */
typedef void load_make_fn(void *arg, struct buf *out, uint64_t n);
/* Takes the reply to command number n. */
typedef void load_took_fn(void *arg, uint64_t n, struct str reply);

/* Sends `count` commands with one reply each. `took` may be NULL. 0, or an error with ret->why. */
int load_stream(const struct load_options *o, const char *name, uint64_t count, load_make_fn *make,
                load_took_fn *took, void *arg, struct load_result *ret);

/* Ends stoppable streams in order: they send nothing more. A signal handler may call it. */
void load_interrupt(void);
bool load_interrupted(void);

/* Takes and finishes `count` jobs that are due or become due, o->batch at a time. Ends with fewer,
 * and 0, if none came for LOAD_IDLE_MS after the wall time `until_ms`. `w` may be NULL. */
int load_rounds(const struct load_options *o, const char *name, uint64_t count, int64_t until_ms,
                struct driver_watch *w, struct load_result *ret);

#endif
