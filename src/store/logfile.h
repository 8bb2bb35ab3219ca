/* SPDX-License-Identifier: MIT */
/*
 * One log as a file (format: element.h). The struct remembers places in the file, so that appends,
 * and reads that go on where the last read stopped, cost no scan.
 *
 * Invariant: [LOG_START, durable) survives a loss of power; `end` is behind the last element that
 * was acknowledged or read. Calls on one log come one at a time, with `lock` held if there are
 * several threads. Only logfile_read_at may come at any time, once the log is open.
 */
#ifndef STORE_LOGFILE_H
#define STORE_LOGFILE_H

#include <pthread.h>

#include "base/list.h"
#include "store/disk.h"
#include "store/element.h"
#include "store/store.h"

#define LOGFILE_MARKS 32

struct logfile_mark {
    uint64_t seq;
    uint64_t offset;
};

struct logfile {
    struct str name; /* points into name_bytes */
    char name_bytes[STORE_NAME_MAX + 1];
    char *path;
    _Atomic int fd; /* -1: not opened. Once it is, `key` does not change. */
    struct log_key key;

    pthread_mutex_t lock; /* guards the members below */
    uint64_t end;         /* valid if ended: the place of the next element */
    uint64_t next;        /* valid if ended: the number of the next element */
    uint64_t durable;     /* offset */
    uint64_t size;        /* of the file; 0: not asked yet */
    uint64_t begun;       /* offset up to which the system was asked to begin writing */
    bool ended;
    bool torn;      /* a half-written element is at `end` */
    bool inherited; /* written by an earlier process and not synced since */
    bool poisoned;  /* a write or sync failed: no appends until a sync succeeds */
    bool unplaced;  /* the directory entry is not durable yet */

    /* Places from which a read can start. Marks are at least `stride` bytes apart, and thinned out
     * as the log grows. Cursors are the last element that was read, and the next one. */
    struct logfile_mark marks[LOGFILE_MARKS];
    unsigned mark_count;
    uint64_t stride;
    struct logfile_mark cursors[2];

    /* For logtable.c. */
    struct list node;
    unsigned users;
    bool listed;
    atomic_bool gone; /* the log is being removed, or was */
    /* For file.c. */
    atomic_bool busy; /* an append, sync or removal is under way */
};

/* Takes `path` over, also on failure. NOMEM. */
int logfile_new(struct str name, char *path, struct logfile **ret);
void logfile_free(struct logfile *f);

/* Opens the file and checks its header. NOTFOUND, CORRUPT, IO. */
int logfile_open(struct logfile *f, bool read_only);

/* Makes the file at `beside` this log. Its header and its first element (none if empty) are on disk
 * then, and the file still has that name. The file is open as `fd`, which the log takes over on
 * success only. FULL, IO. */
int logfile_create(struct logfile *f, struct disk *d, int fd, const char *beside,
                   struct str element);
/* Moves the file from `beside` to the name of the log. IO: the log is poisoned if it has its name.
 */
int logfile_place(struct logfile *f, struct disk *d, const char *beside, bool durable);

/* Append (without fencing), sync and read of the store contract. */
int logfile_append(struct logfile *f, struct disk *d, const struct store_append *a);
int logfile_sync(struct logfile *f, struct disk *d);
int logfile_read(struct logfile *f, uint64_t from, store_element_fn *fn, void *arg,
                 struct store_tail *ret);
/* A read with a hint. It takes the lock only at the end of the log, to judge the end. */
int logfile_read_at(struct logfile *f, uint64_t from, uint64_t at, store_element_fn *fn, void *arg,
                    struct store_tail *ret);

/* Closing the log forgets nothing: all is durable, or was written by another process. */
bool logfile_settled(const struct logfile *f);

#endif
