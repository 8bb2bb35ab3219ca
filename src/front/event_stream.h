/* SPDX-License-Identifier: MIT */
/*
 * A stream of server-sent events for one reader: its wishes, its place, and the text that is sent
 * to it. No sockets.
 *
 * The id of an event is EPOCH-NUMBER: the epoch changes with every start of the server. Numbers
 * count the events of all tenants. A reader that is confined to one tenant gets them sealed, and is
 * not told how many events it missed.
 */
#ifndef FRONT_EVENT_STREAM_H
#define FRONT_EVENT_STREAM_H

#include "base/buf.h"
#include "front/event_ring.h"
#include "front/event_text.h"
#include "verbs/shape.h"
#include "verbs/verb.h"

/* The options of GET /v1/events, as the row of a verb. */
extern const struct verb event_options;

struct event_stream {
    const struct engine *confined;   /* the engine whose key seals ids; NULL: ids are plain */
    struct seal_pairs *ids;          /* seals ids, if they are sealed */
    bool has_tenant;                 /* The query names the tenant. */
    char tenant[NAME_MAX_BYTES + 1]; /* empty: all tenants */
    char queue[NAME_MAX_BYTES + 1];  /* empty: all queues */
    unsigned states;                 /* bits 1 << enum job_state */
    struct str after;                /* the id that the query gave, for event_stream_place */
    struct event_cursor cursor;
};

/* The wishes of a query, as words of http_translate. INVALID with a sentence in `why`. */
int event_stream_init(struct event_stream *s, const struct str *words, size_t n, char *why,
                      size_t why_size);

/* Confines the stream to a tenant, whatever its query says. */
void event_stream_confine(struct event_stream *s, const struct engine *e, struct str tenant);
/* Accepts a zeroed stream. */
void event_stream_fini(struct event_stream *s);

/* The stream's first place, by the header Last-Event-ID (NULL: none), or else by `after` of the
 * query. INVALID with a sentence in `why`. */
int event_stream_place(struct event_stream *s, const struct event_ring *r, uint64_t epoch,
                       const char *last_id, char *why, size_t why_size);

bool event_stream_wants(const struct event_stream *s, const struct job_event *ev);

/* The first lines of a stream, and lines that show that it is alive and where it is. */
void event_stream_hello(const struct event_stream *s, uint64_t epoch, struct buf *out);
void event_stream_beat(const struct event_stream *s, uint64_t epoch, struct buf *out);

/* Appends the next event that the reader wants, or a gap. False: there is none. All readers of a
 * ring share the texts. */
bool event_stream_next(struct event_stream *s, const struct event_ring *r,
                       struct event_texts *texts, uint64_t epoch, struct buf *out);

/* An event as a JSON object. The fields show a struct job_event. */
extern const struct shape_field event_fields[];
void event_json(const struct job_event *ev, struct buf *out);

/* "3-17"; false if the text is no id. */
bool event_id_parse(struct str text, uint64_t *ret_epoch, uint64_t *ret_number);

#endif
