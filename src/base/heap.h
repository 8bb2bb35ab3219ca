/* SPDX-License-Identifier: MIT */
/*
 * An intrusive heap: a binary tree in which each node comes before its children. Two trees are
 * melded along a random way down, so every call takes O(log n) steps, and no single call takes many
 * more. The heap allocates nothing. The caller says which node comes before which, by one function
 * for all calls on a heap. The order of a node must not change while it is in a heap.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
    struct heap_node *child[2];
    struct heap_node *parent; /* NULL: the root */
};

struct heap {
    struct heap_node *root; /* the first of all; NULL: there is none */
};

typedef bool heap_before_fn(const struct heap_node *a, const struct heap_node *b);

void heap_add(struct heap *h, struct heap_node *node, heap_before_fn *before);
/* For a node that is in it. */
void heap_remove(struct heap *h, struct heap_node *node, heap_before_fn *before);
/* Visits nodes, each after its parent. If fn answers false, the nodes below that one are left out.
 * fn changes nothing. */
void heap_visit(const struct heap *h, bool (*fn)(void *arg, const struct heap_node *node),
                void *arg);
/* Moves all of `from` to `to`. */
void heap_join(struct heap *to, struct heap *from, heap_before_fn *before);

#endif
