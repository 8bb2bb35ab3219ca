/* SPDX-License-Identifier: MIT */
/*
 * The shares of tenants in the pushes under way. A tenant has at most half of the server's pushes,
 * rounded up. It begins none while its pushes have half of the bytes, so the last one may go
 * beyond. So a tenant with slow endpoints leaves room for others. Only tenants with pushes under
 * way have an entry.
 */
#ifndef SERVER_PUSH_SHARE_H
#define SERVER_PUSH_SHARE_H

#include "base/str.h"
#include "base/table.h"

struct push_shares {
    struct table table;
    uint64_t count_max; /* the most pushes of a tenant */
    uint64_t bytes_max; /* A tenant with so many bytes begins no push. */
};

/* `count` (from 1) and `bytes` are what all tenants may have together. */
void push_shares_init(struct push_shares *s, uint64_t count, uint64_t bytes, struct hash_key key);
void push_shares_fini(struct push_shares *s);

bool push_share_is_full(const struct push_shares *s, struct str tenant);
/* Counts a push that begins. False if out of memory. */
bool push_share_take(struct push_shares *s, struct str tenant, size_t bytes);
/* Takes back a push_share_take. True: the tenant's share was full and is not any more. */
bool push_share_return(struct push_shares *s, struct str tenant, size_t bytes);

#endif
