/* SPDX-License-Identifier: MIT */
/*
 * A client's connection. Input is read in turns of 64 KiB, so that none holds the others up;
 * replies are kept in order, each until its records are durable. A client that does not read its
 * replies is not read from either, and is cut off after client_timeout. A request that needs
 * something from disk stays first in the input until that is there; nothing behind it is executed.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include "server/server.h"

struct conn;

/* Takes over an accepted socket; closes it if there is no memory. */
void conn_open(struct server *s, int fd);
void conn_close(struct conn *c);

/* Sends what may be sent now. */
void conn_flush(struct conn *c);

/* Looks at input that was left when it could not be taken on. */
void conn_resume(struct conn *c);

/* What its suspended request needs is there: executes that again. Or it could not be had: answers
 * the error. To be followed by conn_flush. */
void conn_fetched(struct conn *c, int err, const char *detail);

/* The engine's deliver call for a parked LEASE. */
void conn_deliver(struct conn *c, struct job *const *jobs, size_t n);

/* Ends the wait of a parked LEASE with an empty answer, and takes no more requests. */
void conn_drain(struct conn *c);
bool conn_has_output(const struct conn *c);

/* Cuts it off if it has been stuck for too long. */
void conn_sweep(struct conn *c, int64_t mono_ms);

struct conn *conn_of_all(struct list *node);
struct conn *conn_of_holding(struct list *node);
struct conn *conn_of_resume(struct list *node);

#endif
