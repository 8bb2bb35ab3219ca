/* SPDX-License-Identifier: MIT */
/*
 * Looking at a data directory without a server, and salvaging one that is damaged. argv[0..argc)
 * stands behind the command's name: options and the directory; else $BELFRY_DATA, else ./data.
 * Both answer the exit code.
 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "cli/flag.h"

enum check_exit {
    CHECK_FINE = 0,
    CHECK_DAMAGED = 2,    /* what, where, and what to do was said */
    CHECK_UNREADABLE = 3, /* no data directory, or it cannot be read: nothing is known */
};

/* `belfry check [DIR] [--json]`: reads the journal and all runs and reports damage; changes
 * nothing, and a server may be running. A bad commit at the very end is no damage unless the
 * server was stopped in order: it may be one that was being written. */
int check_run(int argc, char **argv);

/* `belfry repair [DIR] [--dry-run]`: keeps what is whole of a damaged directory; no server may be
 * running. CHECK_FINE if it is whole now (or, with --dry-run, could be made so); CHECK_DAMAGED if
 * runs stay damaged, which does not keep a server from starting. */
int repair_run(int argc, char **argv);

extern const struct flag_row repair_flags[];

/* For both: reads the options and the directory. -1 to go on; or an exit code, with messages
 * written. ret_flag says whether the first option of f->rows was given. */
int check_options(struct flags *f, const char *command, const char **ret_dir, bool *ret_flag);

/* Says why something cannot be read (store_detail) and answers the exit code. */
int check_failure(const char *dir, int err);

#endif
