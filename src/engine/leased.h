/* SPDX-License-Identifier: MIT */
/* The memory of leased jobs, as the host sees it: see place/leased.c. */
#ifndef ENGINE_LEASED_H
#define ENGINE_LEASED_H

#include "base/str.h"

struct engine;

struct leased_view {
    uint64_t bytes;
    uint64_t holds;    /* how many times a tenant reached its share or max_leased and had more */
    bool full;         /* leased jobs of all tenants take as much as they may */
    struct str tenant; /* of the tenants that wait for memory the last one; empty: none does */
    uint64_t tenant_bytes; /* of its leased jobs */
    uint64_t share_bytes;  /* at which it is given no more */
    bool capped;           /* its max_leased is reached */
};

void engine_leased(const struct engine *e, struct leased_view *ret);

#endif
