/* SPDX-License-Identifier: MIT */
/* A set of files, told apart by what they are and not by their names: a loss of power may leave one
 * file with two names. */
#ifndef STORE_INODES_H
#define STORE_INODES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct inodes {
    struct inode {
        dev_t dev;
        ino_t ino;
    } * items;
    size_t count;
    size_t cap;
};

void inodes_fini(struct inodes *s);
/* NOMEM. */
int inodes_add(struct inodes *s, const struct stat *st);
bool inodes_has(const struct inodes *s, const struct stat *st);

#endif
