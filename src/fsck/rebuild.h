/* SPDX-License-Identifier: MIT */
/* Writing a run anew from its data blocks, if its header, root, index or filter is damaged. The
 * journal describes how long the run is and where its root stands, and repair does not change the
 * journal. So the run is replaced only if its entries give a log of exactly that layout. */
#ifndef FSCK_REBUILD_H
#define FSCK_REBUILD_H

#include <limits.h>

#include "engine/cold.h"

struct rebuild {
    const char *dir;          /* the data directory; borrowed */
    struct str log;           /* the run's name; borrowed */
    const struct run_desc *d; /* how the journal describes the run; borrowed */
    uint64_t whole;           /* entries in blocks that can be read without an index */
    bool possible;            /* those are all entries, and give the layout described */
    uint64_t filter_items;    /* size of the new filter; 0: the run has none */
};

/* Finds out whether the run can be written anew; the caller has set dir, log and d. Changes
 * nothing. IO, NOMEM, NOTFOUND. */
int rebuild_look(struct rebuild *r);

/* Puts the new log in the place of the old one, which is kept as ret_kept; rebuild_look() has said
 * that it is possible. After an error nothing is changed: LOCKED, IO, FULL, CORRUPT (the old log
 * changed meanwhile). */
int rebuild_run(const struct rebuild *r, char ret_kept[PATH_MAX]);

#endif
