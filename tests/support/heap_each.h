/* SPDX-License-Identifier: MIT */
/* A walk over a heap, for tests. */
#ifndef TESTS_HEAP_EACH_H
#define TESTS_HEAP_EACH_H

#include "base/heap.h"

/* Visits all nodes in no order. An answer of fn that is not 0 ends the walk and is returned. fn
 * changes nothing. */
static inline int heap_each(const struct heap *h, int (*fn)(void *arg, struct heap_node *node),
                            void *arg)
{
    struct heap_node *n = h->root;

    while (n) {
        int answer = fn(arg, n);

        if (answer)
            return answer;
        if (n->child[0] || n->child[1]) {
            n = n->child[n->child[0] ? 0 : 1];
            continue;
        }
        /* Goes up to the first node that has a right child and whose left child the walk leaves. */
        while (n && (!n->parent || n->parent->child[0] != n || !n->parent->child[1]))
            n = n->parent;
        n = n ? n->parent->child[1] : NULL;
    }
    return 0;
}

#endif
