/* SPDX-License-Identifier: MIT */
#include "server/peer.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/named.h"

void peer_set(struct peer *p, const struct sockaddr *a)
{
    *p = (struct peer){ 0 };
    if (a->sa_family == AF_INET) {
        memcpy(&p->at.v4, a, sizeof(p->at.v4));
    } else if (a->sa_family == AF_INET6) {
        memcpy(&p->at.v6, a, sizeof(p->at.v6));
        if (IN6_IS_ADDR_V4MAPPED(&p->at.v6.sin6_addr)) {
            struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = p->at.v6.sin6_port };

            memcpy(&v4.sin_addr, p->at.v6.sin6_addr.s6_addr + 12, 4);
            p->at.v4 = v4;
        }
    }
}

bool peer_is_loopback(const struct peer *p)
{
    if (p->at.any.sa_family == AF_INET)
        return (ntohl(p->at.v4.sin_addr.s_addr) >> 24) == 127;
    return p->at.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&p->at.v6.sin6_addr);
}

void peer_text(const struct peer *p, char *ret, size_t size)
{
    bool v6 = p->at.any.sa_family == AF_INET6;
    char host[64], port[8];

    ret[0] = '\0';
    if (getnameinfo(&p->at.any, v6 ? sizeof(p->at.v6) : sizeof(p->at.v4), host, sizeof(host), port,
                    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(ret, size, v6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* ---- Connections by address ---- */

struct address {
    struct named named; /* first: by its bits */
    char bits[sizeof(uint64_t)];
    uint64_t counts[PEER_KINDS];
};

/* IPv4: the address behind 32 ones, with which no IPv6 address of use begins. */
static uint64_t bits_of(const struct peer *p)
{
    uint64_t bits = 0;

    if (p->at.any.sa_family == AF_INET6)
        memcpy(&bits, p->at.v6.sin6_addr.s6_addr, sizeof(bits));
    else
        bits = (uint64_t)p->at.v4.sin_addr.s_addr << 32 | UINT32_C(0xffffffff);
    return bits;
}

static struct address *find_address(const struct peers *ps, const struct peer *p)
{
    uint64_t bits = bits_of(p);

    return (struct address *)named_find(&ps->table, (struct str){ (char *)&bits, sizeof(bits) });
}

void peers_init(struct peers *ps, struct hash_key key)
{
    memset(ps->totals, 0, sizeof(ps->totals));
    named_init(&ps->table, key);
}

static int free_node(void *arg, struct table_node *node)
{
    table_remove(arg, node);
    free(node);
    return 0;
}

void peers_fini(struct peers *ps)
{
    table_each_stripe(&ps->table, 0, 0, free_node, &ps->table);
    table_fini(&ps->table);
}

static uint64_t count_connections(const uint64_t counts[PEER_KINDS])
{
    uint64_t tls = counts[PEER_TLS], links = counts[PEER_LINK];

    return counts[PEER_PLAIN] + (tls > links ? tls : links);
}

uint64_t peers_total(const struct peers *ps)
{
    return count_connections(ps->totals);
}

uint64_t peers_count(const struct peers *ps, const struct peer *p)
{
    const struct address *a = find_address(ps, p);

    return a ? count_connections(a->counts) : 0;
}

bool peers_add(struct peers *ps, const struct peer *p, enum peer_kind kind)
{
    struct address *a = find_address(ps, p);
    uint64_t bits = bits_of(p);

    ps->totals[kind]++;
    if (!a) {
        a = calloc(1, sizeof(*a));
        if (!a)
            return false;
        named_add(&ps->table, &a->named, a->bits, (struct str){ (char *)&bits, sizeof(bits) });
    }
    a->counts[kind]++;
    return true;
}

void peers_remove(struct peers *ps, const struct peer *p, enum peer_kind kind, bool counted)
{
    struct address *a = counted ? find_address(ps, p) : NULL;

    ps->totals[kind]--;
    if (!counted)
        return;
    assert(a && a->counts[kind] > 0);
    a->counts[kind]--;
    for (size_t i = 0; i < PEER_KINDS; i++)
        if (a->counts[i] > 0)
            return;
    table_remove(&ps->table, &a->named.node);
    free(a);
}
