/* SPDX-License-Identifier: MIT */
/* Work that held the loop for long: it is counted, and the log names it. */
#ifndef SERVER_SLOW_H
#define SERVER_SLOW_H

#include "server/lograte.h"

struct server;

/* When a piece of work was done: name and text. */
#define SLOW_STAGES(X)                                 \
    X(REQUEST, "as the request came")                  \
    X(FETCHED, "as the request went on after a fetch") \
    X(OWN, "for no request")

enum slow_stage {
#define SLOW_STAGE_ENUM(name, text) SLOW_##name,
    SLOW_STAGES(SLOW_STAGE_ENUM)
#undef SLOW_STAGE_ENUM
};

struct slow {
    uint64_t count;      /* slow pieces of work so far */
    uint64_t untold;     /* slow pieces of work since the last line of the log */
    struct lograte rate; /* the rate of lines for each kind of work, so that none hides another */
};

/* Notes how long a piece of work took. `what` is a constant: for a request, the verb's name or a
 * path. `client` is the number of its session; 0: none. A piece shorter than slow_work is ignored.
 */
void slow_note(struct server *s, const char *what, enum slow_stage stage, int64_t took_us,
               uint64_t client);

#endif
