/* SPDX-License-Identifier: MIT */
/* Repairing the small records of a data directory: who owns a partition, and its layout. */
#ifndef FSCK_RECORDS_H
#define FSCK_RECORDS_H

#include "fsck/journal.h"

/* Moves records that cannot be read to DIR/damaged and says so; with `dry` it only says so.
 * *ret_any is set if there were any. LOCKED, IO, with store_detail(). */
int records_set_aside(const char *dir, bool dry, bool *ret_any);

/* Writes the record of a partition's owner anew, after its journal was repaired: with the end that
 * this has now and, if the record was missing or behind, with an epoch beyond any that the journal
 * tells of, so that no token is given twice. LOCKED, IO, FULL. */
int records_restore_owner(const struct journal *j, bool dry);

#endif
