/* SPDX-License-Identifier: MIT */
#include "base/named.h"

#include <stdlib.h>
#include <xxhash.h>

static bool name_matches(const struct table_node *node, const void *name)
{
    return str_eq(((const struct named *)node)->name, *(const struct str *)name);
}

void named_init(struct table *t)
{
    table_init(t, table_entry_hash);
}

void named_add(struct table *t, struct named *thing, char *text, struct str name)
{
    memcpy(text, name.ptr, name.len);
    thing->name = (struct str){ text, name.len };
    thing->hash = XXH3_64bits(name.ptr, name.len);
    table_add(t, &thing->node);
}

struct named *named_find(const struct table *t, struct str name)
{
    return (struct named *)table_find(t, XXH3_64bits(name.ptr, name.len), name_matches, &name);
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
