/* SPDX-License-Identifier: MIT */
/* A connection of a relay and what it goes through. For relay.c, in the relay's thread. */
#ifndef TLS_LINK_H
#define TLS_LINK_H

#include <pthread.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "tls/relay.h"

#define PIECE_BYTES ((size_t)16384) /* a record: OpenSSL keeps no more of what it has decrypted */

enum stage {
    STAGE_HANDSHAKE,
    STAGE_OPEN,
    STAGE_LINGER, /* all was sent; what still comes is dropped, so that it does not reset the rest
                   */
    STAGE_DEAD    /* to be freed when the turn is over */
};

struct end {
    struct link *link;
    int fd;
    uint32_t events; /* watched */
    bool watched;
};

struct link {
    struct list all;
    struct relay *relay;
    SSL *ssl;
    struct end net;
    struct end plain;
    enum stage stage;
    struct buf up;   /* decrypted, not passed on yet */
    struct buf down; /* to be encrypted: bytes that did not fit before */
    bool first;      /* `up` is held back until it is enough */
    bool net_wants_out;
    bool net_ended;   /* nothing more comes from the network */
    bool plain_ended; /* nothing more comes from the plain end */
    bool plain_told;  /* the plain end was told that nothing more comes */
    bool net_told;    /* the network was told that nothing more comes */
    bool plain_gone;  /* the owner of the plain end has closed it */
    bool net_gone;    /* the network was reset, or has ended both ways */
    size_t dropped;
    int64_t until_ms; /* monotonic; 0: no limit */
    void *ticket;     /* NULL: no caller wants to know when it is gone */
    char label[RELAY_LABEL];
};

struct relay {
    bool (*enough)(struct str first);
    void (*gone)(void *ticket);
    atomic_int handshake_ms;
    atomic_int close_ms;
    int epoll;
    int wake;
    pthread_t thread;
    char *scratch; /* of the thread; PIECE_BYTES */
    struct list links;
    struct list dead;
    unsigned lingering;
    bool timed; /* some link may have a limit */

    pthread_mutex_t lock; /* for what follows */
    struct list arrived;
    bool stop;
    int64_t stop_ms; /* monotonic: when to give up */
    struct relay_failures failures;
};

/* Does what can be done without waiting, and notes what to wait for. */
void link_go_on(struct link *l);
void link_on_event(struct end *e, uint32_t events);

/* It is dropped if it is not further by then. */
void link_limit(struct link *l, int ms);
/* Ends it because of TLS: what OpenSSL had to say to the other side (an alert) was sent already. */
void link_fail(struct link *l, const char *why);
/* Ends it at once; it is freed when the turn is over. */
void link_drop(struct link *l);
void link_free(struct link *l);

#endif
