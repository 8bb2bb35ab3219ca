/* SPDX-License-Identifier: MIT */
/*
 * The addresses that the server may push to: public addresses, and those that `push_allow` adds.
 * Not allowed are the machine itself, its networks, and addresses that only look public because
 * another address is inside (IPv4 in IPv6). `push_allow` must list the metadata address of a cloud
 * itself.
 */
#ifndef SERVER_PUSH_GUARD_H
#define SERVER_PUSH_GUARD_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/str.h"

#define GUARD_RULES 64
#define GUARD_PORTS 32

struct guard_rule {
    int family; /* For AF_INET the first four bytes of the address count. */
    unsigned char address[16];
    unsigned bits;
};

struct guard_ports {
    unsigned first, last;
};

struct push_guard {
    struct guard_rule rules[GUARD_RULES];
    size_t count;
    struct guard_ports ports[GUARD_PORTS]; /* allowed ports of addresses that no rule names */
    size_t port_count;                     /* 0: all ports */
};

/* Reads words with commas between: networks (`10.1.0.0/16`), addresses, `private` and `loopback`.
 * False: *ret_bad is a word that is none of these, or is beyond GUARD_RULES. */
bool push_guard_parse(struct str text, struct push_guard *ret, struct str *ret_bad);
/* Reads ports and ranges with commas between, `80,443,8000-8999`, into a guard that was parsed.
 * Empty: all ports. False: *ret_bad is a word that is no port or range, or is beyond GUARD_PORTS.
 */
bool push_guard_ports(struct str text, struct push_guard *g, struct str *ret_bad);

bool push_guard_allows(const struct push_guard *g, const struct sockaddr *address);

#endif
