/* SPDX-License-Identifier: MIT */
/* Bytes that the other end of a socket has taken, where the server does not send them itself. */
#ifndef SERVER_ACKED_H
#define SERVER_ACKED_H

#include <stdint.h>

/* Acknowledged bytes of TCP. For a pair of sockets: bytes in the queue, which change as well. */
uint64_t socket_acked(int fd);

#endif
