/* SPDX-License-Identifier: MIT */
#include "fsck/aside.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

int aside_move(struct disk *d, const char *dir, const char *path, const char *name,
               char ret_kept[PATH_MAX])
{
    unsigned n = 0;
    int err;

    do {
        int at = snprintf(ret_kept, PATH_MAX, "%s/damaged/", dir);

        snprintf(ret_kept + at, PATH_MAX - (size_t)at, "%s.%u", name, ++n);
        for (char *c = ret_kept + at; (c = strchr(c, '/')); c++)
            *c = '+';
    } while (access(ret_kept, F_OK) == 0);
    err = disk_make_parent(d, ret_kept);
    if (!err && rename(path, ret_kept) < 0)
        err = -errno;
    if (!err)
        err = disk_sync_parent(d, ret_kept);
    if (!err)
        err = disk_sync_parent(d, path);
    return err ? disk_fail(err, ret_kept, "move") : 0;
}
