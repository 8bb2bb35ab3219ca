/* SPDX-License-Identifier: MIT */
/* The verb BULK: begins a bulk and follows it until it is over. */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include "cli/command.h"

/* Answers the exit code. */
int bulk_run(struct cli *cli, struct command *c);

#endif
