/* SPDX-License-Identifier: MIT */
/*
 * Connections that speak HTTP. libmicrohttpd reads requests and writes answers, on sockets that it
 * is given, within our loop; a request is executed when it is whole. While its answer waits, for a
 * commit, for something from disk, for room, or for work, its connection is suspended: nothing is
 * read of it, and the next request behind it waits.
 *
 * A client has client_timeout for each request, from its first line on, and keepalive_timeout
 * between two; one that takes its answer too slowly is cut off as well.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "server/server.h"

int http_open(struct server *s);
/* Ends what is under way; http_free after the loop has ended. Both also when there is none. */
void http_stop(struct server *s);
void http_free(struct server *s);

/* Takes over a socket whose first bytes are those of HTTP and have not been taken. */
void http_adopt(struct server *s, int fd, const struct peer *peer);

/* Gives the streams of /v1/events the events that are new. */
void http_streams_feed(struct server *s);
/* Shows streams that have had nothing for a while that the server lives. */
void http_streams_sweep(struct server *s, int64_t mono_ms);

#endif
