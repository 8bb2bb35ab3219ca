/* SPDX-License-Identifier: MIT */
#include "base/wheel.h"

#define GROUP_BITS 6

void wheel_init(struct wheel *w, int64_t base_ms)
{
    w->base_ms = base_ms;
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        w->occupied[level] = 0;
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_init(&w->slots[level][slot]);
    }
}

void wheel_add(struct wheel *w, struct timer *t)
{
    uint64_t at = (uint64_t)(t->at_ms > w->base_ms ? t->at_ms : w->base_ms);
    uint64_t differs = at ^ (uint64_t)w->base_ms;
    unsigned level = differs ? (63 - (unsigned)__builtin_clzll(differs)) / GROUP_BITS : 0;
    unsigned slot = (unsigned)(at >> (level * GROUP_BITS)) % WHEEL_SLOTS;

    list_append(&w->slots[level][slot], &t->link);
    w->occupied[level] |= UINT64_C(1) << slot;
}

int64_t wheel_slot_start(const struct wheel *w, unsigned level, unsigned slot)
{
    uint64_t above = (uint64_t)w->base_ms >> ((level + 1) * GROUP_BITS);

    return (int64_t)((above << GROUP_BITS | slot) << (level * GROUP_BITS));
}

/* Lets the timers of a slot that base has entered sink to lower levels. */
static void cascade(struct wheel *w, struct list *slot)
{
    while (!list_empty(slot)) {
        struct list *node = slot->next;

        list_remove(node);
        wheel_add(w, container_of(node, struct timer, link));
    }
}

struct timer *wheel_pop(struct wheel *w, int64_t now_ms)
{
    for (unsigned level = 0; level < WHEEL_LEVELS;) {
        unsigned slot;
        struct list *head;
        int64_t start;

        if (!w->occupied[level]) {
            level++;
            continue;
        }
        slot = (unsigned)__builtin_ctzll(w->occupied[level]);
        head = &w->slots[level][slot];
        start = wheel_slot_start(w, level, slot);
        if (!list_empty(head) && start > now_ms)
            break;
        if (!list_empty(head) && level == 0) {
            struct list *node = head->next;

            if (start > w->base_ms)
                w->base_ms = start;
            list_remove(node);
            return container_of(node, struct timer, link);
        }
        w->occupied[level] &= w->occupied[level] - 1;
        if (!list_empty(head)) {
            w->base_ms = start;
            cascade(w, head);
            level = 0;
        }
    }
    /* Nothing is due up to now, so base may go there: no timer's level or slot changes by it. */
    if (now_ms > w->base_ms)
        w->base_ms = now_ms;
    return NULL;
}

/* The first slot that has timers; false if none has. */
static bool find_slot(const struct wheel *w, unsigned *ret_level, unsigned *ret_slot)
{
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        for (uint64_t bits = w->occupied[level]; bits; bits &= bits - 1) {
            unsigned slot = (unsigned)__builtin_ctzll(bits);

            if (list_empty(&w->slots[level][slot]))
                continue;
            *ret_level = level;
            *ret_slot = slot;
            return true;
        }
    }
    return false;
}

int64_t wheel_next(const struct wheel *w)
{
    unsigned level, slot;

    return find_slot(w, &level, &slot) ? wheel_slot_start(w, level, slot) : INT64_MAX;
}

int64_t wheels_next(const struct wheel *wheels, int n)
{
    int64_t first = INT64_MAX;

    for (int i = 0; i < n; i++) {
        int64_t next = wheel_next(&wheels[i]);

        first = next < first ? next : first;
    }
    return first;
}

struct timer *wheel_first(const struct wheel *w)
{
    unsigned level, slot;

    return find_slot(w, &level, &slot)
               ? container_of(w->slots[level][slot].next, struct timer, link)
               : NULL;
}

void wheel_rewind(struct wheel *w, int64_t base_ms)
{
    struct list all;

    list_init(&all);
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            list_splice(&all, &w->slots[level][slot]);
        w->occupied[level] = 0;
    }
    w->base_ms = base_ms;
    cascade(w, &all);
}
