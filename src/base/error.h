/* SPDX-License-Identifier: MIT */
/*
 * Error codes. Functions answer 0 (or a count) or one of these, negative. The names reach the wire
 * ("-STALE lease no longer held"), so neither names nor numbers are ever reused.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

/* clang-format off */
#define BELFRY_ERRORS(X)                                                                          \
    X(NOMEM,     1, "out of memory")                                                              \
    X(INVALID,   2, "invalid argument")                                                           \
    X(NOTFOUND,  3, "no such job")                                                                \
    X(STALE,     4, "lease no longer held")                                                       \
    X(KEYEXISTS, 5, "a job with this key exists")                                                 \
    X(STATE,     6, "not possible in the job's state")                                            \
    X(FULL,      7, "new jobs are refused: disk space is at its reserve, or memory over its budget") \
    X(TOOLARGE,  8, "larger than the limit")                                                      \
    X(IO,        9, "input or output failed")                                                     \
    X(CORRUPT,  10, "stored data is damaged")                                                     \
    X(FENCED,   11, "another owner has taken over")                                               \
    X(INDOUBT,  12, "the outcome of the write is unknown")                                        \
    X(LOCKED,   13, "the data directory is in use by another process")                            \
    X(CONFLICT, 14, "changed by somebody else meanwhile")                                         \
    X(PAST,     15, "due time is further in the past than the queue accepts")                     \
    X(PROTOCOL, 16, "malformed request")                                                          \
    X(UNKNOWN,  17, "unknown verb")                                                               \
    X(BUSY,     18, "too many clients")                                                           \
    X(COLD,     19, "it is on disk and has to be fetched first")                                \
    X(LIMIT,    20, "the tenant has as many jobs as it may")                                      \
    X(NOAUTH,   21, "a token is needed")                                                          \
    X(WRONGPASS, 22, "no such token, or it has expired")                                          \
    X(NOPERM,   23, "this token may not do that")
/* clang-format on */

enum belfry_error {
#define BELFRY_ERROR_ENUM(name, number, text) BELFRY_##name = -(number),
    BELFRY_ERRORS(BELFRY_ERROR_ENUM)
#undef BELFRY_ERROR_ENUM
};

/* "STALE"; "ERR" for a number that is no error. */
const char *error_name(int err);
/* "lease no longer held" */
const char *error_text(int err);

#endif
