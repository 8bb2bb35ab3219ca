/* SPDX-License-Identifier: MIT */
/*
 * The last events, in memory of a fixed size that all readers share: the newest replace the oldest.
 * The ring never waits for a reader. A reader that was overtaken learns how many events it missed.
 * Events are numbered from 1 on, and are shown once they are durable.
 */
#ifndef FRONT_EVENT_RING_H
#define FRONT_EVENT_RING_H

#include "engine/event.h"

#define EVENT_RING_MIN (64u << 10) /* bytes */
#define EVENTS_UNKNOWN UINT64_MAX  /* the number of missed events is unknown */

struct event_ring {
    char *bytes; /* NULL: the ring is closed */
    size_t size;
    size_t head;      /* place of the next event, unless it does not fit there */
    size_t tail;      /* place of the oldest event */
    size_t durable;   /* place of the first event that is not durable */
    uint64_t first;   /* number of the oldest event */
    uint64_t settled; /* number of the first event that is not durable */
    uint64_t next;    /* number of the next event */
    uint64_t wrapped; /* number of the event at the start of the memory */
    uint64_t broken;  /* events before this number were not counted */
};

struct event_cursor {
    uint64_t number; /* number of the event that is read next */
    size_t at;
    bool lost; /* the reader's last event was in another ring */
};

enum event_read { EVENT_READ_NONE, EVENT_READ_ONE, EVENT_READ_GAP };

/* NOMEM. A ring that was closed continues its numbers, with a break. */
int event_ring_open(struct event_ring *r, size_t size);
void event_ring_close(struct event_ring *r); /* accepts a closed ring */

void event_ring_put(struct event_ring *r, const struct job_event *ev);
/* Everything up to this lsn is durable. True: there are new events to read. */
bool event_ring_settle(struct event_ring *r, uint64_t lsn);

/* The place behind all durable events. */
struct event_cursor event_ring_end(const struct event_ring *r);
/* The place behind the event of this number. */
struct event_cursor event_ring_behind(const struct event_ring *r, uint64_t number);
/* The place of a reader whose last event was in another ring. */
struct event_cursor event_ring_lost(const struct event_ring *r);

/* Takes the next event. EVENT_READ_GAP: events were missed, perhaps EVENTS_UNKNOWN of them, and
 * the oldest event in the ring comes next. Slices last until the next put. */
enum event_read event_ring_read(const struct event_ring *r, struct event_cursor *c,
                                struct job_event *ret, uint64_t *ret_missed);

#endif
