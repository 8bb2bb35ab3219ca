/* SPDX-License-Identifier: MIT */
/*
 * Places as callers see them. A cursor, or the id of an event, says where a walk over everybody's
 * jobs has got to, by the name of a queue or a number that others move: a caller who is confined to
 * his tenant gets it sealed (AES-256-GCM with a key of the server's own), good for his tenant and
 * the same purpose only.
 */
#ifndef VERBS_SEAL_H
#define VERBS_SEAL_H

#include "verbs/cursor.h"
#include "verbs/verb.h"

#define SEAL_TEXT CURSOR_TEXT /* bytes that can be sealed */

struct seal {
    const struct engine *engine;
    const char *purpose; /* a verb's name */
    struct str tenant;
};

/* Appends it; nothing if that cannot be done. */
void seal_put(const struct seal *s, struct str text, struct buf *out);
/* The length of the text; 0: it is none of ours. */
size_t seal_open(const struct seal *s, struct str text, char ret[SEAL_TEXT]);

/* The cursor, or null if there is no more; a value of the reply. */
void seal_reply(struct verb_call *c, const struct list_cursor *cursor);
/* False if it is none that this caller was given. */
bool seal_parse(const struct verb_call *c, struct str text, struct list_cursor *ret);

#endif
