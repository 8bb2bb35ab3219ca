/* SPDX-License-Identifier: MIT */
/* A connection that speaks RESP, for conn.c, conn_going.c, conn_parked.c
 * and conn_sniff.c. */
#ifndef SERVER_CONN_DATA_H
#define SERVER_CONN_DATA_H

#include "front/resp.h"
#include "server/client.h"
#include "server/replies.h"

struct conn {
    struct client client;
    uv_poll_t poll;
    int fd; /* -1: The socket was handed over. */
    int events;
    struct buf in;          /* Input that is not executed yet; it begins with a request. */
    struct resp_place half; /* How far the first request of `in` was read; `need` 0: it is new. */
    size_t charge;          /* Bytes that the coming large request takes at least; 0: none comes. */
    struct replies out;
    uint64_t sent;     /* bytes that were sent so far */
    int64_t stuck_ms;  /* monotonic: since when the client takes too few replies; 0: it has all */
    uint64_t stuck_at; /* bytes that the client had taken at stuck_ms */
    int64_t half_ms;   /* monotonic: since when a request is not whole; 0: no request is half */
    int64_t active_ms; /* monotonic: the last request or reply */
    int64_t until_us;  /* monotonic: the end of its turn */
    int64_t looked_us; /* monotonic: the last look at the clock in its turn */
    bool fresh;        /* No input was taken yet: the client may speak HTTP or TLS. */
    int peeked;        /* The number of first bytes that did not tell the protocol. */
    struct list going; /* in server.going.conns, while its end is put off */
    bool eof;
    bool closed;
};

void conn_close(struct client *client);
/* Watches the socket for what the connection waits for. */
void conn_watch(struct conn *c);
/* The caller calls it when the client has gone. True: enough connections end in this turn, and this
 * connection ends in a later turn. */
bool conn_put_off(struct conn *c);
/* As client_ops.attends. */
bool conn_attends(struct client *client);
/* Replies were added to `out`, which now waits for lsn. */
void conn_note_reply(struct conn *c, uint64_t lsn);
/* Answers the request with an error. */
void conn_fail(struct conn *c, int err, const char *detail);
/* As client_ops.deliver. */
void conn_deliver(struct client *client, struct job *const *jobs, size_t n);
/* Executes a further step of a request that has waited for the end of a job, or answers the error
 * of its fetch. */
void conn_go_on(struct conn *c, int err, const char *detail);
/* Drops bytes that the server has not received yet, because closing with unread bytes could lose
 * the answer. The received input is lost, too: the connection executes no more of it. */
void conn_drop_words(struct conn *c);

/* Looks at the first bytes without taking them. True: the client speaks RESP. */
bool conn_sniff(struct conn *c);

#endif
