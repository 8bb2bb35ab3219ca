/* SPDX-License-Identifier: MIT */
#include "store/recordset.h"

#include <stdlib.h>

#include "store/names.h"

void recordset_fini(struct recordset *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->items[i]);
    free(set->items);
    *set = (struct recordset){ 0 };
}

/* Index of the first item that is not before `name`. */
static size_t lower_bound(const struct recordset *set, struct str name)
{
    size_t lo = 0;
    size_t hi = set->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (names_compare(set->items[mid]->record.name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool live(const struct store_record *r, int64_t now_ms)
{
    return r->expires_ms == 0 || r->expires_ms > now_ms;
}

uint64_t recordset_version(const struct recordset *set, struct str name, int64_t now_ms)
{
    size_t at = lower_bound(set, name);
    if (at == set->count || !str_eq(set->items[at]->record.name, name))
        return 0;
    const struct store_record *r = &set->items[at]->record;
    return live(r, now_ms) ? r->version : 0;
}

int recordset_prepare(struct recordset *set, const struct store_record *record,
                      struct recordset_item **ret)
{
    if (set->count == set->cap) {
        size_t cap = set->cap ? set->cap * 2 : 8;
        struct recordset_item **items = realloc(set->items, cap * sizeof(*items));
        if (!items)
            return store_fail(BELFRY_NOMEM, "no memory for a record");
        set->items = items;
        set->cap = cap;
    }
    struct recordset_item *item = malloc(sizeof(*item) + record->name.len + record->value.len);
    if (!item)
        return store_fail(BELFRY_NOMEM, "no memory for a record");
    item->record = *record;
    memcpy(item->bytes, record->name.ptr, record->name.len);
    if (record->value.len > 0)
        memcpy(item->bytes + record->name.len, record->value.ptr, record->value.len);
    item->record.name.ptr = item->bytes;
    item->record.value.ptr = item->bytes + record->name.len;
    *ret = item;
    return 0;
}

void recordset_put(struct recordset *set, struct recordset_item *item)
{
    size_t at = lower_bound(set, item->record.name);
    if (at < set->count && str_eq(set->items[at]->record.name, item->record.name)) {
        free(set->items[at]);
        set->items[at] = item;
        return;
    }
    memmove(set->items + at + 1, set->items + at, (set->count - at) * sizeof(*set->items));
    set->items[at] = item;
    set->count++;
}

void recordset_drop(struct recordset *set, struct str name)
{
    size_t at = lower_bound(set, name);
    if (at == set->count || !str_eq(set->items[at]->record.name, name))
        return;
    free(set->items[at]);
    set->count--;
    memmove(set->items + at, set->items + at + 1, (set->count - at) * sizeof(*set->items));
}

int recordset_copy(const struct recordset *set, struct str prefix, int64_t now_ms,
                   struct recordset *ret)
{
    for (size_t i = lower_bound(set, prefix); i < set->count; i++) {
        const struct store_record *r = &set->items[i]->record;
        struct recordset_item *copy;
        if (!str_starts(r->name, prefix))
            break;
        if (!live(r, now_ms))
            continue;
        int err = recordset_prepare(ret, r, &copy);
        if (err < 0)
            return err;
        recordset_put(ret, copy);
    }
    return 0;
}

int recordset_each(const struct recordset *set, store_record_fn *fn, void *arg)
{
    for (size_t i = 0; i < set->count; i++) {
        int r = fn(arg, &set->items[i]->record);
        if (r != 0)
            return r;
    }
    return 0;
}
