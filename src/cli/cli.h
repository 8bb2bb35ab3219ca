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
    X(NOTHING, 4, "nothing found: no such job, queue or other thing, or no work to lease")
/* clang-format on */

enum cli_exit {
#define CLI_EXIT_ENUM(name, number, text) CLI_##name = (number),
    CLI_EXITS(CLI_EXIT_ENUM)
#undef CLI_EXIT_ENUM
};

/* Options that every command takes. Strings are borrowed from argv and the environment, or stand in
 * room. */
struct cli {
    const char *host, *port;
    const char *ca, *cert, *cert_key; /* files, each of which asks for TLS; "": none */
    bool tls;
    bool json;
    const char *fields; /* the fields that --fields names, "a,b"; NULL: not given */
    bool wide, no_header;
    bool help;
    char room[2][256]; /* host and port, if they were a part of a longer text */
};

/* Sets the options from the environment: $BELFRY_URL, $BELFRY_HOST, $BELFRY_PORT, $BELFRY_TLS,
 * $BELFRY_CA, $BELFRY_CERT and $BELFRY_CERT_KEY. $BELFRY_TLS is off, on or only. The server reads
 * that variable, too, so a URL decides before it. The default is 127.0.0.1, 2355, without TLS.
 * CLI_OK; or CLI_USAGE, with a message written. */
int cli_init(struct cli *c);

/* From now on messages are lines of JSON. */
void cli_speak_json(void);
bool cli_speaks_json(void);

/* "belfry: " and a line, on standard error; or {"message": …}. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says an error as "belfry: CODE: detail" and "belfry: hint" (NULL: none), and answers `exit`. With
 * --json it is one object: code, status, detail, hint and exit. The status is that of HTTP; 0 means
 * that the error is none of the server's, and then the code is for JSON alone. */
int cli_error(enum cli_exit exit, const char *code, int status, const char *hint,
              const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Puts a reason into the array `why`, and answers err. */
#define cli_fail(why, err, ...) (snprintf((why), sizeof(why), __VA_ARGS__), (err))

/* Says that the command line is wrong, and answers CLI_USAGE. */
#define cli_usage(...)            cli_error(CLI_USAGE, "USAGE", 0, NULL, __VA_ARGS__)
#define cli_usage_hint(hint, ...) cli_error(CLI_USAGE, "USAGE", 0, hint, __VA_ARGS__)

#endif
