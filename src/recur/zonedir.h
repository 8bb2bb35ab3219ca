/* SPDX-License-Identifier: MIT */
/*
 * Zones by name from a directory of TZif files: the only part of this layer that reads anything.
 * Blocks on the disk. Nothing is cached.
 */
#ifndef RECUR_ZONEDIR_H
#define RECUR_ZONEDIR_H

#include "base/str.h"
#include "recur/zone.h"

#define ZONEDIR_DEFAULT  "/usr/share/zoneinfo"
#define ZONEDIR_NAME_MAX 128

/* 1-128 of A-Z a-z 0-9 _ - + . /, relative, no part of the path empty or beginning with a point. */
bool zonedir_name_ok(struct str name);

/* INVALID for a bad name, NOTFOUND if there is no such zone, CORRUPT if its file is damaged, IO,
 * NOMEM. *ret_why is a static sentence; it may be NULL. "UTC" is known without a file. The caller
 * owns the zone. */
int zonedir_load(const char *dir, struct str name, struct zone **ret, const char **ret_why);

#endif
