/* SPDX-License-Identifier: MIT */
/* `belfry bench`: load on a server, this one or a peer, and what it takes of it. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/flag.h"

extern const struct flag_row bench_flags[];

/* Answers the exit code. */
int bench_run(struct cli *cli, int argc, char **argv);

#endif
