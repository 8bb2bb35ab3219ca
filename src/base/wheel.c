/* SPDX-License-Identifier: MIT */
#include "base/wheel.h"

#define GROUP_BITS 6

_Static_assert(WHEEL_SLOTS == 128, "wheel_first_bit looks at two words");

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

/* The highest of `levels` whose slot of this moment has timers; `level` if none has. */
static unsigned wheel_crowded_above(const struct wheel *w, int64_t at_ms, unsigned levels,
                                    unsigned level)
{
    while (levels) {
        unsigned high = 31 - (unsigned)__builtin_clz(levels);

        if (!list_empty(&w->slots[high][wheel_slot_of(at_ms, high)]))
            return high;
        levels &= ~(1U << high);
    }
    return level;
}

/* Puts a timer into one of `levels`. If a slot of its time has timers that are still to sink, the
 * timer joins the highest such slot. */
static inline void wheel_put(struct wheel *w, struct timer *t, unsigned levels)
{
    int64_t at = t->at_ms > w->base_ms ? t->at_ms : w->base_ms;
    unsigned level = wheel_level_of(w, at), above = w->levels & levels & ~1U << level;

    if (above)
        level = wheel_crowded_above(w, at, above, level);
    unsigned slot = wheel_slot_of(at, level);
    list_append(&w->slots[level][slot], &t->link);
    w->occupied[level][slot / 64] |= UINT64_C(1) << slot % 64;
    w->levels |= 1U << level;
    if (level > 0)
        w->upper_ms =
            wheel_earlier(w->upper_ms, at & -wheel_slot_width(level)); /* the start of its slot */
}

void wheel_add(struct wheel *w, struct timer *t)
{
    wheel_put(w, t, ~0U);
}

/* ---- Finding them ---- */

/* The first bit that is set, in a circle that begins at `from`; false if none is. */
static bool wheel_first_bit(const uint64_t bits[2], unsigned from, unsigned *ret)
{
    unsigned half = from / 64;
    uint64_t behind = bits[half] & UINT64_MAX << from % 64;

    if (!behind) {
        half = !half;
        behind = bits[half];
    }
    if (!behind) { /* all the way round */
        half = !half;
        behind = bits[half];
    }
    if (!behind)
        return false;
    *ret = half * 64 + (unsigned)__builtin_ctzll(behind);
    return true;
}

/* The first slot of a level that has timers, counted from base; false if none has. Clears the bits
 * of empty slots. */
static bool wheel_first_slot(const struct wheel *w, unsigned level, uint64_t bits[2], unsigned *ret)
{
    unsigned from = wheel_slot_of(w->base_ms, level), slot;

    while (wheel_first_bit(bits, from, &slot)) {
        if (!list_empty(&w->slots[level][slot])) {
            *ret = slot;
            return true;
        }
        bits[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    }
    return false;
}

/* As wheel_first_slot, for a wheel that is not changed. */
static bool wheel_peek(const struct wheel *w, unsigned level, unsigned *ret)
{
    uint64_t bits[2] = { w->occupied[level][0], w->occupied[level][1] };

    return wheel_first_slot(w, level, bits, ret);
}

/* As wheel_first_slot, for a wheel that may be changed. */
static bool wheel_look(struct wheel *w, unsigned level, unsigned *ret)
{
    if (!(w->levels & 1U << level))
        return false;
    if (wheel_first_slot(w, level, w->occupied[level], ret))
        return true;
    w->levels &= ~(1U << level);
    return false;
}

/* The start of the first slot of a level that has timers; INT64_MAX if none has. */
static int64_t wheel_level_start(const struct wheel *w, unsigned level)
{
    unsigned slot;

    return wheel_peek(w, level, &slot) ? wheel_slot_start(w, level, slot) : INT64_MAX;
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

        if (wheel_peek(w, level, &slot))
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
        wheel_put(w, container_of(node, struct timer, link), (1U << level) - 1); /* levels below */
    }
    return n;
}

/* Lets at most n timers of the first slot above level 0 sink, if that slot begins by until_ms.
 * Returns how many of n are left. */
static int wheel_sink_due(struct wheel *w, int64_t until_ms, int n)
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
        return n;
    if (w->upper_ms > w->base_ms)
        w->base_ms = w->upper_ms; /* nothing is earlier */
    return wheel_sink(w, level, slot, n);
}

/* Lets timers sink that may do so already. */
static void wheel_sink_early(struct wheel *w)
{
    int n = w->slice;

    for (unsigned levels = w->levels & ~1U; levels && n > 0; levels &= levels - 1) {
        unsigned level = (unsigned)__builtin_ctz(levels), slot;

        if (wheel_look(w, level, &slot) &&
            wheel_slot_start(w, level, slot) - w->base_ms <= wheel_slot_width(level))
            n = wheel_sink(w, level, slot, n);
    }
}

struct timer *wheel_pop(struct wheel *w, int64_t now_ms)
{
    for (int n = w->slice;;) {
        unsigned slot;
        int64_t start = wheel_look(w, 0, &slot) ? wheel_slot_start(w, 0, slot) : INT64_MAX;
        struct list *node;

        if (w->upper_ms <= wheel_earlier(start, now_ms)) {
            n = wheel_sink_due(w, wheel_earlier(start, now_ms), n);
            if (n > 0)
                continue;
            return NULL; /* timers that are left in the slot may be earlier than all that have sunk
                          */
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
