/* SPDX-License-Identifier: MIT */
/*
 * The system calls of the store, taken over by the linker (-Wl,--wrap): those on paths below
 * PLATTER_ROOT, and on descriptors of such files, go to the platter that is in the drive. The
 * clock, random numbers and threads are the test's too, so that a seed means one run.
 *
 * Before each call that matters the watcher is asked. It may fail the call, take its time, or have
 * the power go.
 */
#ifndef POWER_CALLS_H
#define POWER_CALLS_H

#include <pthread.h>
#include <sys/types.h>

#include "power/platter.h"

#define CALLS(X)                  \
    X(OPEN, "open")               \
    X(CREATE, "create")           \
    X(MKDIR, "mkdir")             \
    X(READ, "read")               \
    X(WRITE, "write")             \
    X(RESIZE, "resize")           \
    X(SYNC, "sync")               \
    X(SYNC_DIR, "sync directory") \
    X(RENAME, "rename")           \
    X(UNLINK, "unlink")           \
    X(LINK, "link")               \
    X(LIST, "list directory")

enum call_kind {
#define CALL_ENUM(name, text) CALL_##name,
    CALLS(CALL_ENUM)
#undef CALL_ENUM
        CALL_COUNT
};

struct call {
    enum call_kind kind;
    const char *path; /* where there is one */
    size_t len;       /* of reads and writes; may be shortened */
    int errnum;       /* set by the watcher: the call fails with this error */
    bool partly;      /* a write fails after it has taken its first `len` bytes */
};

/* `done` false: before the call. True: after it, when it has succeeded. */
typedef void calls_watch_fn(void *arg, struct call *c, bool done);

struct calls {
    struct platter *platter;
    calls_watch_fn *watch; /* may be NULL */
    void *arg;
    struct rng *rng; /* for syncs that fail */
};

/* What is in the drive. The drive that was there before is returned, to be put back. */
struct calls calls_insert(struct calls c);
struct platter *calls_platter(void);
const char *call_text(enum call_kind kind);

/* The wall clock. */
extern int64_t calls_now_ms;
#define CALLS_START_MS INT64_C(1794778000000)

/* What the linker calls the system's own. */
int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __real_pthread_join(pthread_t id, void **ret);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_rwlock_rdlock(pthread_rwlock_t *l);
int __real_pthread_rwlock_wrlock(pthread_rwlock_t *l);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t);
int __real_pthread_cond_signal(pthread_cond_t *c);

/* What the linker calls instead. */
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_join(pthread_t id, void **ret);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *l);
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *l);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t);
int __wrap_pthread_cond_signal(pthread_cond_t *c);

#endif
