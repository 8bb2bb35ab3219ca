/* SPDX-License-Identifier: MIT */
/* `belfry completion SHELL`: a completion script for the shell, made from the tables. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/cli.h"

#define COMPLETION_SHELLS "bash|zsh|fish"

/* Answers the exit code. */
int completion_run(struct cli *cli, int argc, char **argv);

#endif
