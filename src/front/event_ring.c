/* SPDX-License-Identifier: MIT */
#include "front/event_ring.h"

#include <stdlib.h>

#include "base/error.h"

/*
 *     tail                      head
 *     v                         v
 *     +-------+-------+---------+- - - - -+      An entry is never split: one that does not fit at
 *     | entry | entry | entry   |         |      the end is at the start. Its number is `wrapped`.
 *     +-------+-------+---------+- - - - -+
 */
struct entry {
    size_t size; /* with the bytes of its slices */
    struct job_event ev;
};

#define ALIGN 8

int event_ring_open(struct event_ring *r, size_t size)
{
    uint64_t next = r->next ? r->next + 1 : 1; /* no event has this number: see broken */
    char *bytes;

    size = (size < EVENT_RING_MIN ? EVENT_RING_MIN : size) / ALIGN * ALIGN;
    bytes = malloc(size);
    if (!bytes)
        return BELFRY_NOMEM;
    event_ring_close(r);
    *r = (struct event_ring){
        .bytes = bytes, .size = size, .first = next, .settled = next, .next = next, .broken = next
    };
    return 0;
}

void event_ring_close(struct event_ring *r)
{
    free(r->bytes);
    r->bytes = NULL;
}

/* An event that is in the ring: at the start, or where the event before it ends. Only its number
 * tells which, because the bytes behind the last event before the start may be overwritten. */
static const struct entry *entry_at(const struct event_ring *r, uint64_t number, size_t *at)
{
    if (number == r->wrapped)
        *at = 0;
    return (const struct entry *)(const void *)(r->bytes + *at);
}

/* Whether the oldest event begins within these bytes. */
static bool oldest_is_within(struct event_ring *r, size_t from, size_t to)
{
    if (r->first == r->next)
        return false;
    entry_at(r, r->first, &r->tail);
    return r->tail >= from && r->tail < to;
}

static void drop_oldest(struct event_ring *r)
{
    r->tail += entry_at(r, r->first, &r->tail)->size;
    r->first++;
}

static struct str *slices(struct job_event *ev, size_t i)
{
    struct str *all[] = { &ev->tenant, &ev->queue, &ev->worker, &ev->error, &ev->trace };

    return i < sizeof(all) / sizeof(all[0]) ? all[i] : NULL;
}

void event_ring_put(struct event_ring *r, const struct job_event *ev)
{
    size_t size = sizeof(struct entry);
    struct entry e = { .ev = *ev };
    char *to;

    for (size_t i = 0; slices(&e.ev, i); i++)
        size += slices(&e.ev, i)->len;
    e.size = size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (r->head + size > r->size) {
        while (oldest_is_within(r, r->head, r->size))
            drop_oldest(r);
        r->head = 0;
    }
    while (oldest_is_within(r, r->head, r->head + size))
        drop_oldest(r);
    if (r->head == 0)
        r->wrapped = r->next; /* the event that was there has just been dropped */
    to = r->bytes + r->head;
    memcpy(to, &e, sizeof(e));
    to += sizeof(e);
    for (size_t i = 0; slices(&e.ev, i); i++) {
        struct str s = *slices(&e.ev, i);

        if (s.len)
            memcpy(to, s.ptr, s.len);
        to += s.len;
    }
    if (r->first == r->next)
        r->tail = r->head;
    if (r->settled == r->next)
        r->durable = r->head;
    r->head += size;
    r->next++;
}

bool event_ring_settle(struct event_ring *r, uint64_t lsn)
{
    uint64_t before = r->settled;

    if (r->settled < r->first) {
        r->settled = r->first;
        r->durable = r->tail;
    }
    while (r->settled < r->next) {
        const struct entry *e = entry_at(r, r->settled, &r->durable);

        if (e->ev.lsn > lsn)
            break;
        r->durable += e->size;
        r->settled++;
    }
    return r->settled != before;
}

struct event_cursor event_ring_end(const struct event_ring *r)
{
    return (struct event_cursor){ .number = r->settled, .at = r->durable };
}

struct event_cursor event_ring_behind(const struct event_ring *r, uint64_t number)
{
    struct event_cursor c = { .number = r->first, .at = r->tail };

    if (number >= r->settled)
        return event_ring_lost(r); /* no event has this number yet */
    if (number + 1 < r->first)
        return (struct event_cursor){ .number = number + 1 };
    while (c.number <= number) {
        c.at += entry_at(r, c.number, &c.at)->size;
        c.number++;
    }
    return c;
}

struct event_cursor event_ring_lost(const struct event_ring *r)
{
    return (struct event_cursor){ .number = r->first, .at = r->tail, .lost = true };
}

enum event_read event_ring_read(const struct event_ring *r, struct event_cursor *c,
                                struct job_event *ret, uint64_t *ret_missed)
{
    const struct entry *e;
    const char *from;

    if (c->lost || c->number < r->first) {
        *ret_missed = c->lost || c->number < r->broken ? EVENTS_UNKNOWN : r->first - c->number;
        *c = (struct event_cursor){ .number = r->first, .at = r->tail };
        return EVENT_READ_GAP;
    }
    if (c->number >= r->settled)
        return EVENT_READ_NONE;
    e = entry_at(r, c->number, &c->at);
    *ret = e->ev;
    from = (const char *)(e + 1);
    for (size_t i = 0; slices(ret, i); i++) {
        slices(ret, i)->ptr = from;
        from += slices(ret, i)->len;
    }
    c->at += e->size;
    c->number++;
    return EVENT_READ_ONE;
}
