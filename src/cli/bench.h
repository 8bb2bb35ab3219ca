/* SPDX-License-Identifier: MIT */
/* `belfry bench`: load on a server, and what the server takes of it. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "cli/driver.h"
#include "cli/flag.h"

extern const struct flag_row bench_flags[];

/* Answers the exit code. */
int bench_run(struct cli *cli, int argc, char **argv);

/* Does the work of bench_run() with the drivers in a list that NULL closes; the first is the
 * default. For programs that measure other servers, too. */
int bench_measure(struct cli *cli, const struct driver *const *drivers, int argc, char **argv);

#endif
