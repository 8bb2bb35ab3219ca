/* SPDX-License-Identifier: MIT */
/* Names in the order of their bytes: copies of them, and sets of things that have a name. */
#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include "store/store.h"

/* A list of copies, collected under a lock or from a directory and walked without either. */
struct names {
    char **items; /* terminated, owned */
    size_t count;
    size_t cap;
};

void names_fini(struct names *n);
/* Copies `name`. NOMEM. */
int names_add(struct names *n, struct str name);
void names_sort(struct names *n);
/* Calls fn for each name in turn. The first answer other than 0 stops the walk and is returned. */
int names_each(const struct names *n, store_name_fn *fn, void *arg);

/* A set of things, sorted by name. Each item points to the member of a thing that is its name. */
struct nameset {
    struct str **items;
    size_t count;
    size_t cap;
};

/* The place of the first item that is not before `name`. */
size_t nameset_find(const struct nameset *set, struct str name);
/* The item of that name, or NULL. */
struct str *nameset_get(const struct nameset *set, struct str name);
/* Makes room for one item more. NOMEM. */
int nameset_reserve(struct nameset *set);
/* Adds an item, for which there is room. */
void nameset_add(struct nameset *set, struct str *name);
void nameset_remove(struct nameset *set, const struct str *name);

#endif
