/* SPDX-License-Identifier: MIT */
/*
 * The text of the last events, made when the first reader wants it, and copied for all others.
 * Most readers are at the newest events, so few texts are enough. A reader that is far behind makes
 * texts of its own, and displaces none.
 */
#ifndef FRONT_EVENT_TEXT_H
#define FRONT_EVENT_TEXT_H

#include "base/buf.h"
#include "engine/event.h"

#define EVENT_TEXTS 256

struct event_texts {
    struct {
        uint64_t number; /* of the event; 0: there is no text */
        struct buf text;
    } at[EVENT_TEXTS]; /* by number */
    uint64_t made;     /* texts, so far */
};

/* Gives back all memory. The texts can be used again. */
void event_texts_fini(struct event_texts *t);

/* Appends the lines of an event behind its id. Events of one number are equal. */
void event_texts_put(struct event_texts *t, uint64_t number, const struct job_event *ev,
                     struct buf *out);

#endif
