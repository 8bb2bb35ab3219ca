/* SPDX-License-Identifier: MIT */
/* `belfry work`: runs a command for each job of some queues. */
#ifndef CLI_WORK_H
#define CLI_WORK_H

#include "cli/flag.h"

extern const struct flag_row work_flags[];

/* Answers the exit code. */
int work_run(struct cli *cli, int argc, char **argv);

#endif
