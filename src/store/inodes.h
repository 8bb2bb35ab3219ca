/* SPDX-License-Identifier: MIT */
/* A set of files, told apart by their inodes: a loss of power may leave one file with two names. */
#ifndef STORE_INODES_H
#define STORE_INODES_H

#include <sys/stat.h>

#include "base/buf.h"
#include "store/store.h"

struct inode {
    dev_t dev;
    ino_t ino;
};

struct inodes {
    struct buf items; /* of struct inode */
};

static inline void inodes_fini(struct inodes *s)
{
    buf_fini(&s->items);
}

/* NOMEM. */
static inline int inodes_add(struct inodes *s, const struct stat *st)
{
    struct inode item = { st->st_dev, st->st_ino };
    buf_append(&s->items, &item, sizeof item);
    return s->items.failed ? store_fail(BELFRY_NOMEM, "no memory for a list of files") : 0;
}

static inline bool inodes_has(const struct inodes *s, const struct stat *st)
{
    for (size_t at = 0; at < s->items.len; at += sizeof(struct inode)) {
        struct inode item;
        memcpy(&item, s->items.ptr + at, sizeof item);
        if (item.dev == st->st_dev && item.ino == st->st_ino)
            return true;
    }
    return false;
}

#endif
