/* SPDX-License-Identifier: MIT */
/*
 * Reads the bytes of a TZif file (RFC 9636, versions 1 to 4) into a zone.
 *
 *     header | data with 32-bit times | header | data with 64-bit times | \n rule \n
 *              version 1 ends here
 *
 *     header    "TZif" version 15 zeros, then six 32-bit counts, most significant byte first
 *     data      times of change | type after each | types (offset, dst, abbreviation)
 *               | abbreviations | leap seconds | standard or wall | UT or local
 */
#ifndef RECUR_TZFILE_H
#define RECUR_TZFILE_H

#include "base/str.h"
#include "recur/zone.h"

#define TZFILE_BYTES_MAX   (256u << 10)
#define TZFILE_CHANGES_MAX 4096u
#define TZFILE_MAGIC       "TZif"

/* Parses a zone file, and keeps no pointer to the bytes. CORRUPT: the file is no sound zone file;
 * ret_why, if not NULL, gets a static sentence. INVALID: the file counts leap seconds, but Belfry's
 * moments do not. NOMEM. */
int tzfile_parse(struct str bytes, struct zone **ret, const char **ret_why);

#endif
