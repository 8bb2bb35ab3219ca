/* SPDX-License-Identifier: MIT */
/* The store in a directory of the local file system: the embedded default. Layout: datadir.h. */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include "store/disk.h"
#include "store/store.h"

/* For the table in store.c. */
int file_open(const char *dir, const struct store_options *o, struct store **ret);

/* For tests: from now on every write and sync of this store goes through the hooks, which must
 * outlive the store. */
void file_set_hooks(struct store *s, const struct disk_hooks *hooks);

#endif
