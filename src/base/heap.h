/* SPDX-License-Identifier: MIT */
/*
 * An intrusive pairing heap: adding and joining in constant time, taking any node out in O(log n)
 * over a series of calls. No memory is needed. The caller says which node comes before which,
 * equally for all calls on one heap. A node's place must not change while it is in a heap.
 *
 *     root          a node's child comes after it, and so do the child's siblings;
 *      |            prev is the sibling before, or of the first one the parent
 *     child - next - next
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
    struct heap_node *child;
    struct heap_node *next;
    struct heap_node *prev; /* NULL: the root */
};

struct heap {
    struct heap_node *root; /* the first of all; NULL: there is none */
};

typedef bool heap_before_fn(const struct heap_node *a, const struct heap_node *b);

void heap_add(struct heap *h, struct heap_node *node, heap_before_fn *before);
/* For a node that is in it. */
void heap_remove(struct heap *h, struct heap_node *node, heap_before_fn *before);
/* Moves all of `from` to `to`. */
void heap_join(struct heap *to, struct heap *from, heap_before_fn *before);

#endif
