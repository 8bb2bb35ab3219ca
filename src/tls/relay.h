/* SPDX-License-Identifier: MIT */
/*
 * A thread that speaks TLS for connections whose other end, in this process, is plain. Decrypted
 * bytes go to one end of a pair of sockets. The owner reads and writes the other end as if there
 * were no TLS. So all protocols have one path, and no handshake holds up the thread that serves.
 *
 *     network ══ TLS ══ net │ link │ plain ── pair of sockets ── the server, or the client
 *
 * The buffers of a connection are bounded: a record of 16 KiB in each direction, besides those of
 * the two sockets. The relay reads nothing from a side while earlier bytes from it cannot be passed
 * on. It passes on the end of a direction as such (close_notify), while the other direction goes
 * on.
 *
 * All calls are for the owner's thread, unless they say otherwise.
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
    /* The relay passes the first bytes on together, when this call says that they are enough. It
     * comes in the relay's thread. NULL: they are passed on as they come. */
    bool (*enough)(struct str first);
    int handshake_ms; /* the time for the handshake, and then for the first bytes */
    int close_ms;     /* the time for bytes that are unsent when the plain end is closed */
    /* The connection with this ticket has given back all its resources, maybe long after its plain
     * end was closed. The call comes in the relay's thread, or within relay_free. */
    void (*gone)(void *ticket);
};

/* Connections that ended because of TLS since the last relay_take_failures. */
struct relay_failures {
    unsigned long count;
    char label[RELAY_LABEL]; /* label of the last such connection */
    char why[RELAY_WHY];     /* why the last such connection ended */
};

/* 0, NOMEM, IO. */
int relay_new(const struct relay_options *o, struct relay **ret);
/* Gives bytes under way time_ms to be sent after all plain ends were closed. Accepts NULL. */
void relay_free(struct relay *r, int time_ms);

/* Sets the times of relay_options, for handshakes and closings that begin from now on. */
void relay_set_times(struct relay *r, int handshake_ms, int close_ms);

/* Takes over the socket and ssl, which is set to accept, to connect, or is past its handshake.
 * Answers the plain end, which is nonblocking and closed on exec. -1: there is no memory or no
 * descriptor; then the relay does not call `gone`. It never calls `gone` for a ticket that is NULL.
 * The relay takes over socket and ssl in any case. */
int relay_add(struct relay *r, SSL *ssl, int net, const char *label, void *ticket);

/* Takes the failures. False: there were none. */
bool relay_take_failures(struct relay *r, struct relay_failures *ret);

#endif
