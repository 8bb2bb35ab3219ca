/* SPDX-License-Identifier: MIT */
/*
 * Places as callers see them. A cursor, or the id of an event, says where a walk over everybody's
 * jobs has got to, by the name of a queue or a number that others move: a caller who is confined to
 * his tenant gets it sealed with a key of the server's own, good for his tenant and the same
 * purpose only: cursors by AES-256-GCM, ids as one block of AES-256.
 */
#ifndef VERBS_SEAL_H
#define VERBS_SEAL_H

#include "verbs/cursor.h"
#include "verbs/verb.h"

struct seal {
    const struct engine *engine;
    const char *purpose; /* a verb's name */
    struct str tenant;
};

#define SEAL_PAIR_TEXT 22

/* Appends two numbers as a text of that length, the same for the same numbers; nothing if that
 * cannot be done. */
void seal_pair(const struct seal *s, uint64_t a, uint64_t b, struct buf *out);
/* False if it has not that form. One that was not made by seal_pair gives numbers by chance. */
bool seal_pair_open(const struct seal *s, struct str text, uint64_t *ret_a, uint64_t *ret_b);

/* A cursor that says that there is more, as a value of the reply. */
void seal_reply(const struct verb_call *c, const struct list_cursor *cursor);
/* False if it is none that this caller was given. */
bool seal_parse(const struct verb_call *c, struct str text, struct list_cursor *ret);

#endif
