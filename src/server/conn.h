/* SPDX-License-Identifier: MIT */
/*
 * A connection that speaks RESP. The server reads input in turns of 64 KiB, so that no connection
 * holds up the others. Replies leave in order, each when its records are durable. While a client
 * does not read its replies, the server does not read from it, and cuts it off after
 * client_timeout. A request that needs an item from disk stays first in the input until the item is
 * there.
 *
 * Every connection begins here. The server looks at the first bytes before it takes them: HTTP goes
 * to http.h. TLS goes to tls.h, and comes back decrypted as a connection that begins anew.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "server/server.h"

/* Takes over a socket; closes it if there is no memory. */
void conn_open(struct server *s, int fd, const struct peer *peer);

#endif
