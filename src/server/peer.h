/* SPDX-License-Identifier: MIT */
/*
 * The other end of a connection, and how many connections each address has. The server notes a peer
 * when it accepts it: behind the TLS relay a socket is one of a pair and knows no address.
 */
#ifndef SERVER_PEER_H
#define SERVER_PEER_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/table.h"

struct peer {
    union { /* The first member: libmicrohttpd keeps a copy of the whole peer as an address. */
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
    bool tls;
    int64_t since_ms; /* monotonic: when the server accepted the connection */
};

/* Takes an IPv4 address that is mapped into IPv6 as the IPv4 address. */
void peer_set(struct peer *p, const struct sockaddr *a);
bool peer_is_loopback(const struct peer *p);
/* "127.0.0.1:50000", "[::1]:50000"; "" if the address is unknown. */
void peer_text(const struct peer *p, char *ret, size_t size);

/* A connection by TLS is a client here and a link to the network there, and either may outlast the
 * other. */
enum peer_kind { PEER_PLAIN, PEER_TLS, PEER_LINK, PEER_KINDS };

/* Connections, all and by address. Of IPv6 the first 64 bits count: each machine chooses the rest
 * itself. */
struct peers {
    uint64_t totals[PEER_KINDS];
    struct table table;
};

void peers_init(struct peers *ps, struct hash_key key);
void peers_fini(struct peers *ps);
/* How many connections there are: the plain ones, and of TLS the clients or the links, whichever
 * are more. */
uint64_t peers_total(const struct peers *ps);
/* How many of them come from the address. */
uint64_t peers_count(const struct peers *ps, const struct peer *p);
/* False if out of memory: then the address does not count the connection. */
bool peers_add(struct peers *ps, const struct peer *p, enum peer_kind kind);
/* Takes back peers_add; `counted` is what that answered. */
void peers_remove(struct peers *ps, const struct peer *p, enum peer_kind kind, bool counted);

#endif
