/* SPDX-License-Identifier: MIT */
/*
 * Which addresses the server may connect to for somebody who only named a URL. Public ones, and
 * what `push_allow` adds: not the machine itself, its networks, or what only looks public because
 * another address is inside (IPv4 in IPv6). Where clouds have their metadata only if that very
 * address is listed.
 */
#ifndef SERVER_PUSH_GUARD_H
#define SERVER_PUSH_GUARD_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/str.h"

#define GUARD_RULES 64

struct guard_rule {
    int family; /* AF_INET: the first four bytes count */
    unsigned char address[16];
    unsigned bits;
};

struct push_guard {
    struct guard_rule rules[GUARD_RULES];
    size_t count;
};

/* Words with commas between: networks (`10.1.0.0/16`), addresses, `private` and `loopback`. False:
 * `bad` is the one that is none of these, or the one too many. */
bool push_guard_parse(struct str text, struct push_guard *ret, struct str *ret_bad);

bool push_guard_allows(const struct push_guard *g, const struct sockaddr *address);

#endif
