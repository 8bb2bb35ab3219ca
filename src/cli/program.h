/* SPDX-License-Identifier: MIT */
/*
 * The commands that are not verbs: tools of the command line itself. One row yields dispatch, help
 * and completion.
 */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "base/str.h"
#include "cli/flag.h"

struct program {
    const char *name;  /* NULL closes the table */
    const char *usage; /* the words behind the name, for help */
    const char *summary;
    const char *detail;          /* further lines of help; NULL: none */
    const struct flag_row *rows; /* NULL: none */
    const char *words; /* values of its first argument, "a|b|c", for completion; or NULL */
    /* argv[0..argc) stands behind the name. Answers the exit code. */
    int (*run)(struct cli *cli, int argc, char **argv);
};

extern const struct program program_table[];

const struct program *program_find(struct str name);

#endif
