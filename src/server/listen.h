/* SPDX-License-Identifier: MIT */
/* The listening socket: it accepts connections, and refuses politely when there are too many. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include "server/server.h"

/* Raises the limit on open files as far as it goes, and lowers max_connections to leave the journal
 * its descriptors. */
void listen_fit(struct server *s);
/* Binds, listens, tells the log and the port file. IO with a log line. */
int listen_open(struct server *s);
void listen_pause(struct server *s);
void listen_resume(struct server *s);
void listen_close(struct server *s);

#endif
