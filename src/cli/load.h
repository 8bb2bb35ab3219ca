/* SPDX-License-Identifier: MIT */
/*
 * A load generator: one thread, epoll, several connections, each with a window of commands under
 * way. It is to take little of the machine that it shares with the server: commands are copied from
 * templates, written in batches and read in big pieces, and replies are only measured.
 */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "base/hist.h"
#include "cli/driver.h"
#include "cli/progress.h"

#define LOAD_CONNECTIONS_MAX 256
#define LOAD_IN_FLIGHT_MAX   65536
#define LOAD_BATCH_MAX       1000

struct load_options {
    const struct target *target;
    const char *host, *port;
    unsigned connections;
    unsigned in_flight; /* commands under way per connection */
    unsigned batch;     /* jobs taken at a time */
    bool quiet;
    bool stoppable; /* load_interrupt ends a stream early */
};

struct load_result {
    uint64_t jobs;
    double seconds;
    double cpu_seconds;  /* that the generator itself took */
    struct hist latency; /* microseconds: of a command, or of a batch taken and finished */
    char why[256];       /* after an error */
};

/* Appends command number n; takes its reply. */
typedef void load_make_fn(void *arg, struct buf *out, uint64_t n);
typedef void load_took_fn(void *arg, struct str reply);

/* Sends `count` commands with one reply each. `took` may be NULL. 0, or an error with ret->why. */
int load_stream(const struct load_options *o, const char *name, uint64_t count, load_make_fn *make,
                load_took_fn *took, void *arg, struct load_result *ret);

/* From a signal handler: streams that are stoppable send nothing more, and end in order. */
void load_interrupt(void);
bool load_interrupted(void);

/* Takes and finishes `count` jobs that are due, o->batch at a time. */
int load_rounds(const struct load_options *o, const char *name, uint64_t count,
                struct load_result *ret);

#endif
