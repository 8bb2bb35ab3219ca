/* SPDX-License-Identifier: MIT */
#include "server/logwriter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)16 << 10) /* written at a time, so that room comes back soon */

/* Writes all bytes, however long that takes. Bytes that cannot be written are lost, because there
 * is no other place for messages. */
static void write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, p, n);
        struct pollfd ready = { .fd = fd, .events = POLLOUT };

        if (written > 0) {
            p += written;
            n -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            poll(&ready, 1, -1); /* another process made the descriptor non-blocking */
        } else if (written == 0 || errno != EINTR) {
            return;
        }
    }
}

static void *run(void *arg)
{
    struct logwriter *w = arg;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        size_t n;

        while (w->used == 0 && !w->stops)
            pthread_cond_wait(&w->wake, &w->lock);
        if (w->used == 0)
            break;
        n = w->used < w->size - w->tail ? w->used : w->size - w->tail;
        n = n < PIECE ? n : PIECE;
        pthread_mutex_unlock(&w->lock);
        write_all(w->fd, w->ring + w->tail, n);
        pthread_mutex_lock(&w->lock);
        w->tail = (w->tail + n) % w->size;
        w->used -= n;
    }
    w->ended = true;
    pthread_cond_signal(&w->done);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Signals are for the loop. */
static int start_thread(struct logwriter *w)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

static void writer_fini(struct logwriter *w)
{
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->done);
    free(w->ring);
    free(w);
}

struct logwriter *logwriter_new(int fd, size_t bytes)
{
    struct logwriter *w = calloc(1, sizeof(*w));
    pthread_condattr_t monotonic;

    if (!w)
        return NULL;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    w->fd = fd;
    w->size = bytes;
    w->ring = malloc(bytes);
    if (w->ring && start_thread(w) == 0)
        return w;
    writer_fini(w);
    return NULL;
}

bool logwriter_put(struct logwriter *w, struct str line)
{
    bool fits;

    pthread_mutex_lock(&w->lock);
    fits = line.len <= w->size - w->used;
    if (fits) {
        size_t at = (w->tail + w->used) % w->size;
        size_t first = line.len < w->size - at ? line.len : w->size - at;

        memcpy(w->ring + at, line.ptr, first);
        memcpy(w->ring, line.ptr + first, line.len - first);
        w->used += line.len;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return fits;
}

bool logwriter_free(struct logwriter *w, int wait_ms)
{
    struct timespec until;
    bool ended;
    int err = 0;

    if (!w)
        return true;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&w->lock);
    w->stops = true;
    pthread_cond_signal(&w->wake);
    while (!w->ended && !err)
        err = pthread_cond_timedwait(&w->done, &w->lock, &until);
    ended = w->ended;
    pthread_mutex_unlock(&w->lock);
    if (!ended)
        return false;
    pthread_join(w->thread, NULL);
    writer_fini(w);
    return true;
}
