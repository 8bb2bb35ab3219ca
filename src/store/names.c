/* SPDX-License-Identifier: MIT */
#include "store/names.h"

#include <stdlib.h>

void names_fini(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->items[i]);
    free(n->items);
    *n = (struct names){ 0 };
}

int names_add(struct names *n, struct str name)
{
    if (n->count == n->cap) {
        size_t cap = n->cap ? n->cap * 2 : 16;
        char **items = realloc(n->items, cap * sizeof(*items));
        if (!items)
            return store_fail(BELFRY_NOMEM, "no memory for a list of names");
        n->items = items;
        n->cap = cap;
    }
    char *copy = strndup(name.ptr, name.len);
    if (!copy)
        return store_fail(BELFRY_NOMEM, "no memory for a list of names");
    n->items[n->count++] = copy;
    return 0;
}

static int compare_items(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void names_sort(struct names *n)
{
    if (n->count > 1)
        qsort(n->items, n->count, sizeof(*n->items), compare_items);
}

int names_each(const struct names *n, store_name_fn *fn, void *arg)
{
    for (size_t i = 0; i < n->count; i++) {
        int r = fn(arg, str_of(n->items[i]));
        if (r != 0)
            return r;
    }
    return 0;
}

int names_compare(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int r = memcmp(a.ptr, b.ptr, n);
    return r != 0 ? r : (a.len > b.len) - (a.len < b.len);
}
