/* SPDX-License-Identifier: MIT */
/* TLS for the connections of a client. The caller waits for the handshake. From then on a relay
 * (tls/relay.h) has the connection, and the client's descriptor is a plain one. So callers with a
 * poll loop of their own need not know of TLS. */
#ifndef CLI_CLIENT_TLS_H
#define CLI_CLIENT_TLS_H

#include "cli/cli.h"
#include "cli/client.h"

/* Sets the options for every connection that is opened from now on. Borrowed, and read then. */
void client_tls_use(const struct cli *cli);

/* Replaces c->fd, connected to `host`, if TLS is asked for. 0, or IO with c->why and fd closed. */
int client_tls_begin(struct client *c, const char *host, int timeout_ms);

/* Why TLS ended a connection; NULL if it did not. Borrowed until the next call. */
const char *client_tls_why(void);

#endif
