/* SPDX-License-Identifier: MIT */
/*
 * The commands that work on a data directory without a server: `belfry check [DIR] [--json]` and
 * `belfry repair [DIR] [--dry-run]`. DIR is else $BELFRY_DATA, else ./data.
 */
#ifndef CLI_OFFLINE_H
#define CLI_OFFLINE_H

#include "cli/flag.h"

enum check_exit {
    CHECK_FINE = 0,
    CHECK_DAMAGED = 2,    /* what, where, and what to do was said */
    CHECK_UNREADABLE = 3, /* no data directory, or it cannot be read: nothing is known */
};

extern const struct flag_row repair_flags[];

/* argv[0..argc) stands behind the command's name. Both answer the exit code. */
int check_run(struct cli *cli, int argc, char **argv);
int repair_run(struct cli *cli, int argc, char **argv);

#endif
