/* SPDX-License-Identifier: MIT */
/* One verb of the server, called from the command line and its answer shown. */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/cli.h"
#include "cli/client.h"
#include "verbs/verb.h"

/* `belfry VERB args`; argv[0..argc) stands behind the name. Answers the exit code. */
int call_run(struct cli *cli, const struct verb *v, int argc, char **argv);

/* Connects, or says why not and how to start a server. CLI_OK or CLI_OFFLINE. */
int call_connect(const struct cli *cli, struct client *ret);

/* Says an error reply ("STALE lease no longer held") and what to do next. CLI_ERROR. */
int call_error(struct str text);

/* Says that the connection failed in the middle of a command. CLI_OFFLINE. */
int call_lost(const struct client *c);

/* Writes the bytes to standard output and empties the buffer; false if that failed. */
bool call_print(struct buf *out);

#endif
