/* SPDX-License-Identifier: MIT */
/*
 * Connections that speak HTTP. libmicrohttpd reads requests and writes answers, on sockets of ours
 * and within our loop. The server executes a request when it is whole. While the answer waits for a
 * commit, the disk, room or work, the connection is suspended: nothing is read from it.
 *
 * A client has client_timeout for each request, from its first line on, and keepalive_timeout
 * between two requests. A client that takes its answer too slowly is cut off, too.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "server/server.h"

/* Looks at the options that a start would refuse. INVALID with a log line. */
int http_check(struct server *s);
int http_open(struct server *s);
/* Ends all connections. Also if http_open failed. */
void http_stop(struct server *s);

/* Takes over a socket whose first bytes, which are not taken yet, are HTTP. */
void http_adopt(struct server *s, int fd, const struct peer *peer);

/* Gives new events to the streams of /v1/events. */
void http_streams_feed(struct server *s);
/* Sends a sign of life to streams without events, and ends those whose token is not good any more.
 */
void http_streams_sweep(struct server *s, int64_t mono_ms);

#endif
