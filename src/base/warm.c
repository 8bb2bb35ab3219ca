/* SPDX-License-Identifier: MIT */
#include "base/warm.h"

#include <pthread.h>
#include <sys/mman.h>

#define STEP    ((size_t)64 << 10) /* threads that map or give back memory wait that long */
#define WAITING 4                  /* further requests are not worth the thread's time any more */

#ifdef MADV_POPULATE_WRITE
#define POPULATE MADV_POPULATE_WRITE
#else
#define POPULATE 23 /* since Linux 5.14; older headers lack the name */
#endif

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool runs;
    bool stops;
    size_t first;
    size_t n;
    struct {
        void *memory;
        size_t bytes;
    } waiting[WAITING];
} w = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

void warm_now(void *memory, size_t bytes)
{
    (void)madvise(memory, bytes, POPULATE);
}

static void *run(void *arg)
{
    pthread_mutex_lock(&w.lock);
    for (;;) {
        while (w.n == 0 && !w.stops)
            pthread_cond_wait(&w.wake, &w.lock);
        if (w.n == 0)
            break;
        void *memory = w.waiting[w.first].memory;
        size_t bytes = w.waiting[w.first].bytes;
        w.first = (w.first + 1) % WAITING;
        w.n--;
        pthread_mutex_unlock(&w.lock);
        for (size_t at = 0; at < bytes; at += STEP)
            warm_now((char *)memory + at, bytes - at < STEP ? bytes - at : STEP);
        pthread_mutex_lock(&w.lock);
    }
    pthread_mutex_unlock(&w.lock);
    return arg;
}

bool warm_start(void)
{
    pthread_mutex_lock(&w.lock);
    w.stops = false;
    w.n = 0;
    w.runs = pthread_create(&w.thread, NULL, run, NULL) == 0;
    pthread_mutex_unlock(&w.lock);
    return w.runs;
}

void warm_stop(void)
{
    pthread_mutex_lock(&w.lock);
    bool runs = w.runs;
    w.runs = false;
    w.stops = true;
    pthread_cond_signal(&w.wake);
    pthread_mutex_unlock(&w.lock);
    if (runs)
        pthread_join(w.thread, NULL);
}

void warm(void *memory, size_t bytes)
{
    pthread_mutex_lock(&w.lock);
    if (w.runs && w.n < WAITING) {
        size_t at = (w.first + w.n++) % WAITING;
        w.waiting[at].memory = memory;
        w.waiting[at].bytes = bytes;
        pthread_cond_signal(&w.wake);
    }
    pthread_mutex_unlock(&w.lock);
}
