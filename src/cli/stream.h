/* SPDX-License-Identifier: MIT */
/* A stream of /v1/events over HTTP, on the server's port. It connects again by itself and goes on
 * behind the event that came last. Blocks. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include "cli/client.h"

struct stream {
    const struct cli *cli;
    struct buf query; /* "queue=mail&state=done" */
    struct buf last;  /* id of the last event; empty: none */
    struct client client;
    struct buf bytes; /* received, and not read yet */
    struct buf body;  /* without the frames of HTTP, and not read yet */
    struct buf line;  /* the event's name, then its data */
    struct buf data;
    int64_t chunk;    /* bytes that are left of a chunk */
    bool away;        /* the user was told that the server is away */
    int64_t pause_ms; /* before it connects again */
};

/* An event, borrowed until the next call. */
struct stream_event {
    struct str name, data;
};

void stream_init(struct stream *s, const struct cli *cli);
void stream_fini(struct stream *s);
/* Adds a parameter to the query. */
void stream_ask(struct stream *s, const char *name, struct str value);

/* The next event. CLI_OK; or an exit code, with messages written, if the server cannot be reached
 * at first, or refuses. */
int stream_next(struct stream *s, struct stream_event *ret);

#endif
