/* SPDX-License-Identifier: MIT */
/*
 * The open logs, a bounded number. The table closes the least recently used one for the next,
 * unless it is in use or closing would forget something. Calls may come from any thread. An
 * acquired log stays open, with its descriptor, until its last caller releases it.
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

/* The log of that name; if it was not in the table, a new one that is not opened (fd -1). NOMEM,
 * NOTFOUND if the log is being removed. */
int logtable_acquire(struct logtable *t, const char *dir, struct str name, struct logfile **ret);
/* The last caller forgets a log that is not opened. */
void logtable_release(struct logtable *t, struct logfile *f);

/*
 * The two halves of a removal, by a caller that has acquired the log. After logtable_bar no other
 * caller can acquire the log, and its file may be given away. After logtable_free_name the name is
 * free. Readers under way keep the descriptor; if `gone`, they may find bytes of another log.
 */
void logtable_bar(struct logtable *t, struct logfile *f);
void logtable_free_name(struct logtable *t, struct logfile *f);

#endif
