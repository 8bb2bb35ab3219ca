/* SPDX-License-Identifier: MIT */
#include "store/cellset.h"

#include <stdlib.h>

#include "base/list.h"

static struct store_cell *cell_of(struct str *name)
{
    return container_of(name, struct store_cell, name);
}

void cellset_fini(struct cellset *set)
{
    for (size_t i = 0; i < set->cells.count; i++)
        free(cell_of(set->cells.items[i]));
    free(set->cells.items);
    *set = (struct cellset){ 0 };
}

static bool is_live(const struct store_cell *c, int64_t now_ms)
{
    return c->expires_ms == 0 || c->expires_ms > now_ms;
}

int cellset_check(const struct cellset *set, struct str name, int64_t now_ms, uint64_t expect,
                  int err)
{
    struct str *found = nameset_get(&set->cells, name);
    uint64_t version = found && is_live(cell_of(found), now_ms) ? cell_of(found)->version : 0;
    if (version == expect)
        return 0;
    return store_fail(err, "%.*s has version %llu, not %llu", STR_ARG(name),
                      (unsigned long long)version, (unsigned long long)expect);
}

/* Name and value stand behind the struct. */
int cellset_prepare(struct cellset *set, const struct store_cell *cell, struct store_cell **ret)
{
    bool room = nameset_reserve(&set->cells) == 0;
    struct store_cell *copy =
        room ? malloc(sizeof(*copy) + cell->name.len + cell->value.len) : NULL;
    if (!copy)
        return store_fail(BELFRY_NOMEM, "no memory for a record");
    char *bytes = (char *)(copy + 1);
    *copy = *cell;
    memcpy(bytes, cell->name.ptr, cell->name.len);
    if (cell->value.len > 0)
        memcpy(bytes + cell->name.len, cell->value.ptr, cell->value.len);
    copy->name.ptr = bytes;
    copy->value.ptr = bytes + cell->name.len;
    *ret = copy;
    return 0;
}

void cellset_put(struct cellset *set, struct store_cell *copy)
{
    cellset_drop(set, copy->name);
    nameset_add(&set->cells, &copy->name);
}

int cellset_add(struct cellset *set, const struct store_cell *cell)
{
    struct store_cell *copy;
    int r = cellset_prepare(set, cell, &copy);
    if (r == 0)
        cellset_put(set, copy);
    return r;
}

void cellset_drop(struct cellset *set, struct str name)
{
    struct str *found = nameset_get(&set->cells, name);
    if (!found)
        return;
    nameset_remove(&set->cells, found);
    free(cell_of(found));
}

int cellset_copy(const struct cellset *set, struct str prefix, int64_t now_ms, struct cellset *ret)
{
    const struct nameset *cells = &set->cells;
    int r = 0;
    for (size_t i = nameset_find(cells, prefix); i < cells->count && r == 0; i++) {
        const struct store_cell *c = cell_of(cells->items[i]);
        if (!str_starts(c->name, prefix))
            break;
        if (is_live(c, now_ms))
            r = cellset_add(ret, c);
    }
    return r;
}

int cellset_each(const struct cellset *set, store_cell_fn *fn, void *arg)
{
    int r = 0;
    for (size_t i = 0; i < set->cells.count && r == 0; i++)
        r = fn(arg, cell_of(set->cells.items[i]));
    return r;
}
