/* SPDX-License-Identifier: MIT */
/* Things that a table finds by their names. */
#ifndef BASE_NAMED_H
#define BASE_NAMED_H

#include "base/str.h"
#include "base/table.h"

struct named {
    struct table_node node;
    uint64_t hash;   /* of the name; see table_entry_hash */
    struct str name; /* the bytes belong to the thing that has the name */
};

/* Names come from outside: the key must be one that clients do not know. */
void named_init(struct table *t, struct hash_key key);
/* Copies the name to `text`, which belongs to the thing and has room for it. */
void named_add(struct table *t, struct named *thing, char *text, struct str name);
/* NULL: nothing has this name. */
struct named *named_find(const struct table *t, struct str name);
/* Brings things into the order of their names. */
void named_sort(const struct named **things, size_t n);

#endif
