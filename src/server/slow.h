/* SPDX-License-Identifier: MIT */
/* Work that held the loop for long: it is counted, and the log names it. */
#ifndef SERVER_SLOW_H
#define SERVER_SLOW_H

#include <stdint.h>

struct server;

#define SLOW_US 5000 /* No piece of work should take as long. */

struct slow {
    uint64_t count;  /* so far */
    uint64_t untold; /* since the last line of the log */
    int64_t tell_ms; /* monotonic: the log hears of the next one no earlier */
};

/* Notes how long a piece of work took, a verb's name for a request. `client` is the number of its
 * session; 0: none. Does nothing if it was quick. */
void slow_note(struct server *s, const char *what, int64_t took_us, uint64_t client);

#endif
