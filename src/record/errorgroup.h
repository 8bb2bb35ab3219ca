/* SPDX-License-Identifier: MIT */
/*
 * Groups of errors. Errors of one group differ only in numbers, ids and quoted texts. The pattern
 * of a group is the first line of such an error, as far as it stands in the first ERROR_HEAD_BYTES,
 * with words in their places:
 *
 *     <id>    a UUID, a job's id, or eight or more hexadecimal digits, one of them decimal
 *     <n>     other digits
 *     "..."   a text in quotes
 *
 *     connect to db-17: timeout after 3.5s (request 9f86d081)
 *     connect to db-<n>: timeout after <n>.<n>s (request <id>)
 */
#ifndef RECORD_ERRORGROUP_H
#define RECORD_ERRORGROUP_H

#include "base/str.h"

#define ERROR_GROUP_MAX  160      /* bytes of a pattern; the rest of a longer one is left out */
#define ERROR_GROUP_NONE "<none>" /* the pattern of errors without a text */

/* The pattern of an error's group: UTF-8, and at least one byte, whatever the error is. */
struct str error_group(struct str error, char buf[ERROR_GROUP_MAX]);

#endif
