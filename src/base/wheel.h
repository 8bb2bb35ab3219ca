/* SPDX-License-Identifier: MIT */
/*
 * A timing wheel with millisecond resolution: O(1) insert and cancel, timers come out in order of
 * their moment, equal moments in the order of insertion.
 *
 * Eight levels of 64 slots cover 2^48 ms. The bits of a moment are read in groups of six. Take the
 * highest group in which the moment of a timer differs from the wheel's base. This group is the
 * level of the timer, and its value is the slot:
 *
 *     level 0   64 slots of 1 ms       moments that differ from base in the last 6 bits only
 *     level 1   64 slots of 64 ms      ... in the last 12 bits
 *     ...
 *
 * So everything at a level is earlier than everything at the next one, and no slot ever wraps
 * round. When base enters a slot of level n > 0 its timers move to lower levels, at most seven
 * times in a timer's life. Removing a timer may leave the bit of an empty slot set: it is cleared
 * when the slot is next looked at.
 */
#ifndef BASE_WHEEL_H
#define BASE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define WHEEL_LEVELS 8
#define WHEEL_SLOTS  64

struct timer {
    struct list link;
    int64_t at_ms; /* 0 .. 2^48-1 */
};

struct wheel {
    int64_t base_ms; /* nothing at or before this is still in the wheel, but for late additions */
    uint64_t occupied[WHEEL_LEVELS];
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

/* Takes out the earliest timer that is due at now_ms; NULL if there is none. */
struct timer *wheel_pop(struct wheel *w, int64_t now_ms);

/* A moment by which wheel_pop should be called next, never later than the earliest timer. */
int64_t wheel_next(const struct wheel *w);
/* The earliest such moment of n wheels. */
int64_t wheels_next(const struct wheel *wheels, int n);

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
