/* SPDX-License-Identifier: MIT */
/* Preloaded into the server: beside its first it has at most $FEWTHREADS threads at a time, as
 * where the system has a limit on them. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct start {
    void *(*fn)(void *);
    void *arg;
};

static atomic_int threads;

static void *run(void *arg)
{
    struct start s = *(struct start *)arg;
    void *ret;

    free(arg);
    ret = s.fn(s.arg);
    threads--;
    return ret;
}

int pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    int (*make)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *s = malloc(sizeof(*s));
    int err;

    if (!s || ++threads > atoi(getenv("FEWTHREADS"))) {
        threads--;
        free(s);
        return EAGAIN;
    }
    *s = (struct start){ fn, arg };
    *(void **)&make = dlsym(RTLD_NEXT, "pthread_create");
    err = make(ret, attr, run, s);
    if (err)
        threads--;
    return err;
}
