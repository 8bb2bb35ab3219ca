/* SPDX-License-Identifier: MIT */
#include "store/inodes.h"

#include <stdlib.h>

#include "store/store.h"

void inodes_fini(struct inodes *s)
{
    free(s->items);
    *s = (struct inodes){ 0 };
}

int inodes_add(struct inodes *s, const struct stat *st)
{
    if (s->count == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 64;
        struct inode *items = realloc(s->items, cap * sizeof(*items));
        if (!items)
            return store_fail(BELFRY_NOMEM, "no memory for a list of files");
        s->items = items;
        s->cap = cap;
    }
    s->items[s->count++] = (struct inode){ st->st_dev, st->st_ino };
    return 0;
}

bool inodes_has(const struct inodes *s, const struct stat *st)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->items[i].dev == st->st_dev && s->items[i].ino == st->st_ino)
            return true;
    }
    return false;
}
