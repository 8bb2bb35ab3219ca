/* SPDX-License-Identifier: MIT */
/*
 * A verb that answers in pages {jobs, cursor}: follows the cursors until --limit jobs have been
 * shown (100 if not given), or all of them with --all.
 */
#ifndef CLI_LISTING_H
#define CLI_LISTING_H

#include "cli/cli.h"
#include "cli/command.h"

#define LISTING_LIMIT 100
#define LISTING_PAGE  500 /* jobs asked for at a time */

/* Answers the exit code. */
int listing_run(struct cli *cli, struct command *c);

#endif
