/* SPDX-License-Identifier: MIT */
/*
 * TLS for the server: its certificate, and the relay (tls/relay.h) that connections whose first
 * byte is that of a handshake are handed to. The relay gives back a plain socket, on which the
 * connection begins anew with the address of its peer, whatever protocol it speaks.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include "server/server.h"

#define TLS_FIRST_BYTE 0x16 /* of a handshake; no request in RESP or HTTP begins with it */

/* What one that may not be plain is told. */
#define TLS_PLAIN_WHY  "this server is spoken to by TLS only"
#define TLS_PLAIN_RESP "-PROTOCOL " TLS_PLAIN_WHY "\r\n"
#define TLS_PLAIN_HTTP                                                   \
    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: " \
    "close\r\n\r\n" TLS_PLAIN_WHY ": ask with https\n"

/* Why these options do not go together, or NULL. */
const char *tls_options_wrong(const struct options *o);
/* Whether this peer may speak, given whether it does so by TLS. */
bool tls_may_be_plain(const struct options *o, const struct peer *peer);

/* Loads the certificate and starts the relay, if TLS is on. INVALID, IO, NOMEM, with a log line. */
int tls_open(struct server *s);
/* After the options changed: loads the files again. If they are wrong the log is told, and what was
 * loaded before stays. Connections that are open keep what they began with. */
void tls_reload(struct server *s);
/* Ends what is under way once all clients were closed. Also when there is none. */
void tls_close(struct server *s);

/* Takes over a socket that a handshake comes from. */
void tls_adopt(struct server *s, int fd, const struct peer *peer);
/* How many connections it is spoken for, as of the last tls_collect: some may have no client any
 * more, as what was written to them is still being sent. */
uint64_t tls_links(const struct server *s);
/* No longer counts those that are gone. */
void tls_collect(struct server *s);
/* Now and then: tells the log of those that failed, and collects. */
void tls_sweep(struct server *s);

#endif
