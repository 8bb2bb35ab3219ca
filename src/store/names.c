/* SPDX-License-Identifier: MIT */
#include "store/names.h"

#include <assert.h>
#include <stdlib.h>

#include "base/array.h"

void names_fini(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->items[i]);
    free(n->items);
    *n = (struct names){ 0 };
}

int names_add(struct names *n, struct str name)
{
    char **items = array_room(n->items, n->count, &n->cap, sizeof(*items));
    if (items)
        n->items = items;
    char *copy = items ? strndup(name.ptr, name.len) : NULL;
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
    int r = 0;
    for (size_t i = 0; i < n->count && r == 0; i++)
        r = fn(arg, str_of(n->items[i]));
    return r;
}

size_t nameset_find(const struct nameset *set, struct str name)
{
    size_t lo = 0;
    size_t hi = set->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (str_compare(*set->items[mid], name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct str *nameset_get(const struct nameset *set, struct str name)
{
    size_t at = nameset_find(set, name);
    return at < set->count && str_eq(*set->items[at], name) ? set->items[at] : NULL;
}

int nameset_reserve(struct nameset *set)
{
    struct str **items = array_room(set->items, set->count, &set->cap, sizeof(*items));
    if (!items)
        return BELFRY_NOMEM;
    set->items = items;
    return 0;
}

void nameset_add(struct nameset *set, struct str *name)
{
    size_t at = nameset_find(set, *name);
    memmove(set->items + at + 1, set->items + at, (set->count - at) * sizeof(*set->items));
    set->items[at] = name;
    set->count++;
}

void nameset_remove(struct nameset *set, const struct str *name)
{
    size_t at = nameset_find(set, *name);
    assert(set->items[at] == name);
    set->count--;
    memmove(set->items + at, set->items + at + 1, (set->count - at) * sizeof(*set->items));
}
