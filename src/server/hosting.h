/* SPDX-License-Identifier: MIT */
/*
 * The server as the user of a host. It opens store and partition by the options, and passes the
 * calls of the host on to clients, pushes, events and the log.
 */
#ifndef SERVER_HOSTING_H
#define SERVER_HOSTING_H

#include "server/server.h"

/* Opens the data directory. Errors are in the log. */
int hosting_store(struct server *s);
/* Starts the host on the server's loop. Errors are in the log. */
int hosting_start(struct server *s);
/* Opens the partition. Errors are in the log. */
int hosting_open(struct server *s);
/* Starts the pool of threads for chores and fetches. Errors are in the log. */
int hosting_pool(struct server *s);

#endif
