/* SPDX-License-Identifier: MIT */
/*
 * Who is at the other end of a connection. Kept from the moment it is accepted: once TLS is spoken
 * for it, its socket here is one of a pair and knows no address. And how many connections each
 * address has.
 */
#ifndef SERVER_PEER_H
#define SERVER_PEER_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/table.h"

struct peer {
    union { /* first: libmicrohttpd keeps a copy of all of it as the address */
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
    bool tls;
};

/* An address of IPv4 that came as one of IPv6 is one of IPv4. */
void peer_set(struct peer *p, const struct sockaddr *a);
bool peer_is_loopback(const struct peer *p);
/* "127.0.0.1:50000", "[::1]:50000"; "" if it is not known. */
void peer_text(const struct peer *p, char *ret, size_t size);

/* Connections by address. Of IPv6 the first 64 bits count: the rest is each machine's to choose.
 * One by TLS is a client here and a link to the network there, and either may outlast the other:
 * an address has as many of them as it has of the more numerous kind. */
struct peers {
    struct table table;
};

void peers_init(struct peers *ps);
void peers_fini(struct peers *ps);
uint64_t peers_count(const struct peers *ps, const struct peer *p);
/* False without memory: it is not counted then. */
bool peers_add(struct peers *ps, const struct peer *p);
/* Only what was added. */
void peers_remove(struct peers *ps, const struct peer *p);
/* The same for links. */
bool peers_add_link(struct peers *ps, const struct peer *p);
void peers_remove_link(struct peers *ps, const struct peer *p);

#endif
