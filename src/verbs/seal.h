/* SPDX-License-Identifier: MIT */
/*
 * Places as callers see them. A cursor, or the id of an event, is a place in a walk over the jobs
 * of all tenants. It would show names and numbers of other tenants. So a caller that is confined to
 * its tenant gets it sealed by a key of the server. Cursors are sealed by AES-256-GCM, and ids as
 * one block of AES-256. A seal is valid for one tenant and one purpose.
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

struct seal_pairs;

#define SEAL_PAIR_TEXT 22

/* A seal for many pairs of numbers: its key is made once. NULL: it cannot be done. */
struct seal_pairs *seal_pairs_new(const struct seal *s);
void seal_pairs_free(struct seal_pairs *p); /* accepts NULL */
/* Appends a text of SEAL_PAIR_TEXT bytes for two numbers. Equal numbers give equal texts. On an
 * error, or without a seal, it appends nothing. */
void seal_pairs_put(const struct seal_pairs *p, uint64_t a, uint64_t b, struct buf *out);
/* False if the text has another form. A text that no seal has made gives random numbers. */
bool seal_pair_open(const struct seal *s, struct str text, uint64_t *ret_a, uint64_t *ret_b);

/* Writes a cursor that has more as a value of the reply. */
void seal_reply(const struct verb_call *c, const struct list_cursor *cursor);
/* False if this caller was given no such cursor. */
bool seal_parse(const struct verb_call *c, struct str text, struct list_cursor *ret);

#endif
