/* SPDX-License-Identifier: MIT */
/* A growing list of names, collected under a lock or from a directory and walked without either. */
#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include "store/store.h"

struct names {
    char **items; /* terminated, owned */
    size_t count;
    size_t cap;
};

void names_fini(struct names *n);
/* Copies `name`. NOMEM. */
int names_add(struct names *n, struct str name);
/* By bytes, as `list` and `scan` promise. */
void names_sort(struct names *n);
/* Calls fn for each in turn; its first answer other than 0 stops and is returned. */
int names_each(const struct names *n, store_name_fn *fn, void *arg);

/* < 0, 0, > 0 by bytes; a prefix comes first. */
int names_compare(struct str a, struct str b);

#endif
