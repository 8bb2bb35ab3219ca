/* SPDX-License-Identifier: MIT */
/* The commands that are not verbs: tools of the command line. One row yields dispatch, help and
 * completion. */
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

/* ---- The programs: each has a file of its name, and answers the exit code ---- */

int bench_run(struct cli *cli, int argc, char **argv);
int events_run(struct cli *cli, int argc, char **argv);
int version_run(struct cli *cli, int argc, char **argv); /* probe.c */
int ping_run(struct cli *cli, int argc, char **argv);    /* probe.c */
int completion_run(struct cli *cli, int argc, char **argv);
int top_run(struct cli *cli, int argc, char **argv);
int work_run(struct cli *cli, int argc, char **argv);
extern const struct flag_row bench_flags[], events_flags[], ping_flags[], repair_flags[],
    top_flags[], work_flags[];

#define COMPLETION_SHELLS "bash|zsh|fish"

/* Does the work of bench_run() with a NULL-terminated list of drivers; the first is the default.
 * Programs that also measure other servers call it. */
struct driver;
int bench_measure(struct cli *cli, const struct driver *const *drivers, int argc, char **argv);

/* offline.c: the programs that work on a data directory without a server. They answer: */
enum check_exit {
    CHECK_FINE = 0,
    CHECK_DAMAGED = 2,    /* belfry has said where, and how to go on */
    CHECK_UNREADABLE = 3, /* no data directory, or it cannot be read: nothing is known */
};

int check_run(struct cli *cli, int argc, char **argv);
int repair_run(struct cli *cli, int argc, char **argv);

#endif
