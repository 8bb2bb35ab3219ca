/* SPDX-License-Identifier: MIT */
/*
 * Job ids: 128 bits, most significant first
 *
 *      48 bits          16 bits      64 bits
 *     +----------------+-----------+----------------------+
 *     | due at creation | partition | sequence             |
 *     | ms since 1970   |           | unique in partition  |
 *     +----------------+-----------+----------------------+
 *
 * written as 26 characters of Crockford's base 32, so that text sorts as the number does.
 */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdint.h>

#include "base/str.h"

#define ID_TEXT 26

struct job_id {
    int64_t due_ms; /* 0 .. 2^48-1 */
    uint16_t partition;
    uint64_t seq;
};

void id_format(struct job_id id, char ret[ID_TEXT]); /* not terminated */

/* Either case; I, L read as 1 and O as 0. False if it is not an id. */
bool id_parse(struct str text, struct job_id *ret);

/* Writes text.len characters as id_format() would write them. False if one of them stands in no id;
 * then ret is undefined. */
bool id_spell(struct str text, char *ret);

#endif
