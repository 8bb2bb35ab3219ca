/* SPDX-License-Identifier: MIT */
/*
 * TLS for the connections of a client. The handshake is waited for; from then on a relay
 * (tls/relay.h) has the connection, and the client's descriptor is a plain one, so that callers
 * with a poll loop of their own need not know.
 */
#ifndef CLI_CLIENT_TLS_H
#define CLI_CLIENT_TLS_H

#include "cli/cli.h"
#include "cli/client.h"

/* Every connection that is opened from now on goes by these options, as they are by then. */
void client_tls_use(const struct cli *cli);

/* After it connected to host: if TLS is asked for, c->fd is replaced. 0, or IO with c->why; c->fd
 * is closed then. */
int client_tls_begin(struct client *c, const char *host, int timeout_ms);

/* Why TLS ended a connection, if it did; else NULL. Borrowed until the next call. */
const char *client_tls_why(void);

#endif
