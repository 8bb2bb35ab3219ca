/* SPDX-License-Identifier: MIT */
/*
 * Strangers: clients that have to show a token and have not shown one. A stranger has auth_timeout
 * for that, however it connected: handshakes of TLS and requests of HTTP count in. When there are
 * as many connections as there may be, a newcomer takes the place of the client that has been a
 * stranger longest. So strangers take no place away from other clients. All strangers together may
 * hold a quarter of clients_memory. Beyond that, the clients that have been strangers longest are
 * closed.
 */
#ifndef SERVER_STRANGER_H
#define SERVER_STRANGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct client;
struct server;

struct strangers {
    struct list all;   /* Clients, the one that has been a stranger longest first. */
    uint64_t count;    /* length of `all` */
    uint64_t late;     /* Strangers that were closed because they showed no token in time. */
    uint64_t replaced; /* Strangers that were closed because their place or memory was needed. */
    uint64_t told;     /* Closed strangers that the log has mentioned. */
};

void strangers_init(struct strangers *s);

/* Whether the client still has to show a token, or the server cannot know that now. */
bool client_is_stranger(struct client *c);
/* Whether more than half of a stranger's time is over. Then its next answer is the connection's
 * last. */
bool stranger_is_late(struct client *c, int64_t mono_ms);

/* Notes whether the client is a stranger, and since when. */
void stranger_note(struct client *c, int64_t mono_ms);
/* The client is being closed. */
void stranger_forget(struct client *c);

/* Closes a stranger whose time is over. True: it was closed. The server calls it now and then for
 * each client. */
bool stranger_sweep(struct client *c, int64_t mono_ms);
/* Logs how many strangers were closed. The server calls it now and then. */
void strangers_tell(struct server *s);
/* Closes the client that has been a stranger longest. False: there is no stranger. */
bool strangers_replace(struct server *s);
/* Closes some strangers while they hold more than their part of memory. The server calls it in each
 * turn. */
void strangers_shrink(struct server *s);

#endif
