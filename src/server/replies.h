/* SPDX-License-Identifier: MIT */
/*
 * Replies of a connection on their way out: in order, each held back until the records that it
 * tells of are durable.
 *
 *     bytes:  sent | released, may be sent | held, by marks with rising lsns
 */
#ifndef SERVER_REPLIES_H
#define SERVER_REPLIES_H

#include <sys/types.h>

#include "base/buf.h"

struct replies {
    struct buf bytes; /* The user appends replies here, and calls replies_hold after each. */
    size_t sent;
    size_t released;
    struct buf marks; /* of struct replies_mark, with rising lsns */
};

void replies_fini(struct replies *r);

/* Has all bytes that wait for nothing yet wait for lsn. False if out of memory. */
bool replies_hold(struct replies *r, uint64_t lsn, uint64_t durable_lsn);
/* The durable lsn has grown: releases the replies that waited for no more than that. */
void replies_release(struct replies *r, uint64_t durable_lsn);
/* Sends released bytes until the socket takes no more, but a MiB at most: a fast reader may take
 * all. Answers how many the socket took; -1: it is broken. */
ssize_t replies_send(struct replies *r, int fd);

/* Whether a reply waits for a commit. */
static inline bool replies_are_held(const struct replies *r)
{
    return r->marks.len > 0;
}

/* Whether there are bytes that only the socket keeps back. */
static inline bool replies_are_stuck(const struct replies *r)
{
    return r->released > r->sent;
}

static inline size_t replies_unsent(const struct replies *r)
{
    return r->bytes.len - r->sent;
}

#endif
