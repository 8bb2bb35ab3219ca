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
    struct str tenant; /* the last of the tenants that wait for memory; empty: none waits */
    uint64_t tenant_bytes; /* the memory of that tenant's leased jobs */
    uint64_t share_bytes;  /* the memory at which that tenant is given no further job */
    bool capped;           /* that tenant has reached its max_leased */
};

void engine_leased(const struct engine *e, struct leased_view *ret);

#endif
