/* SPDX-License-Identifier: MIT */
#include "server/push/push_guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define NET4(a, b, c, d, bits)        \
    {                                 \
        AF_INET, { a, b, c, d }, bits \
    }

/* Addresses that are not public, by the registries of IANA for special purposes. */
static const struct guard_rule special4[] = {
    NET4(0, 0, 0, 0, 8),      NET4(10, 0, 0, 0, 8),     NET4(100, 64, 0, 0, 10),
    NET4(127, 0, 0, 0, 8),    NET4(169, 254, 0, 0, 16), NET4(172, 16, 0, 0, 12),
    NET4(192, 0, 0, 0, 24),   NET4(192, 0, 2, 0, 24),   NET4(192, 88, 99, 0, 24),
    NET4(192, 168, 0, 0, 16), NET4(198, 18, 0, 0, 15),  NET4(198, 51, 100, 0, 24),
    NET4(203, 0, 113, 0, 24), NET4(224, 0, 0, 0, 4),    NET4(240, 0, 0, 0, 4),
};

/* Of IPv6 only 2000::/3 is public at all, without these networks. */
static const struct guard_rule special6[] = {
    { AF_INET6, { 0x20, 0x01, 0x00 }, 23 },       /* protocols, Teredo among them */
    { AF_INET6, { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation */
    { AF_INET6, { 0x20, 0x02 }, 16 },             /* 6to4: an IPv4 address inside */
    { AF_INET6, { 0x3f, 0xff }, 20 },             /* documentation */
};

static const struct guard_rule global6 = { AF_INET6, { 0x20 }, 3 };
static const struct guard_rule mapped6 = { AF_INET6,
                                           { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff },
                                           96 };
static const struct guard_rule nat64 = { AF_INET6, { 0x00, 0x64, 0xff, 0x9b }, 96 };

static const struct guard_rule private_nets[] = {
    NET4(10, 0, 0, 0, 8),    NET4(172, 16, 0, 0, 12),   NET4(192, 168, 0, 0, 16),
    NET4(100, 64, 0, 0, 10), { AF_INET6, { 0xfc }, 7 },
};
static const struct guard_rule loopback_nets[] = {
    NET4(127, 0, 0, 0, 8),
    { AF_INET6, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, 128 },
};

/* At these addresses clouds tell a machine its credentials. Only a rule for the very address allows
 * them, not a network. */
static const struct guard_rule metadata[] = {
    NET4(169, 254, 169, 254, 32),
    NET4(100, 100, 100, 200, 32),
    { AF_INET6, { 0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54 }, 128 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_in(const struct guard_rule *r, int family, const unsigned char *address)
{
    size_t whole = r->bits / 8, rest = r->bits % 8;

    if (r->family != family || memcmp(r->address, address, whole) != 0)
        return false;
    return rest == 0 || ((r->address[whole] ^ address[whole]) >> (8 - rest)) == 0;
}

static bool is_any(const struct guard_rule *rules, size_t n, int family, const unsigned char *a)
{
    for (size_t i = 0; i < n; i++)
        if (is_in(&rules[i], family, a))
            return true;
    return false;
}

/* Whether a rule names this very address. */
static bool is_named(const struct push_guard *g, int family, const unsigned char *a)
{
    unsigned most = family == AF_INET ? 32 : 128;

    for (size_t i = 0; i < g->count; i++)
        if (g->rules[i].bits == most && is_in(&g->rules[i], family, a))
            return true;
    return false;
}

static bool allows4(const struct push_guard *g, const unsigned char *a)
{
    if (is_any(metadata, COUNT(metadata), AF_INET, a))
        return is_named(g, AF_INET, a);
    return is_any(g->rules, g->count, AF_INET, a) || !is_any(special4, COUNT(special4), AF_INET, a);
}

static bool allows6(const struct push_guard *g, const unsigned char *a)
{
    if (is_in(&mapped6, AF_INET6, a) || is_in(&nat64, AF_INET6, a))
        return allows4(g, a + 12);
    if (is_any(metadata, COUNT(metadata), AF_INET6, a))
        return is_named(g, AF_INET6, a);
    if (is_any(g->rules, g->count, AF_INET6, a))
        return true;
    return is_in(&global6, AF_INET6, a) && !is_any(special6, COUNT(special6), AF_INET6, a);
}

/* A rule that names an address allows all its ports. */
static bool allows_port(const struct push_guard *g, int family, const unsigned char *a,
                        in_port_t port)
{
    unsigned number = ntohs(port);

    for (size_t i = 0; i < g->port_count; i++)
        if (number >= g->ports[i].first && number <= g->ports[i].last)
            return true;
    return g->port_count == 0 || is_any(g->rules, g->count, family, a);
}

bool push_guard_allows(const struct push_guard *g, const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        const unsigned char *a = (const unsigned char *)&in.sin_addr;

        memcpy(&in, address, sizeof(in));
        return allows4(g, a) && allows_port(g, AF_INET, a, in.sin_port);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in;
        const unsigned char *a = in.sin6_addr.s6_addr;
        bool four;

        memcpy(&in, address, sizeof(in));
        four = is_in(&mapped6, AF_INET6, a) || is_in(&nat64, AF_INET6, a);
        return allows6(g, a) &&
               allows_port(g, four ? AF_INET : AF_INET6, four ? a + 12 : a, in.sin6_port);
    }
    return false;
}

static bool add_rules(struct push_guard *g, const struct guard_rule *rules, size_t n)
{
    if (g->count + n > GUARD_RULES)
        return false;
    memcpy(&g->rules[g->count], rules, n * sizeof(*rules));
    g->count += n;
    return true;
}

/* Reads "10.0.0.0/8" or an address. */
static bool parse_net(struct str word, struct guard_rule *ret)
{
    bool has_bits = memchr(word.ptr, '/', word.len) != NULL;
    struct str address = str_cut(&word, '/');
    bool is_v6 = memchr(address.ptr, ':', address.len) != NULL;
    uint64_t most = is_v6 ? 128 : 32, bits = most;
    char text[INET6_ADDRSTRLEN];

    if (address.len >= sizeof(text))
        return false;
    memcpy(text, address.ptr, address.len);
    text[address.len] = '\0';
    *ret = (struct guard_rule){ .family = is_v6 ? AF_INET6 : AF_INET };
    if (inet_pton(ret->family, text, ret->address) != 1)
        return false;
    if (has_bits && (word.len > 3 || !str_number(word, &bits)))
        return false;
    ret->bits = (unsigned)bits;
    return bits <= most;
}

static bool parse_word(struct str word, struct push_guard *g)
{
    struct guard_rule rule;

    if (str_eq(word, STR("private")))
        return add_rules(g, private_nets, COUNT(private_nets));
    if (str_eq(word, STR("loopback")))
        return add_rules(g, loopback_nets, COUNT(loopback_nets));
    return parse_net(word, &rule) && add_rules(g, &rule, 1);
}

bool push_guard_parse(struct str text, struct push_guard *ret, struct str *ret_bad)
{
    ret->count = ret->port_count = 0;
    while (text.len > 0) {
        struct str word = str_trim(str_cut(&text, ','), " ");

        if (!parse_word(word, ret)) {
            *ret_bad = word;
            return false;
        }
    }
    return true;
}

static bool parse_ports(struct str word, struct guard_ports *ret)
{
    bool is_range = memchr(word.ptr, '-', word.len) != NULL;
    struct str low = str_cut(&word, '-');
    uint64_t first, last;

    if (low.len > 5 || word.len > 5 || !str_number(low, &first))
        return false;
    last = first;
    if (is_range && !str_number(word, &last))
        return false;
    *ret = (struct guard_ports){ (unsigned)first, (unsigned)last };
    return first >= 1 && first <= last && last <= 65535;
}

bool push_guard_ports(struct str text, struct push_guard *g, struct str *ret_bad)
{
    g->port_count = 0;
    while (text.len > 0) {
        struct str word = str_trim(str_cut(&text, ','), " ");

        if (word.len == 0 || g->port_count == GUARD_PORTS ||
            !parse_ports(word, &g->ports[g->port_count])) {
            *ret_bad = word;
            return false;
        }
        g->port_count++;
    }
    return true;
}
