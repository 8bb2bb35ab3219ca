/* SPDX-License-Identifier: MIT */
/* One verb of the server, called from the command line and its answer shown. */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/render.h"

/* `belfry VERB args`; argv[0..argc) stands behind the name. Answers the exit code. */
int call_run(struct cli *cli, const struct verb *v, int argc, char **argv);

/* Connects, or says why not and what to do. CLI_OK, CLI_OFFLINE or CLI_ERROR. */
int call_connect(const struct cli *cli, struct client *ret);

/* Prints an error reply to the verb ("STALE lease no longer held"), and a hint. Answers CLI_NOTHING
 * for NOTFOUND, and CLI_ERROR otherwise. The verb may be NULL. */
int call_error(const struct verb *v, struct str text);

/* Sends a command and takes its reply. CLI_OK; CLI_OFFLINE if the connection failed; or the answer
 * of call_error(). Messages are written unless CLI_OK. */
int call_ask(struct client *c, const struct str *words, size_t n, const struct resp_values **ret);

/* Shows the value at index `at` as JSON, or as `r` says; false if that failed. */
bool call_show(const struct cli *cli, const struct resp_values *v, size_t at,
               const struct render *r);

/* Writes the bytes to standard output and empties the buffer; false if that failed. */
bool call_print(struct buf *out);

/* ---- Verbs whose answer is shown in another way ---- */

/* Sends a command that has been checked, and shows the answer. Answers the exit code. */
typedef int call_fn(const struct cli *cli, struct command *c, struct client *client);

/* bulk.c: begins a bulk and follows it until it is over. */
call_fn bulk_run;
/* listing.c: takes LIMIT and CURSOR out of the words, before these are checked: LIMIT may be larger
 * than the server's. CLI_OK or CLI_USAGE. */
int listing_words(struct command *c);
/* listing.c: shows the pages {jobs, cursor} of a verb, one after the other, by their cursors. It
 * ends after --limit jobs (100 if not given), or with --all after all of them. */
call_fn listing_run;
/* forecast.c: appends a line for each step, in local time, with a bar. False, with nothing written,
 * if the value is no answer of FORECAST. */
bool forecast_put(struct buf *out, const struct resp_values *v, const struct render *r);

#endif
