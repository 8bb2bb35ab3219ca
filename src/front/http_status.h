/* SPDX-License-Identifier: MIT */
/* Errors in HTTP: the status of each error's code, and the body of the answer. */
#ifndef FRONT_HTTP_STATUS_H
#define FRONT_HTTP_STATUS_H

#include "base/buf.h"

#define HTTP_PROBLEM_TYPE "application/problem+json"

/* The status of an error's name ("STALE"); 500 for an unknown name. */
int http_status_of(const char *code);

/* "Not Found"; "" for a status that is never answered. */
const char *http_reason(int status);

/* Appends an object as in RFC 9457. `thing` is the thing that NOTFOUND is about: "queue"; NULL: the
 * title does not say. KEYEXISTS has the id of the job that has the key as a member. */
void http_problem(struct buf *out, const char *code, int status, struct str detail,
                  const char *thing);

#endif
