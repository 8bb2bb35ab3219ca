/* SPDX-License-Identifier: MIT */
/*
 * The last events, in memory of a fixed size that all readers share: the newest take the place of
 * the oldest. A reader has a place of its own and is never waited for; one that was overtaken is
 * told how many it missed. Events are numbered from 1 on, and are shown once they are durable.
 */
#ifndef FRONT_EVENT_RING_H
#define FRONT_EVENT_RING_H

#include "engine/event.h"

#define EVENT_RING_MIN (64u << 10) /* bytes */
#define EVENTS_UNKNOWN UINT64_MAX  /* nobody knows how many were missed */

struct event_ring {
    char *bytes; /* NULL: it is closed */
    size_t size;
    size_t head;      /* where the next one goes, unless it does not fit there */
    size_t tail;      /* of the oldest */
    size_t durable;   /* of the first that is not durable */
    uint64_t first;   /* number of the oldest, */
    uint64_t settled; /* of the first that is not durable, */
    uint64_t next;    /* and of the next one */
    uint64_t wrapped; /* of the one at the start */
    uint64_t broken;  /* what was before this one was not counted */
};

struct event_cursor {
    uint64_t number; /* of the event that is read next */
    size_t at;
    bool lost; /* it was in another ring */
};

enum event_read { EVENT_READ_NONE, EVENT_READ_ONE, EVENT_READ_GAP };

/* 0 or NOMEM. A ring that was closed goes on numbering, with a break. */
int event_ring_open(struct event_ring *r, size_t size);
void event_ring_close(struct event_ring *r); /* also one that is closed */

void event_ring_put(struct event_ring *r, const struct job_event *ev);
/* Everything up to this lsn is durable. True if there is something new to read. */
bool event_ring_settle(struct event_ring *r, uint64_t lsn);

/* A place behind everything that is durable now. */
struct event_cursor event_ring_end(const struct event_ring *r);
/* The place behind the event of this number. */
struct event_cursor event_ring_behind(const struct event_ring *r, uint64_t number);
/* For who comes with a number of another ring. */
struct event_cursor event_ring_lost(const struct event_ring *r);

/* Takes the next event, or learns that some were missed (EVENTS_UNKNOWN: how many is not known):
 * what follows is the oldest there is. Slices last until the next put. */
enum event_read event_ring_read(const struct event_ring *r, struct event_cursor *c,
                                struct job_event *ret, uint64_t *ret_missed);

#endif
