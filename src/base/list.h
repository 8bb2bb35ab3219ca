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

/* Visits the structs that a ring links by `member`. The body must not remove the visited struct
 * from the ring; with list_each_of_safe it may. */
#define list_each_of(type, thing, head, member)                                              \
    for (type *thing = container_of((head)->next, type, member); &(thing)->member != (head); \
         (thing) = container_of((thing)->member.next, type, member))
#define list_each_of_safe(type, thing, head, member)                            \
    for (type *thing = container_of((head)->next, type, member),                \
              *thing##_next = container_of((thing)->member.next, type, member); \
         &(thing)->member != (head);                                            \
         (thing) = thing##_next, thing##_next = container_of((thing)->member.next, type, member))

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

/* Initialises each of these: lists_init(&a, &b). */
#define lists_init(...)                              \
    lists_init_all((struct list *[]){ __VA_ARGS__ }, \
                   sizeof((struct list *[]){ __VA_ARGS__ }) / sizeof(struct list *))

static inline void lists_init_all(struct list *const *heads, size_t n)
{
    for (size_t i = 0; i < n; i++)
        list_init(heads[i]);
}

/* Leaves the node as a ring of its own, so removing twice is harmless. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Takes the node out of its ring and puts it at the end of the ring of `head`, another node. */
static inline void list_move(struct list *head, struct list *node)
{
    list_remove(node);
    list_append(head, node);
}

/* Moves all nodes of a ring to the end of another. */
static inline void list_splice(struct list *to, struct list *from)
{
    if (list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

static inline size_t list_length(const struct list *head)
{
    const struct list *node;
    size_t n = 0;

    list_each (node, head)
        n++;
    return n;
}

#endif
