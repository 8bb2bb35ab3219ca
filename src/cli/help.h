/* SPDX-License-Identifier: MIT */
/* Help, made from the tables of verbs, programs and flags. Everything goes to standard output. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/program.h"
#include "verbs/verb.h"

/* The everyday commands, the names of all others, and where to read more. */
void help_overview(void);
void help_verb(const struct verb *v);
void help_program(const struct program *p);

/* `belfry help [topic]`: a command's name, all, options, exit-codes, or nothing. Answers the exit
 * code. */
int help_topic(const char *topic);

/* Says "no command 'schedul'; did you mean 'schedule'?", and answers CLI_USAGE. */
int help_unknown(const char *name);

/* A row's example in the form of this command line: "belfry schedule q hi --in 10m". */
void help_example(const struct verb *v, struct buf *out);

/* A text of the verb's row with the words of this command line: IN becomes --in, and GET get. */
void help_words(const struct verb *v, const char *text, struct buf *out);

#endif
