/* SPDX-License-Identifier: MIT */
/* The global options and the exit codes, which all commands of the command line share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stdio.h>

/* clang-format off */
#define CLI_EXITS(X)                                                                               \
    X(OK,      0, "done")                                                                          \
    X(ERROR,   1, "the server answered an error, or a job's command failed")                       \
    X(USAGE,   2, "the command line was wrong; nothing was sent")                                  \
    X(OFFLINE, 3, "the server cannot be reached")                                                  \
    X(NOTHING, 4, "nothing found: no such job, or no work to lease")
/* clang-format on */

enum cli_exit {
#define CLI_EXIT_ENUM(name, number, text) CLI_##name = (number),
    CLI_EXITS(CLI_EXIT_ENUM)
#undef CLI_EXIT_ENUM
};

/* Options that every command takes. Strings are borrowed from argv and the environment. */
struct cli {
    const char *host, *port;
    const char *ca, *cert, *cert_key; /* files, each of which asks for TLS; "": none */
    bool tls;
    bool json;
    bool help;
};

/* Sets the options from the environment: $BELFRY_HOST, $BELFRY_PORT, $BELFRY_TLS (not `off`),
 * $BELFRY_CA, $BELFRY_CERT and $BELFRY_CERT_KEY. The default is 127.0.0.1, 2355, without TLS. */
void cli_init(struct cli *c);

/* "belfry: " and a line, on standard error. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Puts a reason into the array `why`, and answers err. */
#define cli_fail(why, err, ...) (snprintf((why), sizeof(why), __VA_ARGS__), (err))

/* Says the line as cli_say() does, and answers CLI_USAGE. */
#define cli_usage(...) (cli_say(__VA_ARGS__), CLI_USAGE)

#endif
