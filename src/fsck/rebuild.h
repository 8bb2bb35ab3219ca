/* SPDX-License-Identifier: MIT */
/*
 * A run whose header, root, index or filter is damaged, written anew from its data blocks. Nothing
 * but the journal's description tells how long it was and where its root stood, and the journal is
 * not changed: so it is replaced only if the same entries give a log of exactly that layout.
 */
#ifndef FSCK_REBUILD_H
#define FSCK_REBUILD_H

#include <limits.h>

#include "engine/cold.h"

struct rebuild {
    const char *dir;
    struct str log;
    const struct run_desc *d; /* all borrowed */
    uint64_t whole;           /* entries in blocks that can be read without an index */
    bool possible;            /* those are all, and give what the journal describes */
    uint64_t filter_items;
};

/* Looks what can be done; dir, log and d are set. Changes nothing. IO, NOMEM, NOTFOUND. */
int rebuild_look(struct rebuild *r);

/* After a look that says it is possible: puts the new log in the old one's place. ret_kept says
 * where that is kept. LOCKED, IO, FULL, CORRUPT (it changed since): then nothing was changed. */
int rebuild_run(const struct rebuild *r, char ret_kept[PATH_MAX]);

#endif
