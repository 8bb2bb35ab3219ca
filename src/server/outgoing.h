/* SPDX-License-Identifier: MIT */
/*
 * Outgoing HTTP on the server's loop: requests to endpoints of others, none of which ever holds up
 * the loop. libcurl does the protocol; names are resolved in threads of its own.
 *
 * Everything is bounded: how many requests at a time, how long each may take, how much of an answer
 * is read. Redirects are not followed, no proxy is taken from the environment, certificates are
 * verified, URLs are http or https without a user's name in them. A guard sees the address of each
 * connection as it is made, whatever the name resolved to; connections are kept for later requests
 * of the same `struct outgoing` only, so each use with rules of its own has one of its own.
 *
 * All calls are made on the loop's thread.
 */
#ifndef SERVER_OUTGOING_H
#define SERVER_OUTGOING_H

#include <sys/socket.h>
#include <uv.h>

#include "base/str.h"

struct outgoing;
struct outgoing_transfer;

struct outgoing_options {
    unsigned max_transfers; /* at a time */
    const char *ca_file;    /* certificates to trust; NULL: the system's */
    /* Whether a connection to this address may be made. NULL: to any. */
    bool (*allowed)(void *arg, const struct sockaddr *address);
    void *arg;
};

enum outgoing_outcome {
    OUTGOING_ANSWERED,    /* status is set */
    OUTGOING_TIMEOUT,     /* no whole answer in time */
    OUTGOING_REFUSED,     /* all addresses are of those that are not allowed */
    OUTGOING_UNREACHABLE, /* all else: no such name, no connection, a bad certificate, no HTTP */
};

struct outgoing_answer {
    enum outgoing_outcome outcome;
    int status;
    struct str body;         /* its first bytes, up to the request's limit; */
    bool cut;                /* there were more */
    const char *retry_after; /* the header's value as it is, up to a length; "" if there is none */
    const char *location;    /* likewise */
    const char *error;       /* in words, if there was no answer; else "" */
    int64_t took_us;
};

/* Called once for each request that was started and not cancelled, never from outgoing_start. The
 * answer lasts until it returns; it may start and cancel other requests. */
typedef void outgoing_done_fn(void *arg, const struct outgoing_answer *answer);

struct outgoing_request {
    const char *method; /* NULL: POST */
    const char *url;
    const char *const *headers; /* "name: value" */
    size_t header_count;
    struct str body;     /* to last until it is done or cancelled; all else is copied */
    int64_t timeout_ms;  /* for everything, from the name to the last byte */
    size_t answer_bytes; /* of the body, to be kept */
    outgoing_done_fn *done;
    void *arg;
};

/* 0 or NOMEM. */
int outgoing_new(uv_loop_t *loop, const struct outgoing_options *o, struct outgoing **ret);
/* Drops all requests without a call. The loop must run once more before outgoing_free, so that its
 * handles are closed. Both accept NULL. */
void outgoing_stop(struct outgoing *o);
void outgoing_free(struct outgoing *o);

/* BUSY if there are as many as may be, NOMEM. A URL that is none is UNREACHABLE. */
int outgoing_start(struct outgoing *o, const struct outgoing_request *r,
                   struct outgoing_transfer **ret);
/* Drops it without a call. */
void outgoing_cancel(struct outgoing_transfer *t);
unsigned outgoing_count(const struct outgoing *o); /* under way */

#endif
