/* SPDX-License-Identifier: MIT */
/* How HTTP says what went wrong: a status for each error's code, and the body of the answer. */
#ifndef FRONT_HTTP_STATUS_H
#define FRONT_HTTP_STATUS_H

#include "base/buf.h"

#define HTTP_PROBLEM_TYPE "application/problem+json"

/* Of an error's name ("STALE"); 500 for one that is not known. */
int http_status_of(const char *code);

/* "Not Found"; "" for one that is never answered. */
const char *http_reason(int status);

/* Appends an object as in RFC 7807. */
void http_problem(struct buf *out, const char *code, int status, struct str detail);

#endif
