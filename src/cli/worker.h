/* SPDX-License-Identifier: MIT */
/*
 * The loop behind `belfry work`: one thread, poll, two connections. One connection asks for jobs
 * and is parked at the server while there are none; the other tells how they end and extends
 * leases. The worker never asks for more jobs than it has free slots.
 *
 * If the server goes away, commands go on. The worker tells how they ended once the server is back.
 */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include "cli/cli.h"
#include "base/str.h"

#define WORKER_SLOTS_MAX   1000
#define WORKER_RELEASE     75    /* EX_TEMPFAIL: not now */
#define WORKER_RELEASE_FOR "10s" /* when a job with that exit status is offered again */

struct worker_options {
    const struct cli *cli;
    struct str queues;
    const char *tenant;    /* its jobs are taken; NULL: the default; "*": all tenants, in turns */
    const char *lease_for; /* the length of a lease, as text; NULL: as the job says */
    const char *name;      /* in the job's history */
    int slots;             /* commands at a time */
    int64_t timeout_ms;    /* how long a command may run; 0: any time */
    bool no_prefix;        /* output of several commands is passed as it is */
    bool capture;          /* standard output is the job's result */
    bool once;             /* it runs one job and ends */
    bool drain;            /* it ends when there is no work */
    bool quiet;
    char *const *argv; /* the command */
    const char *shell; /* its text, if a shell runs it; NULL: none */
};

/* Runs until SIGINT or SIGTERM, or until nothing is left to do. Answers the exit code. */
int worker_run(const struct worker_options *o);

#endif
