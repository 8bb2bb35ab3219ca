/* SPDX-License-Identifier: MIT */
/* `belfry top`: a live view of the server and its queues. */
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "cli/flag.h"

extern const struct flag_row top_flags[];

/* Answers the exit code. */
int top_run(struct cli *cli, int argc, char **argv);

#endif
