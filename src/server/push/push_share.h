/* SPDX-License-Identifier: MIT */
/*
 * How much of what is pushed at a time is whose. A tenant has at most half of the server's pushes
 * and of their bytes, so that one whose endpoints are slow leaves room for others. Only tenants
 * with pushes under way are known here.
 */
#ifndef SERVER_PUSH_SHARE_H
#define SERVER_PUSH_SHARE_H

#include "base/str.h"
#include "base/table.h"

struct push_shares {
    struct table table;
    uint64_t count_max; /* of one tenant; */
    uint64_t bytes_max; /* none is begun when it has so many */
};

/* Of what all may have together: `count` from 1. */
void push_shares_init(struct push_shares *s, uint64_t count, uint64_t bytes);
void push_shares_fini(struct push_shares *s);

bool push_share_is_full(const struct push_shares *s, struct str tenant);
/* One more is under way. False if out of memory. */
bool push_share_take(struct push_shares *s, struct str tenant, size_t bytes);
/* One that was taken, with as many bytes, is over. True: its share was full and is not now. */
bool push_share_return(struct push_shares *s, struct str tenant, size_t bytes);

#endif
