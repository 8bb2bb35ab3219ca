/* SPDX-License-Identifier: MIT */
/*
 * A thread that speaks TLS for connections whose other end, here in the process, is plain.
 * Decrypted bytes go to one end of a pair of sockets. The owner of the other end reads and writes
 * it as if there were no TLS. So there is one path for all protocols, and no handshake ever holds
 * up the thread that serves.
 *
 *     network ══ TLS ══ net │ link │ plain ── pair of sockets ── the server, or the client
 *
 * The buffers of a connection are bounded: a record of 16 KiB in each direction, besides those of
 * the two sockets. Nothing is read from a side while earlier bytes from it cannot be passed on. The
 * end of one direction is passed on as such (close_notify), the other goes on.
 *
 * All calls are for one thread, that of the owner, unless they say otherwise.
 */
#ifndef TLS_RELAY_H
#define TLS_RELAY_H

#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/str.h"

#define RELAY_LABEL 64
#define RELAY_WHY   192

struct relay;

struct relay_options {
    /* The first bytes are passed on together, when this says that they are enough (in the relay's
     * thread). NULL: as they come. */
    bool (*enough)(struct str first);
    int handshake_ms; /* for the handshake; and for the first bytes, once there is one */
    int close_ms;     /* for the bytes that are still to be sent after the plain end was closed */
    /* A connection that was added with this ticket has given back all it had, which may be long
     * after its plain end was closed. In the relay's thread, or within relay_free. */
    void (*gone)(void *ticket);
};

/* Connections that ended because of TLS, since the last time this was asked. */
struct relay_failures {
    unsigned long count;
    char label[RELAY_LABEL]; /* label of the last of them */
    char why[RELAY_WHY];     /* why the last of them ended */
};

/* 0, NOMEM, IO. */
int relay_new(const struct relay_options *o, struct relay **ret);
/* Gives bytes under way time_ms to be sent after all plain ends were closed. Accepts NULL. */
void relay_free(struct relay *r, int time_ms);

/* From now on. */
void relay_set_times(struct relay *r, int handshake_ms, int close_ms);

/* Takes over ssl, set to accept or to connect or past its handshake, and the socket, in any case.
 * Answers the plain end, which does not block and is closed when a program is executed; -1 without
 * memory or descriptors: `gone` is not called then. Without a ticket (NULL) it never is. */
int relay_add(struct relay *r, SSL *ssl, int net, const char *label, void *ticket);

/* False: there were none. */
bool relay_take_failures(struct relay *r, struct relay_failures *ret);

#endif
