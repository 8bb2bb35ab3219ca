/* SPDX-License-Identifier: MIT */
#include "base/wheel.h"

#include <limits.h>

#define GROUP_BITS 6

#define SLOT_BIT(slot) ((unsigned __int128)1 << (slot))

/* The number of the slot of a level that has this moment, counted from the beginning of time. */
static uint64_t wheel_slot_number(int64_t at_ms, unsigned level)
{
    return (uint64_t)at_ms >> (level * GROUP_BITS);
}

static unsigned wheel_slot_of(int64_t at_ms, unsigned level)
{
    return (unsigned)(wheel_slot_number(at_ms, level) % WHEEL_SLOTS);
}

static int64_t wheel_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t wheel_slot_width(unsigned level)
{
    return INT64_C(1) << (level * GROUP_BITS);
}

int64_t wheel_slot_start(const struct wheel *w, unsigned level, unsigned slot)
{
    uint64_t base = wheel_slot_number(w->base_ms, level);

    return (int64_t)((base + (slot - base) % WHEEL_SLOTS) << (level * GROUP_BITS));
}

void wheel_init(struct wheel *w, int64_t base_ms)
{
    *w = (struct wheel){ .base_ms = base_ms, .upper_ms = INT64_MAX, .slice = WHEEL_SLICE };
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_init(&w->slots[level][slot]);
}

/* ---- Putting timers in ---- */

/* The lowest level that reaches this moment from base. */
static unsigned wheel_level_of(const struct wheel *w, int64_t at_ms)
{
    uint64_t ahead = (uint64_t)(at_ms - w->base_ms);
    unsigned level = ahead ? (63 - (unsigned)__builtin_clzll(ahead)) / GROUP_BITS : 0;

    if (level > 0 &&
        wheel_slot_number(at_ms, level - 1) - wheel_slot_number(w->base_ms, level - 1) <
            WHEEL_SLOTS)
        level--;
    return level;
}

/* Puts a timer below level `top`. If a slot of its time has timers that are still to sink, the
 * timer joins the highest such slot. */
static void wheel_put(struct wheel *w, struct timer *t, unsigned top)
{
    int64_t at = t->at_ms > w->base_ms ? t->at_ms : w->base_ms;
    unsigned level = wheel_level_of(w, at), slot = wheel_slot_of(at, level);

    for (unsigned above = w->levels & ((1U << top) - 1) & ~((2U << level) - 1); above;) {
        unsigned high = 31 - (unsigned)__builtin_clz(above);

        if (!list_empty(&w->slots[high][wheel_slot_of(at, high)])) {
            level = high;
            slot = wheel_slot_of(at, high);
            break;
        }
        above &= ~(1U << high);
    }
    list_append(&w->slots[level][slot], &t->link);
    w->occupied[level] |= SLOT_BIT(slot);
    w->levels |= 1U << level;
    if (level > 0) {
        int64_t start = wheel_slot_start(w, level, slot);

        w->upper_ms = start < w->upper_ms ? start : w->upper_ms;
    }
}

void wheel_add(struct wheel *w, struct timer *t)
{
    wheel_put(w, t, WHEEL_LEVELS);
}

/* ---- Finding them ---- */

/* The first slot of a level that has timers, counted from base; false if none has. Clears the bits
 * of empty slots. */
static bool wheel_first_slot(const struct wheel *w, unsigned level, unsigned __int128 *bits,
                             unsigned *ret)
{
    unsigned from = wheel_slot_of(w->base_ms, level);

    while (*bits) {
        /* The circle begins at base. */
        unsigned __int128 turned = from ? *bits >> from | *bits << (WHEEL_SLOTS - from) : *bits;
        uint64_t low = (uint64_t)turned, high = (uint64_t)(turned >> 64);
        unsigned ahead = (unsigned)(low ? __builtin_ctzll(low) : 64 + __builtin_ctzll(high));
        unsigned slot = (from + ahead) % WHEEL_SLOTS;

        if (!list_empty(&w->slots[level][slot])) {
            *ret = slot;
            return true;
        }
        *bits &= ~SLOT_BIT(slot);
    }
    return false;
}

/* As wheel_first_slot, for a wheel that may be changed. */
static bool wheel_look(struct wheel *w, unsigned level, unsigned *ret)
{
    if (!(w->levels & 1U << level))
        return false;
    if (wheel_first_slot(w, level, &w->occupied[level], ret))
        return true;
    w->levels &= ~(1U << level);
    return false;
}

/* The start of the first slot of a level that has timers; INT64_MAX if none has. */
static int64_t wheel_level_start(const struct wheel *w, unsigned level)
{
    unsigned __int128 bits = w->occupied[level];
    unsigned slot;

    return wheel_first_slot(w, level, &bits, &slot) ? wheel_slot_start(w, level, slot) : INT64_MAX;
}

int64_t wheel_next(const struct wheel *w)
{
    int64_t first = INT64_MAX;

    for (unsigned levels = w->levels; levels; levels &= levels - 1)
        first = wheel_earlier(first, wheel_level_start(w, (unsigned)__builtin_ctz(levels)));
    return first;
}

int64_t wheels_next(const struct wheel *wheels, int n)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < n; i++)
        first = wheel_earlier(first, wheel_next(&wheels[i]));
    return first;
}

int64_t wheels_wake(const struct wheel *wheels, int n)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < n; i++) {
        for (unsigned levels = wheels[i].levels; levels; levels &= levels - 1) {
            unsigned level = (unsigned)__builtin_ctz(levels);
            int64_t start = wheel_level_start(&wheels[i], level);

            if (level > 0 && start != INT64_MAX)
                start -= wheel_slot_width(level); /* when base enters the slot before */
            first = wheel_earlier(first, start);
        }
    }
    return first;
}

struct timer *wheel_first(const struct wheel *w)
{
    for (unsigned levels = w->levels; levels; levels &= levels - 1) {
        unsigned level = (unsigned)__builtin_ctz(levels), slot;
        unsigned __int128 bits = w->occupied[level];

        if (wheel_first_slot(w, level, &bits, &slot))
            return container_of(w->slots[level][slot].next, struct timer, link);
    }
    return NULL;
}

/* ---- Taking them out ---- */

/* Lets at most n timers of a slot sink; returns how many of n are left. */
static int wheel_sink(struct wheel *w, unsigned level, unsigned slot, int n)
{
    struct list *head = &w->slots[level][slot];

    for (; n > 0 && !list_empty(head); n--) {
        struct list *node = head->next;

        list_remove(node);
        wheel_put(w, container_of(node, struct timer, link), level);
    }
    return n;
}

/* Lets the timers sink that stand in the first slot above level 0, if it begins by until_ms. */
static void wheel_sink_due(struct wheel *w, int64_t until_ms)
{
    unsigned level = 0, slot = 0;

    w->upper_ms = INT64_MAX;
    for (unsigned l = WHEEL_LEVELS - 1, s; l > 0; l--) {
        int64_t start = wheel_look(w, l, &s) ? wheel_slot_start(w, l, s) : INT64_MAX;

        if (start < w->upper_ms) {
            w->upper_ms = start;
            level = l;
            slot = s;
        }
    }
    if (w->upper_ms > until_ms)
        return;
    if (w->upper_ms > w->base_ms)
        w->base_ms = w->upper_ms; /* nothing is earlier */
    wheel_sink(w, level, slot, INT_MAX);
}

/* Lets timers sink that may do so already. */
static void wheel_sink_early(struct wheel *w)
{
    int n = w->slice;

    for (unsigned level = 1; level < WHEEL_LEVELS && n > 0; level++) {
        unsigned slot;

        if (wheel_look(w, level, &slot) &&
            wheel_slot_start(w, level, slot) - w->base_ms <= wheel_slot_width(level))
            n = wheel_sink(w, level, slot, n);
    }
}

struct timer *wheel_pop(struct wheel *w, int64_t now_ms)
{
    for (;;) {
        unsigned slot;
        int64_t start = wheel_look(w, 0, &slot) ? wheel_slot_start(w, 0, slot) : INT64_MAX;
        struct list *node;

        if (w->upper_ms <= wheel_earlier(start, now_ms)) {
            wheel_sink_due(w, wheel_earlier(start, now_ms));
            continue;
        }
        if (start > now_ms)
            break;
        if (start > w->base_ms)
            w->base_ms = start;
        node = w->slots[0][slot].next;
        list_remove(node);
        return container_of(node, struct timer, link);
    }
    /* Nothing is due up to now, so base may go there. */
    if (now_ms > w->base_ms)
        w->base_ms = now_ms;
    wheel_sink_early(w);
    return NULL;
}

void wheel_rewind(struct wheel *w, int64_t base_ms)
{
    struct list all;
    int slice = w->slice;

    list_init(&all);
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_splice(&all, &w->slots[level][slot]);
    wheel_init(w, base_ms);
    w->slice = slice;
    while (!list_empty(&all)) {
        struct list *node = all.next;

        list_remove(node);
        wheel_add(w, container_of(node, struct timer, link));
    }
}
