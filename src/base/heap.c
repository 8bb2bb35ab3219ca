/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

/* Of two roots the later one becomes the first child of the other. */
static struct heap_node *link(struct heap_node *a, struct heap_node *b, heap_before_fn *before)
{
    struct heap_node *top = a, *under = b;

    if (!a || !b)
        return a ? a : b;
    if (before(b, a)) {
        top = b;
        under = a;
    }
    under->prev = top;
    under->next = top->child;
    if (top->child)
        top->child->prev = under;
    top->child = under;
    top->next = top->prev = NULL;
    return top;
}

/* One tree of a row of siblings: in pairs, and then these from the last to the first. */
static struct heap_node *link_all(struct heap_node *first, heap_before_fn *before)
{
    struct heap_node *pairs = NULL, *all = NULL;

    while (first) {
        struct heap_node *a = first, *b = first->next;

        first = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        a = link(a, b, before);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct heap_node *pair = pairs;

        pairs = pair->next;
        pair->next = NULL;
        all = link(all, pair, before);
    }
    return all;
}

void heap_add(struct heap *h, struct heap_node *node, heap_before_fn *before)
{
    node->child = node->next = node->prev = NULL;
    h->root = link(h->root, node, before);
}

void heap_remove(struct heap *h, struct heap_node *node, heap_before_fn *before)
{
    struct heap_node *rest = link_all(node->child, before);

    if (node->prev) { /* its children take its place: they come after its parent, too */
        if (rest) {
            rest->next = node->next;
            if (node->next)
                node->next->prev = rest;
            rest->prev = node->prev;
        } else {
            rest = node->next;
            if (rest)
                rest->prev = node->prev;
        }
        if (node->prev->child == node)
            node->prev->child = rest;
        else
            node->prev->next = rest;
    } else {
        h->root = rest;
    }
    node->child = node->next = node->prev = NULL;
}

void heap_join(struct heap *to, struct heap *from, heap_before_fn *before)
{
    to->root = link(to->root, from->root, before);
    from->root = NULL;
}
