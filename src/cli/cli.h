/* SPDX-License-Identifier: MIT */
/* What every command of the command line shares: the global options and the exit codes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

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

#define CLI_PORT_DEFAULT "2355"

/* Options that every command takes. Strings are borrowed from argv. */
struct cli {
    const char *host; /* NULL: not given */
    const char *port;
    bool tls;
    const char *ca;
    const char *cert;
    const char *cert_key;
    bool json;
    bool help;
};

/* The option if it was given, else $BELFRY_HOST and $BELFRY_PORT, else 127.0.0.1 and 2355. */
const char *cli_host(const struct cli *c);
const char *cli_port(const struct cli *c);

/* Whether to connect by TLS: if --tls, one of the files below, or $BELFRY_TLS (not `off`) asks. */
bool cli_tls(const struct cli *c);
/* The option if it was given, else $BELFRY_CA, $BELFRY_CERT and $BELFRY_CERT_KEY, else "". */
const char *cli_ca(const struct cli *c);
const char *cli_cert(const struct cli *c);
const char *cli_cert_key(const struct cli *c);

/* "belfry: " and a line, on standard error. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says the line as cli_say() does, and answers CLI_USAGE. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
