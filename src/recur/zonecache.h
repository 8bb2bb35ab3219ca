/* SPDX-License-Identifier: MIT */
/*
 * The zones that were asked for last, so that a zone is read from disk once and not with every
 * request. The cache has at most ZONECACHE_MAX zones, of some kilobytes each. A zone stays as it
 * was read. A new zone file of the system is read when the cache has dropped the zone, or after a
 * restart. A cache is for one thread.
 */
#ifndef RECUR_ZONECACHE_H
#define RECUR_ZONECACHE_H

#include "recur/zonedir.h"

#define ZONECACHE_MAX 64

/* All zero to begin with. */
struct zonecache {
    struct {
        char name[ZONEDIR_NAME_MAX];
        size_t name_len;
        uint64_t used; /* the later the higher */
        struct zone *zone;
    } rows[ZONECACHE_MAX];
    uint64_t uses;
};

/* Answers as zonedir_load, and blocks as that does if the cache does not have the zone yet. The
 * cache owns the zone, which lives until the next call. */
int zonecache_get(struct zonecache *c, const char *dir, struct str name, const struct zone **ret,
                  const char **ret_why);
void zonecache_fini(struct zonecache *c);

#endif
