/* SPDX-License-Identifier: MIT */
/*
 * Ids that are given in part.
 *
 *     belfry cancel 8K3   ->   CANCEL 01M7HYNQRQ000000000000A8K3
 *
 * A part is the beginning or the end of an id: PARTIAL_LEAST characters or more. It stands for the
 * one job that fits, of the tenant that the command is about. The client finds the job by LIST,
 * within PARTIAL_JOBS and PARTIAL_MS. Unless it has seen all jobs by then, it refuses the part.
 */
#ifndef CLI_PARTIAL_H
#define CLI_PARTIAL_H

#include "cli/client.h"
#include "cli/command.h"

#define PARTIAL_LEAST 3
#define PARTIAL_JOBS  100000
#define PARTIAL_MS    2000

/* An id that stands in the place of a part until partial_resolve(). */
#define PARTIAL_STANDIN "00000000000000000000000000"
#define PARTIAL_HINT    "3 or more of its first or last characters will do, if no other job has them"

/* For the help of a verb, and for docs/cli.md and the manual page. */
#define PARTIAL_HELP "id of the job, or 3 or more of its first or last characters"
#define PARTIAL_DOC                                                                                \
    "A job's id may be given in part: by three or more of its first or last characters, in "       \
    "either case. The last ones differ most. The command looks through the jobs of the tenant "    \
    "for the one that fits, and names it on a terminal. If several fit, it lists up to five of "   \
    "them and changes nothing. It looks at up to 100,000 jobs, for up to 2 seconds. Where there "  \
    "are more jobs, give the whole id. The search needs a token that may list jobs. Ids of bulks " \
    "are always whole."

/* Whether the text can only be a part of an id. */
bool partial_is(struct str text);

/* Puts whole ids into the words of a command that has been checked. On a terminal it says which.
 * CLI_OK, also if there are no parts; or another exit code, with a message written: a part fits no
 * job or several, or the search was not completed. */
int partial_resolve(struct command *c, struct client *client);

#endif
