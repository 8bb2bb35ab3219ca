/* SPDX-License-Identifier: MIT */
/*
 * A timing wheel with millisecond resolution: O(1) insert and cancel, timers come out in order of
 * their moment, equal moments in the order of insertion.
 *
 * Eight levels of 128 slots cover 2^48 ms. A slot of level n is 64^n ms wide, and the slots of a
 * level are used in a circle, beginning with the slot that has the wheel's base:
 *
 *     level 0   128 slots of 1 ms       the next 128 ms
 *     level 1   128 slots of 64 ms      the next 8 seconds
 *     ...
 *
 * A timer goes to the lowest level that reaches its moment. As base comes nearer, the timers of a
 * slot of level n > 0 sink to lower levels, at most seven times in a timer's life. They may sink as
 * soon as base is in the slot before theirs, and they must sink before base enters their own. So a
 * crowded slot has a slot's width of time to sink in slices. Timers that are left then sink in
 * slices as well, and no timer comes out meanwhile:
 *
 *     level n         | base is here    | may sink         | not yet ...
 *     level n-1       |. . . . . . . . .|. . . . . . . . . |
 *
 * While a slot has timers that may sink, a new timer of its time joins the end of it. That keeps
 * equal moments in order. Removing a timer may leave the bit of an empty slot set: it is cleared
 * when the slot is next looked at.
 */
#ifndef BASE_WHEEL_H
#define BASE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define WHEEL_LEVELS 8
#define WHEEL_SLOTS  128
#define WHEEL_SLICE  16384 /* takes 1 to 2 ms, if none of the timers is in the cache */

struct timer {
    struct list link;
    int64_t at_ms; /* 0 .. 2^48-1 */
};

struct wheel {
    int64_t base_ms;  /* nothing before this is still in the wheel, but for late additions */
    int64_t upper_ms; /* no slot above level 0 that has timers begins before this */
    int slice;        /* the number of timers that sink in one call: WHEEL_SLICE by default */
    unsigned levels;  /* a bit for each level that may have timers */
    uint64_t occupied[WHEEL_LEVELS][WHEEL_SLOTS / 64]; /* a bit for each slot */
    struct list slots[WHEEL_LEVELS][WHEEL_SLOTS];
};

void wheel_init(struct wheel *w, int64_t base_ms);

/* t->at_ms is set by the caller; one before base comes out next. */
void wheel_add(struct wheel *w, struct timer *t);

/* For a timer that is in a wheel. */
static inline void wheel_remove(struct timer *t)
{
    list_remove(&t->link);
}

/* Takes out the earliest timer that is due at now_ms. NULL: there is none, or more than a slice of
 * timers has to sink before it. In the second case wheel_next is still not after now_ms, and the
 * next call goes on. If no timer is due, the call lets a slice of the timers sink that may sink. */
struct timer *wheel_pop(struct wheel *w, int64_t now_ms);

/* A moment that is not after that of the earliest timer; INT64_MAX for an empty wheel. */
int64_t wheel_next(const struct wheel *w);
/* The earliest such moment of n wheels. */
int64_t wheels_next(const struct wheel *wheels, int n);
/* The moment at which wheel_pop should be called on one of n wheels: then one of its timers is due,
 * or may sink. */
int64_t wheels_wake(const struct wheel *wheels, int n);

/* Some timer that is in it, wherever; NULL if it is empty. */
struct timer *wheel_first(const struct wheel *w);

static inline bool wheel_is_empty(const struct wheel *w)
{
    return !wheel_first(w);
}

/* The first moment of a slot. */
int64_t wheel_slot_start(const struct wheel *w, unsigned level, unsigned slot);

/* Sets base back, for a clock that was. */
void wheel_rewind(struct wheel *w, int64_t base_ms);

#endif
