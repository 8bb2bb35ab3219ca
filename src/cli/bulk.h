/* SPDX-License-Identifier: MIT */
/* BULK, followed until it is over. */
#ifndef CLI_BULK_H
#define CLI_BULK_H

#include "cli/command.h"

/* An exit code. */
int bulk_run(struct cli *cli, struct command *c);

#endif
