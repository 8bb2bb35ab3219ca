/* SPDX-License-Identifier: MIT */
#include "recur/zonecache.h"

/* The row that has the zone, or else the one whose turn it is to go. */
static size_t find(const struct zonecache *c, struct str name)
{
    size_t oldest = 0;
    for (size_t i = 0; i < ZONECACHE_MAX; i++) {
        if (c->rows[i].zone && str_eq((struct str){ c->rows[i].name, c->rows[i].name_len }, name))
            return i;
        if (c->rows[i].used < c->rows[oldest].used)
            oldest = i;
    }
    return oldest;
}

int zonecache_get(struct zonecache *c, const char *dir, struct str name, const struct zone **ret,
                  const char **ret_why)
{
    size_t i = find(c, name);
    struct str has = { c->rows[i].name, c->rows[i].name_len };
    if (!c->rows[i].zone || !str_eq(has, name)) {
        struct zone *zone;
        int err = zonedir_load(dir, name, &zone, ret_why);
        if (err)
            return err;
        zone_free(c->rows[i].zone);
        c->rows[i].zone = zone;
        c->rows[i].name_len = name.len; /* it is a good name, so there is room */
        memcpy(c->rows[i].name, name.ptr, name.len);
    }
    c->rows[i].used = ++c->uses;
    *ret = c->rows[i].zone;
    return 0;
}

void zonecache_fini(struct zonecache *c)
{
    for (size_t i = 0; i < ZONECACHE_MAX; i++)
        zone_free(c->rows[i].zone);
    *c = (struct zonecache){ 0 };
}
