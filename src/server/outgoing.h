/* SPDX-License-Identifier: MIT */
/*
 * Outgoing HTTP POSTs on the server's loop, none of which ever holds up the loop. libcurl does the
 * protocol, and resolves names in threads of its own.
 *
 * Everything is bounded: the requests at a time, the time of each, the bytes read of an answer.
 * Redirects are not followed, and no proxy is taken from the environment. Certificates are
 * verified. URLs are http or https, without a user's name. A guard sees the address of each
 * connection as it is made, whatever the name resolved to. A kept connection serves later requests
 * of its `struct outgoing` only. So callers with different rules have a `struct outgoing` each.
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
    const char *ca_file;    /* certificates to trust; NULL: the system's; not copied */
    /* Whether a connection to this address may be made. NULL: to any. */
    bool (*allowed)(void *arg, const struct sockaddr *address);
    void *arg;
};

enum outgoing_outcome {
    OUTGOING_ANSWERED,    /* status is set */
    OUTGOING_TIMEOUT,     /* no whole answer in time */
    OUTGOING_REFUSED,     /* no address is allowed */
    OUTGOING_UNREACHABLE, /* all else: no such name, no connection, a bad certificate, no HTTP */
};

struct outgoing_answer {
    enum outgoing_outcome outcome;
    int status;
    struct str body;         /* the first bytes, up to answer_bytes of the request */
    bool cut;                /* The body had more bytes. */
    const char *retry_after; /* the beginning of the header's value, "" if there is none */
    const char *location;    /* the beginning of the header's value, "" if there is none */
    const char *error;       /* in words, if there was no answer; else "" */
    int64_t took_us;
};

/* Called once for each request that was started and not cancelled, never from outgoing_start. The
 * answer lasts until the call returns. The callee may start and cancel other requests. */
typedef void outgoing_done_fn(void *arg, const struct outgoing_answer *answer);

struct outgoing_request {
    const char *url;
    struct str headers;  /* Lines "name: value", each ended by a zero. */
    struct str body;     /* Must last until the request is done or cancelled; all else is copied. */
    int64_t timeout_ms;  /* for everything, from the name to the last byte */
    size_t answer_bytes; /* how much of the answer's body is kept */
    outgoing_done_fn *done;
    void *arg;
};

/* 0 or NOMEM. */
int outgoing_new(uv_loop_t *loop, const struct outgoing_options *o, struct outgoing **ret);
/* Drops all requests without a call. The loop must run once more to close the handles. Accepts
 * NULL. */
void outgoing_free(struct outgoing *o);

/* BUSY: max_transfers are under way; NOMEM. A malformed URL is UNREACHABLE. */
int outgoing_start(struct outgoing *o, const struct outgoing_request *r,
                   struct outgoing_transfer **ret);
/* Drops a request without a call. */
void outgoing_cancel(struct outgoing_transfer *t);
unsigned outgoing_count(const struct outgoing *o); /* under way */

#endif
