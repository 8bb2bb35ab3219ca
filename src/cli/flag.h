/* SPDX-License-Identifier: MIT */
/*
 * Options as rows: one row yields parsing, help and completion. The options that every command
 * takes (--host, --port, --json, --help) are understood everywhere and go into struct cli.
 *
 * Accepted: --name value, --name=value, -x value, -xvalue; `--` ends the options. In names `-` and
 * `_` are the same. An option that takes a value takes the next argument whatever it looks like.
 */
#ifndef CLI_FLAG_H
#define CLI_FLAG_H

#include <stddef.h>
#include <stdint.h>

#include "cli/cli.h"

struct flag_row {
    const char *name;  /* lower case; NULL closes a list */
    const char *value; /* stands for the value in help; NULL: a flag */
    const char *help;
    const char *words; /* all values that are allowed, "a|b|c", for completion; NULL: any */
    char letter;       /* 0: none */
};

/* The options that every command takes. */
extern const struct flag_row flag_globals[];

enum { FLAG_END = -1, FLAG_WORD = -2, FLAG_BAD = -3 };

struct flags {
    struct cli *cli;
    const struct flag_row *rows;
    int argc;
    char **argv;
    int i;             /* the next argument */
    bool ended;        /* `--` was seen */
    const char *value; /* of the option or word that was read last */
    char why[256];     /* after FLAG_BAD */
};

/* Answers the index of the next option's row, or FLAG_END, FLAG_WORD or FLAG_BAD. */
int flag_next(struct flags *o);

/* Whether the two are equal but for case and for - against _. `name` is the row's; `given` has
 * `len` bytes. */
bool flag_is(const char *name, const char *given, size_t len);

/* A number or duration as an option's value; false with o->why set if it is not one. */
bool flag_int(struct flags *o, int64_t min, int64_t max, int64_t *ret);
bool flag_duration(struct flags *o, int64_t *ret_ms);

#endif
