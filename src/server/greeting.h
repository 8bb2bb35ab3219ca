/* SPDX-License-Identifier: MIT */
/* Tells a person who starts the server by hand how to go on. */
#ifndef SERVER_GREETING_H
#define SERVER_GREETING_H

#include "base/buf.h"

struct greeting {
    const char *program; /* how the command line is called from here */
    const char *bind;
    int port;
    bool tls_only;
    bool dashboard; /* browsers get it at `/` */
    bool tokens;    /* every client needs one */
};

/* Appends the text. */
void greeting_put(const struct greeting *g, struct buf *out);

/* Appends how to call the program `belfry` beside the file `self`. That is `belfry` if $PATH finds
 * it, and otherwise its path, relative to `cwd` if it is below that directory. `path` may be NULL.
 */
void greeting_program(const char *self, const char *cwd, const char *path, struct buf *out);

#endif
