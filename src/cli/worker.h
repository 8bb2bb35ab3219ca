/* SPDX-License-Identifier: MIT */
/*
 * The loop behind `belfry work`: one thread, poll, two connections. One connection asks for jobs
 * and is parked at the server while there are none; the other tells how they end and extends
 * leases. Never more jobs are asked for than there are free slots.
 *
 * If the server goes away, commands go on and what they came to is told once it is back.
 */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include "cli/cli.h"
#include "base/str.h"

#define WORKER_SLOTS_MAX   1000
#define WORKER_RELEASE     75    /* EX_TEMPFAIL: not now */
#define WORKER_RELEASE_FOR "10s" /* and when it is offered again */

struct worker_options {
    const struct cli *cli;
    struct str queues;
    const char *tenant;    /* whose jobs; NULL: the default one's; "*": everybody's, in turns */
    const char *lease_for; /* a duration as given; NULL: the job's */
    const char *name;      /* in the job's history */
    int slots;             /* commands at a time */
    bool capture;          /* standard output is the job's result */
    bool once;             /* one job */
    bool drain;            /* until there is no work */
    bool quiet;
    char *const *argv; /* the command */
};

/* Runs until it is told to stop by SIGINT or SIGTERM, or has nothing left to do. The exit code. */
int worker_run(const struct worker_options *o);

#endif
