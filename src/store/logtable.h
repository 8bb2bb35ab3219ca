/* SPDX-License-Identifier: MIT */
/*
 * The logs that are open: a bounded number, the least recently used one closed for the next, unless
 * it is in use or holds something that closing would forget. Calls may come from any thread; what
 * is acquired belongs to the caller until it is released.
 */
#ifndef STORE_LOGTABLE_H
#define STORE_LOGTABLE_H

#include <pthread.h>

#include "store/logfile.h"

#define LOGTABLE_OPEN 128

struct logtable {
    pthread_mutex_t lock;
    struct logfile **items; /* sorted by name */
    size_t count;
    size_t cap;
    struct list used; /* least recently used first */
};

void logtable_init(struct logtable *t);
void logtable_fini(struct logtable *t);

/* The log of that name, new and not opened (fd -1) if it was not in the table. The caller makes
 * calls on one log one at a time (asserted). NOMEM. */
int logtable_acquire(struct logtable *t, const char *dir, struct str name, struct logfile **ret);
/* One that is not opened is forgotten. */
void logtable_release(struct logtable *t, struct logfile *f);

#endif
