/* SPDX-License-Identifier: MIT */
#include "store/cellset.h"

#include <stdlib.h>

#include "store/names.h"

void cellset_fini(struct cellset *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->items[i]);
    free(set->items);
    *set = (struct cellset){ 0 };
}

/* Index of the first item that is not before `name`. */
static size_t lower_bound(const struct cellset *set, struct str name)
{
    size_t lo = 0;
    size_t hi = set->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (names_compare(set->items[mid]->cell.name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool live(const struct store_cell *r, int64_t now_ms)
{
    return r->expires_ms == 0 || r->expires_ms > now_ms;
}

uint64_t cellset_version(const struct cellset *set, struct str name, int64_t now_ms)
{
    size_t at = lower_bound(set, name);
    if (at == set->count || !str_eq(set->items[at]->cell.name, name))
        return 0;
    const struct store_cell *r = &set->items[at]->cell;
    return live(r, now_ms) ? r->version : 0;
}

int cellset_prepare(struct cellset *set, const struct store_cell *cell, struct cellset_item **ret)
{
    if (set->count == set->cap) {
        size_t cap = set->cap ? set->cap * 2 : 8;
        struct cellset_item **items = realloc(set->items, cap * sizeof(*items));
        if (!items)
            return store_fail(BELFRY_NOMEM, "no memory for a record");
        set->items = items;
        set->cap = cap;
    }
    struct cellset_item *item = malloc(sizeof(*item) + cell->name.len + cell->value.len);
    if (!item)
        return store_fail(BELFRY_NOMEM, "no memory for a record");
    item->cell = *cell;
    memcpy(item->bytes, cell->name.ptr, cell->name.len);
    if (cell->value.len > 0)
        memcpy(item->bytes + cell->name.len, cell->value.ptr, cell->value.len);
    item->cell.name.ptr = item->bytes;
    item->cell.value.ptr = item->bytes + cell->name.len;
    *ret = item;
    return 0;
}

void cellset_put(struct cellset *set, struct cellset_item *item)
{
    size_t at = lower_bound(set, item->cell.name);
    if (at < set->count && str_eq(set->items[at]->cell.name, item->cell.name)) {
        free(set->items[at]);
        set->items[at] = item;
        return;
    }
    memmove(set->items + at + 1, set->items + at, (set->count - at) * sizeof(*set->items));
    set->items[at] = item;
    set->count++;
}

void cellset_drop(struct cellset *set, struct str name)
{
    size_t at = lower_bound(set, name);
    if (at == set->count || !str_eq(set->items[at]->cell.name, name))
        return;
    free(set->items[at]);
    set->count--;
    memmove(set->items + at, set->items + at + 1, (set->count - at) * sizeof(*set->items));
}

int cellset_copy(const struct cellset *set, struct str prefix, int64_t now_ms, struct cellset *ret)
{
    for (size_t i = lower_bound(set, prefix); i < set->count; i++) {
        const struct store_cell *r = &set->items[i]->cell;
        struct cellset_item *copy;
        if (!str_starts(r->name, prefix))
            break;
        if (!live(r, now_ms))
            continue;
        int err = cellset_prepare(ret, r, &copy);
        if (err < 0)
            return err;
        cellset_put(ret, copy);
    }
    return 0;
}

int cellset_each(const struct cellset *set, store_cell_fn *fn, void *arg)
{
    for (size_t i = 0; i < set->count; i++) {
        int r = fn(arg, &set->items[i]->cell);
        if (r != 0)
            return r;
    }
    return 0;
}
