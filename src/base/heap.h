/* SPDX-License-Identifier: MIT */
/*
 * An intrusive pairing heap. Adding and joining take constant time; taking any node out takes
 * O(log n) over a series of calls. The heap allocates nothing. The caller says which node comes
 * before which, by one function for all calls on a heap. The order of a node must not change while
 * it is in a heap.
 *
 *     root                     The child of a node and its siblings come after the node.
 *      |                       `prev` is the sibling before; of the first sibling it is the parent.
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
