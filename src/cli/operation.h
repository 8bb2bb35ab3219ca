/* SPDX-License-Identifier: MIT */
/* The operations of a benchmark: each loads a target in its own way, and prints its result. One row
 * yields dispatch and defaults. */
#ifndef CLI_OPERATION_H
#define CLI_OPERATION_H

#include "cli/result.h"

#define OPERATION_NAMES "schedule|lease|lone|late|fill|drain|ping"

/* A benchmark: its options, its target, and the operation that runs. */
struct bench {
    const struct driver *const *drivers; /* the user's choice; NULL closes the list */
    struct cli *cli;
    struct load_options load;
    struct target target;
    struct client client; /* for requests that are not measured */
    struct result result;
    const char *ops; /* names with commas between */
    const char *op;  /* the name of the operation that runs */
    int64_t jobs;    /* 0: not given */
    int64_t at_ms;   /* -1: not given */
    int64_t span_ms; /* 0: not given */
    int64_t every_ms;
    bool keep;
    char *ids; /* of the jobs that are dropped afterwards; NULL: none are */
    uint64_t ids_n;
    int64_t sample;     /* how many jobs are shown; 0: none */
    uint64_t stride;    /* one job of each `stride` is shown; 0: none is */
    struct buf sampled; /* the jobs that are shown, in JSON */
};

struct operation {
    const char *name; /* in OPERATION_NAMES, too; NULL closes the table */
    /* Blocks; answers the exit code, with messages written. */
    int (*run)(struct bench *b, uint64_t jobs);
    uint64_t jobs; /* if the user gives no number */
    bool belfry;   /* for the driver belfry alone */
    bool tenant;   /* it knows tenants */
};

/* Takes the next name off a list with commas; NULL if no operation has it. */
const struct operation *operation_next(const char **ops);

/* Runs one. Answers the exit code, with messages written. */
int operation_run(struct bench *b, const struct operation *op);

/* Says at which step the benchmark failed, and why. CLI_ERROR. */
int operation_failed(const struct bench *b, const char *step, const char *why);

#endif
