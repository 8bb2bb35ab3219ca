/* SPDX-License-Identifier: MIT */
/* A connection of a relay and its stages. For relay.c, in the relay's thread. */
#ifndef TLS_LINK_H
#define TLS_LINK_H

#include <pthread.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/list.h"
#include "tls/relay.h"

#define PIECE_BYTES ((size_t)16384) /* a record; OpenSSL keeps no more decrypted bytes */

enum stage {
    STAGE_HANDSHAKE,
    STAGE_OPEN,
    STAGE_LINGER, /* All was sent. Input is dropped, because unread input would reset the
                   * connection. */
    STAGE_DEAD    /* freed when the turn is over */
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
    struct buf down; /* to be encrypted, as the network did not take it before */
    bool first;      /* `up` is kept back until it is enough. */
    bool net_wants_out;
    bool net_ended;   /* Nothing more comes from the network. */
    bool plain_ended; /* Nothing more comes from the plain end. */
    bool plain_told;  /* The plain end was told that nothing more comes. */
    bool net_told;    /* The network was told that nothing more comes. */
    bool plain_gone;  /* The owner of the plain end has closed it. */
    bool net_gone;    /* The network was reset, or has ended both ways. */
    size_t dropped;
    int64_t until_ms; /* monotonic: when the link is dropped; 0: never */
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
    char *scratch; /* the thread's buffer of PIECE_BYTES */
    struct list links;
    struct list dead;
    unsigned lingering;
    bool timed; /* A link may have a limit. */

    pthread_mutex_t lock; /* for the members below */
    struct list arrived;
    bool stop;
    int64_t stop_ms; /* monotonic: when the thread ends at the latest */
    struct relay_failures failures;
};

/* Moves bytes as far as possible without waiting, and watches for the next event. */
void link_go_on(struct link *l);
void link_on_event(struct end *e, uint32_t events);

/* Has the link dropped if it makes no progress in this time. */
void link_limit(struct link *l, int ms);
/* Ends a link because of TLS. OpenSSL has already sent its alert to the other side. */
void link_fail(struct link *l, const char *why);
/* Ends a link at once. It is freed when the turn is over. */
void link_drop(struct link *l);
void link_free(struct link *l);

#endif
