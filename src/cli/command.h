/* SPDX-License-Identifier: MIT */
/*
 * A verb's command line: from a row of the verb table and argv to the words of a request.
 *
 *     schedule hello --in 2s --payload hi   ->   SCHEDULE hello hi IN 2s
 *
 * Positional arguments may be given by position or by name. A payload of `-` is read from standard
 * input, and that of `--payload @file` from that file. A payload that is left out is empty. A job's
 * id may be given in part: see partial.h.
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
    struct str parts[COMMAND_WORDS_MAX]; /* of an id in part: the text as given; else empty */
    size_t n;
    struct buf ids;     /* the whole ids of parts */
    struct buf payload; /* the bytes of a file or of standard input */
    bool all;           /* --all, for verbs that come in pages */
    bool no_wait;       /* --no-wait, for verbs that begin something */
    bool raw;           /* --raw, for GET */
    int64_t limit;      /* of a verb that comes in pages: how many jobs are shown */
    struct str cursor;  /* of a verb that comes in pages: where it goes on; empty: not given */
    bool all_tenants;   /* it asks for things of all tenants; set by command_check() */
    struct str tenant;  /* the tenant that is given; empty: none; set by command_check() */
    bool odd_id;        /* a word for a job's id is neither an id nor a part of one */
    char why[320];      /* after an error */
};

/* Reads argv[0..argc), which stands behind the command's name. 0, or INVALID or IO with why. If
 * cli->help got set the words are not complete. The struct need not be initialised. */
int command_parse(struct command *c, struct cli *cli, const struct verb *v, int argc, char **argv);
void command_fini(struct command *c);

/* Checks the words as the server would, but for its limits. 0, INVALID, TOOLARGE with why. */
int command_check(struct command *c);

/* The row's arguments as flags, in their order; ret has room for COMMAND_FLAGS_MAX. */
#define COMMAND_FLAGS_MAX (VERB_ARGS_MAX + 3)
void command_flags(const struct verb *v, struct flag_row *ret);

/* Whether the verb has an argument of this type. */
bool command_has(const struct verb *v, enum arg_type type);

/* Whether the verb answers in pages, so that --all makes sense. */
static inline bool command_pages(const struct verb *v)
{
    return command_has(v, ARG_CURSOR);
}

/* Whether the verb begins something that goes on, so that --no-wait makes sense. */
bool command_waits(const struct verb *v);

/* Whether the verb shows a job, so that --raw makes sense. */
bool command_gets(const struct verb *v);

/* Whether the verb answers lines of text. */
bool command_is_text(const struct verb *v);

#endif
