/* SPDX-License-Identifier: MIT */
/*
 * A verb's command line: from a row of the verb table and argv to the words of a request.
 *
 *     schedule hello --in 2s --payload hi   ->   SCHEDULE hello hi IN 2s
 *
 * Positional arguments may be given by position or by name. A payload of `-` is read from standard
 * input, and `--payload @file` from a file. A payload that is missing is read from standard input,
 * unless that is a terminal.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/flag.h"
#include "verbs/verb.h"

#define COMMAND_WORDS_MAX   (1 + 4 * VERB_ARGS_MAX)
#define COMMAND_PAYLOAD_MAX (256u << 20)

struct command {
    const struct verb *verb;
    struct str words[COMMAND_WORDS_MAX]; /* borrowed from argv, the table and payload */
    size_t n;
    struct buf payload; /* what was read from a file or standard input */
    bool all;           /* --all, for verbs that come in pages */
    bool no_wait;       /* --no-wait, for verbs that begin something */
    char why[320];      /* after an error */
};

/* Reads argv[0..argc), which stands behind the command's name. 0, or INVALID or IO with why. If
 * cli->help got set the words are not complete. The struct need not be initialised. */
int command_parse(struct command *c, struct cli *cli, const struct verb *v, int argc, char **argv);
void command_fini(struct command *c);

/* Checks the words as the server would, but for its limits. 0, INVALID, TOOLARGE with why. */
int command_check(struct command *c);

/* Whether the command asks for things of all tenants. Its words have been checked. */
bool command_asks_all_tenants(const struct command *c);

/* The row's arguments as flags, in their order; ret has room for COMMAND_FLAGS_MAX. */
#define COMMAND_FLAGS_MAX (VERB_ARGS_MAX + 2)
void command_flags(const struct verb *v, struct flag_row *ret);

/* Whether the verb answers in pages, so that --all makes sense. */
bool command_pages(const struct verb *v);

/* Whether the verb begins something that goes on, so that --no-wait makes sense. */
bool command_waits(const struct verb *v);

/* The word for a value of this type in help: "DURATION". */
const char *command_placeholder(const struct arg *a);

#endif
