/* SPDX-License-Identifier: MIT */
/* Intrusive doubly linked rings. A ring has a head node that belongs to no element. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list {
    struct list *next;
    struct list *prev;
};

#define container_of(node, type, member) ((type *)((uintptr_t)(node)-offsetof(type, member)))

#define list_each(node, head) for ((node) = (head)->next; (node) != (head); (node) = (node)->next)
#define list_each_safe(node, after, head)                                 \
    for ((node) = (head)->next, (after) = (node)->next; (node) != (head); \
         (node) = (after), (after) = (node)->next)

static inline void list_init(struct list *head)
{
    head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

static inline void list_append(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

/* Leaves the node as a ring of its own, so removing twice is harmless. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Moves all nodes of one ring behind those of another. */
static inline void list_move_all(struct list *to, struct list *from)
{
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

#endif
