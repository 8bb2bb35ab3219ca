/* SPDX-License-Identifier: MIT */
/*
 * Cursors as callers see them. A cursor says where a walk over everybody's jobs has got to, by the
 * name of a queue or the number of a job that may be another tenant's: a caller who is confined to
 * his tenant gets it sealed (AES-256-GCM with a key of the server's own), good for his tenant and
 * the same verb only.
 */
#ifndef VERBS_SEAL_H
#define VERBS_SEAL_H

#include "verbs/cursor.h"
#include "verbs/verb.h"

/* The cursor, or null if there is no more; a value of the reply. */
void seal_reply(struct verb_call *c, const struct list_cursor *cursor);
/* False if it is none that this caller was given. */
bool seal_parse(const struct verb_call *c, struct str text, struct list_cursor *ret);

#endif
