/* SPDX-License-Identifier: MIT */
/*
 * The thread that writes log lines to a descriptor. The loop puts lines into a ring of a fixed size
 * and never waits for their reader. Behind a reader that does not read, such as that of a full
 * pipe, lines are lost, and counted.
 */
#ifndef SERVER_LOGWRITER_H
#define SERVER_LOGWRITER_H

#include <pthread.h>

#include "base/str.h"

#define LOGWRITER_BYTES ((size_t)1 << 20) /* the size of the ring */

/* Lines stand in `used` bytes from `tail` on, and go on at the start of the ring. The thread reads
 * them without the lock, because no other thread changes these bytes, or `tail`. */
struct logwriter {
    pthread_mutex_t lock;
    pthread_cond_t wake; /* there are lines, or the writer stops */
    pthread_cond_t done; /* the thread has ended */
    pthread_t thread;
    int fd;
    char *ring;
    size_t size;
    size_t tail;
    size_t used;
    bool stops;
    bool ended;

    uint64_t lost; /* lines that found no room so far; the caller counts them */
    uint64_t told; /* lost lines that the log has mentioned; the caller counts them */
};

/* Starts the thread, with a ring of `bytes`. NULL: there is no memory, or no thread. */
struct logwriter *logwriter_new(int fd, size_t bytes);

/* Puts a whole line. False: there is no room. */
bool logwriter_put(struct logwriter *w, struct str line);

/* Ends the thread when it has written all lines, and frees the writer. False: after wait_ms lines
 * are still unread, and the thread and the writer stay. Accepts NULL. */
bool logwriter_free(struct logwriter *w, int wait_ms);

#endif
