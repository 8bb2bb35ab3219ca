/* SPDX-License-Identifier: MIT */
/*
 * The logs that are open: a bounded number, the least recently used one closed for the next, unless
 * it is in use or holds something that closing would forget. Calls may come from any thread. An
 * acquired log stays open, with its descriptor, until every caller that acquired it has released
 * it.
 */
#ifndef STORE_LOGTABLE_H
#define STORE_LOGTABLE_H

#include <pthread.h>

#include "store/logfile.h"
#include "store/names.h"

#define LOGTABLE_OPEN 128

struct logtable {
    pthread_mutex_t lock;
    struct nameset logs;
    struct list used; /* least recently used first */
};

void logtable_init(struct logtable *t);
void logtable_fini(struct logtable *t);

/* The log of that name, new and not opened (fd -1) if it was not in the table. NOMEM, NOTFOUND if
 * it is being removed. */
int logtable_acquire(struct logtable *t, const char *dir, struct str name, struct logfile **ret);
/* The last one out forgets a log that is not opened. */
void logtable_release(struct logtable *t, struct logfile *f);

/*
 * A removal, by a caller that has acquired the log. First no new caller finds the log, so that no
 * caller opens its file, which is then given away. After that the name is free. Readers that are
 * still under way keep the descriptor, and see by `gone` why they may find another log's bytes.
 */
void logtable_bar(struct logtable *t, struct logfile *f);
void logtable_free_name(struct logtable *t, struct logfile *f);

#endif
