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
        if (n->child) {
            n = n->child;
            continue;
        }
        while (n && !n->next) { /* back to the parent of this row */
            while (n->prev && n->prev->child != n)
                n = n->prev;
            n = n->prev;
        }
        n = n ? n->next : NULL;
    }
    return 0;
}

#endif
