/* SPDX-License-Identifier: MIT */
/*
 * A stream of events for one reader: what it asked for, where it is, and what it is sent, as
 * server-sent events. No sockets.
 *
 * An event's id is EPOCH-NUMBER: the epoch changes with every start of the server. The numbers are
 * of all tenants' events: who may see one tenant's only gets them sealed, and is not told how many
 * he missed.
 */
#ifndef FRONT_EVENT_STREAM_H
#define FRONT_EVENT_STREAM_H

#include "base/buf.h"
#include "front/event_ring.h"
#include "verbs/shape.h"
#include "verbs/verb.h"

/* The options of GET /v1/events, as a row that is no verb. */
extern const struct verb event_options;

struct event_stream {
    const struct engine *confined;   /* NULL: ids are plain; else they are sealed with its key */
    char tenant[NAME_MAX_BYTES + 1]; /* empty: all tenants' */
    char queue[NAME_MAX_BYTES + 1];  /* empty: all queues */
    unsigned states;                 /* bits 1 << enum job_state */
    struct str after;                /* as it was asked for, for event_stream_place */
    struct event_cursor cursor;
};

/* What it asks for, by words that http_translate made of a query. INVALID with a sentence in `why`,
 * as with the next but one. */
int event_stream_init(struct event_stream *s, const struct str *words, size_t n, char *why,
                      size_t why_size);

/* Whose events it has, whatever it asked for: for who may see one tenant's only. */
void event_stream_confine(struct event_stream *s, const struct engine *e, struct str tenant);

/* Where it begins: by the header Last-Event-ID (NULL: none), or else by the words' `after`. */
int event_stream_place(struct event_stream *s, const struct event_ring *r, uint64_t epoch,
                       const char *last_id, char *why, size_t why_size);

bool event_stream_wants(const struct event_stream *s, const struct job_event *ev);

/* What stands first in a stream; and what shows that it lives, and where it is. */
void event_stream_hello(const struct event_stream *s, uint64_t epoch, struct buf *out);
void event_stream_beat(const struct event_stream *s, uint64_t epoch, struct buf *out);

/* Goes on, past what it does not want: true if something was appended, which is one event or gap.
 */
bool event_stream_next(struct event_stream *s, const struct event_ring *r, uint64_t epoch,
                       struct buf *out);

/* An event as a JSON object; its fields are about struct job_event. */
extern const struct shape_field event_fields[];
void event_json(const struct job_event *ev, struct buf *out);

/* "3-17"; false if it is none. */
bool event_id_parse(struct str text, uint64_t *ret_epoch, uint64_t *ret_number);

#endif
