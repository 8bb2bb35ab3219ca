/* SPDX-License-Identifier: MIT */
/*
 * TLS for the server: its certificate, the rules of where plain text is allowed, and the relay
 * (tls/relay.h). A connection whose first byte is that of a handshake goes to the relay. The relay
 * gives back a plain socket, on which the connection begins anew with the address of its peer,
 * whatever protocol it speaks.
 */
#ifndef SERVER_TLS_H
#define SERVER_TLS_H

#include "server/server.h"

#define TLS_FIRST_BYTE 0x16 /* of a handshake; no request in RESP or HTTP begins with it */

/* The answers to a client that must use TLS and does not. */
#define TLS_PLAIN_WHY  "this server is spoken to by TLS only"
#define TLS_PLAIN_RESP "-PROTOCOL " TLS_PLAIN_WHY "\r\n"
#define TLS_PLAIN_HTTP                                                   \
    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: " \
    "close\r\n\r\n" TLS_PLAIN_WHY ": ask with https\n"

/* Why the server must not listen at this address, and what to do about it; NULL: it may. */
const char *tls_bind_refusal(const struct options *o, const struct peer *at, bool has_tokens);
/* Whether this peer may speak as it does, by TLS or without. */
bool tls_may_be_plain(const struct options *o, const struct peer *peer);

/* Loads the certificate and starts the relay, if TLS is on. INVALID, IO, NOMEM, with a log line. */
int tls_open(struct server *s);
/* After the options changed: loads the files again. If they are wrong, the log says so, and the old
 * ones stay. Open connections keep the certificate that they began with. */
void tls_reload(struct server *s);
/* Ends the relay once all clients are closed. Also without TLS. */
void tls_close(struct server *s);

/* Takes over a socket whose first bytes are a handshake. */
void tls_adopt(struct server *s, int fd, const struct peer *peer);
/* Stops counting links that are gone. A link may outlast its client while its last bytes are being
 * sent, and has descriptors as long. */
void tls_collect(struct server *s);
/* Now and then: tells the log of links that failed, and collects. */
void tls_sweep(struct server *s);

#endif
