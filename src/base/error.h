/* SPDX-License-Identifier: MIT */
/* Error codes. Functions answer 0 (or a count) or one of these, negative. The names reach the wire
 * ("-STALE lease no longer held"), so neither names nor numbers are ever reused. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/str.h"

/* Name, number, status in HTTP, use of a detail, text, and a hint for a person at the command line.
 * Number 19 is BELFRY_COLD. */
/* clang-format off */
#define BELFRY_ERRORS(X) \
    X(NOMEM,      1, 503, ADDS, "out of memory", "") \
    X(INVALID,    2, 400, SAYS, "invalid argument", "") \
    X(NOTFOUND,   3, 404, SAYS, "not found", "it may have ended and been forgotten, or never existed: see belfry list") \
    X(STALE,      4, 409, ADDS, "lease no longer held", "the lease ended or was given to another worker: stop working on the job, what was done is not recorded") \
    X(KEYEXISTS,  5, 409, SAYS, "a job with this key exists", "--ifexists keep answers that job's id, --ifexists replace changes it") \
    X(STATE,      6, 409, ADDS, "not possible in the job's state", "belfry get ID shows the job's state") \
    X(FULL,       7, 503, ADDS, "new jobs are refused: disk space is at its reserve, or memory over its budget", "free disk space on the server; it takes new jobs again by itself") \
    X(TOOLARGE,   8, 413, SAYS, "larger than the limit", "the server's limit is max_payload in its configuration") \
    X(IO,         9, 500, ADDS, "input or output failed", "") \
    X(CORRUPT,   10, 500, ADDS, "stored data is damaged", "belfry check on the server's data directory shows what is damaged") \
    X(FENCED,    11, 503, ADDS, "another owner has taken over", "") \
    X(INDOUBT,   12, 500, ADDS, "the outcome of the write is unknown", "it may or may not have happened: look with belfry get or belfry list") \
    X(LOCKED,    13, 503, ADDS, "the data directory is in use by another process", "") \
    X(CONFLICT,  14, 409, ADDS, "changed by somebody else meanwhile", "") \
    X(PAST,      15, 422, ADDS, "due time is further in the past than the queue accepts", "the queue's past_grace decides: see belfry queue NAME") \
    X(PROTOCOL,  16, 400, SAYS, "malformed request", "") \
    X(UNKNOWN,   17, 404, SAYS, "unknown verb", "the server may be older than this belfry") \
    X(BUSY,      18, 503, ADDS, "too many clients", "try again later, or raise max_connections in the server's configuration") \
    X(LIMIT,     20, 429, ADDS, "the tenant has as much as it may", "make room, or raise the limit if it is a setting, such as with belfry tenant NAME --max-pending N") \
    X(NOAUTH,    21, 401, ADDS, "a token is needed", "say which token to show: $BELFRY_AUTH, $BELFRY_AUTH_FILE or --auth-file FILE") \
    X(WRONGPASS, 22, 401, ADDS, "no such token, or it has expired", "an admin sees with belfry token list which there are") \
    X(NOPERM,    23, 403, ADDS, "this token may not do that", "belfry token list shows what each token may do") \
    X(RATE,      24, 429, ADDS, "the tenant sends more requests than it may", "wait a while, or raise the limit: belfry tenant NAME --requests N, or audit_rate in the server's configuration")
/* clang-format on */

enum belfry_error {
#define BELFRY_ERROR_ENUM(name, number, status, detail, text, hint) BELFRY_##name = -(number),
    BELFRY_ERRORS(BELFRY_ERROR_ENUM)
#undef BELFRY_ERROR_ENUM
    /* Stays between the engine and its host, which fetches the job from disk and asks again. */
    BELFRY_COLD = -19,
};

enum error_detail {
    ERROR_ADDS, /* the detail stands behind the text */
    ERROR_SAYS  /* the detail says all, and the text is not needed */
};

struct error_row {
    int err;
    int status;
    enum error_detail detail;
    const char *name;
    const char *text;
    const char *hint; /* may be empty */
};

/* NULL for a number, or a name, that is no error. */
const struct error_row *error_row(int err);
const struct error_row *error_find(struct str name);

/* "STALE", "COLD"; "ERR" for a number that is no error. */
const char *error_name(int err);
/* "lease no longer held" */
const char *error_text(int err);

#endif
