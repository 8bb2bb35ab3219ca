/* SPDX-License-Identifier: MIT */
/* An open run, for the files of this folder. */
#ifndef RUN_READER_H
#define RUN_READER_H

#include "run/block.h"

struct run {
    struct store *store;
    char log[STORE_NAME_MAX + 1];
    struct run_info info;
    struct block_root root;
};

/* Copies element `seq`, which the store has at `at`, to *ret. */
int run_fetch(const struct run *r, uint64_t seq, uint64_t at, struct buf *ret);
/* CORRUPT, with detail. */
int run_damaged(const struct run *r, uint64_t seq, const char *what);

/* As run_seek, or to the first key >= it. */
int run_seek_to(struct run_cursor *c, struct run *r, struct str key, bool or_equal);

#endif
