/* SPDX-License-Identifier: MIT */
/*
 * A connection that speaks RESP. Input is read in turns of 64 KiB, so that none holds the others
 * up; replies are kept in order, each until its records are durable. A client that does not read
 * its replies is not read from either, and is cut off after client_timeout. A request that needs
 * something from disk stays first in the input until that is there; nothing behind it is executed.
 *
 * Every connection begins as one of these. Its first bytes are looked at before they are taken: one
 * that speaks HTTP is handed to http.h. One that speaks TLS is handed to tls.h, and what it says
 * within TLS comes back as a connection that begins anew.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "server/server.h"

/* Takes over a socket; closes it if there is no memory. */
void conn_open(struct server *s, int fd, const struct peer *peer);

#endif
