/* SPDX-License-Identifier: MIT */
/* Putting a file aside that a server would remove or refuse: it is kept as DIR/damaged/NAME.N. */
#ifndef FSCK_ASIDE_H
#define FSCK_ASIDE_H

#include <limits.h>

#include "store/disk.h"

/* Moves the file, durably; `name` may have slashes, each of which becomes a '+'. The caller holds
 * the directory's lock. ret_kept is the new path. IO, FULL, with store_detail(). */
int aside_move(struct disk *d, const char *dir, const char *path, const char *name,
               char ret_kept[PATH_MAX]);

#endif
