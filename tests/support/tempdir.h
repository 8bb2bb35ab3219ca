/* SPDX-License-Identifier: MIT */
/* A directory for one test, below $TMPDIR or /tmp. */
#ifndef TESTS_TEMPDIR_H
#define TESTS_TEMPDIR_H

#include <stddef.h>

/* Makes it; its path, which has `name` in it, is in `ret`. -1: errno says why. */
int tempdir_make(char *ret, size_t size, const char *name);
/* Removes it with all that is in it. */
void tempdir_remove(const char *dir);

#endif
