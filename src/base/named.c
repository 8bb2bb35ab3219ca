/* SPDX-License-Identifier: MIT */
#include "base/named.h"

#include <stdlib.h>

static bool name_matches(const struct table_node *node, const void *name)
{
    return str_eq(((const struct named *)node)->name, *(const struct str *)name);
}

void named_init(struct table *t, struct hash_key key)
{
    table_init(t, table_entry_hash);
    t->key = key;
}

void named_add(struct table *t, struct named *thing, char *text, struct str name)
{
    memcpy(text, name.ptr, name.len);
    thing->name = (struct str){ text, name.len };
    thing->hash = hash_quick(t->key, name);
    table_add(t, &thing->node);
}

struct named *named_find(const struct table *t, struct str name)
{
    return (struct named *)table_find(t, hash_quick(t->key, name), name_matches, &name);
}

static int by_name(const void *a, const void *b)
{
    return str_compare((*(const struct named *const *)a)->name,
                       (*(const struct named *const *)b)->name);
}

void named_sort(const struct named **things, size_t n)
{
    qsort(things, n, sizeof(*things), by_name);
}
