/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <stdint.h>

/* Chooses the way down below `top`. The choice is as good as random, because it depends on the
 * addresses of both nodes. */
static unsigned toss(const struct heap_node *top, const struct heap_node *under)
{
    uint64_t x =
        (uint64_t)(uintptr_t)top * UINT64_C(0xff51afd7ed558ccd) + (uint64_t)(uintptr_t)under;

    x = (x ^ x >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 29;
    return (unsigned)(x * UINT64_C(0x9e3779b97f4a7c15) >> 63);
}

/* Makes one tree of two. The way down in it is random, so it is short whatever the trees look like.
 * In a tree of n nodes it has log2(n + 1) steps on average. */
static struct heap_node *meld(struct heap_node *a, struct heap_node *b, heap_before_fn *before)
{
    struct heap_node *root = NULL, *above = NULL, **at = &root;

    while (a && b) {
        if (before(b, a)) {
            struct heap_node *first = b;

            b = a;
            a = first;
        }
        *at = a;
        a->parent = above;
        above = a;
        at = &a->child[toss(a, b)];
        a = *at;
    }
    *at = a ? a : b;
    if (*at)
        (*at)->parent = above;
    return root;
}

void heap_add(struct heap *h, struct heap_node *node, heap_before_fn *before)
{
    *node = (struct heap_node){ 0 };
    h->root = meld(h->root, node, before);
}

void heap_remove(struct heap *h, struct heap_node *node, heap_before_fn *before)
{
    struct heap_node *parent = node->parent;
    struct heap_node *rest = meld(node->child[0], node->child[1], before);

    if (rest)
        rest->parent = parent;
    if (parent)
        parent->child[parent->child[1] == node] = rest;
    else
        h->root = rest;
    *node = (struct heap_node){ 0 };
}

void heap_join(struct heap *to, struct heap *from, heap_before_fn *before)
{
    to->root = meld(to->root, from->root, before);
    from->root = NULL;
}
