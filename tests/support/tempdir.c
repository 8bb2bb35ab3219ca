/* SPDX-License-Identifier: MIT */
#include "support/tempdir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

int tempdir_make(char *ret, size_t size, const char *name)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(ret, size, "%s/belfry-%s-XXXXXX", tmp ? tmp : "/tmp", name);
    return mkdtemp(ret) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

void tempdir_remove(const char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
