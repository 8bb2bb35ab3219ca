/* SPDX-License-Identifier: MIT */
#include "base/tree.h"

static uint64_t rank_of(const struct tree *t, const struct tree_node *node)
{
    uint64_t x = node->thing->hash + t->seed;

    x = (x ^ x >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 32;
}

/* Splits a tree into the nodes before the name and the nodes behind it. */
static void split(struct tree_node *node, struct str name, struct tree_node **ret_before,
                  struct tree_node **ret_behind)
{
    while (node) {
        bool before = str_compare(node->thing->name, name) < 0;
        struct tree_node ***hook = before ? &ret_before : &ret_behind;

        **hook = node;
        *hook = &node->below[before];
        node = **hook;
    }
    *ret_before = *ret_behind = NULL;
}

void tree_add(struct tree *t, struct tree_node *node, const struct named *thing)
{
    struct tree_node **hook = &t->root;

    node->thing = thing;
    uint64_t rank = rank_of(t, node);
    while (*hook && rank_of(t, *hook) >= rank)
        hook = &(*hook)->below[str_compare((*hook)->thing->name, thing->name) < 0];
    struct tree_node *under = *hook;
    *hook = node;
    split(under, thing->name, &node->below[0], &node->below[1]);
}

void tree_remove(struct tree *t, struct tree_node *node)
{
    struct tree_node **hook = &t->root, *before = node->below[0], *behind = node->below[1];

    if (!node->thing)
        return;
    while (*hook != node)
        hook = &(*hook)->below[str_compare((*hook)->thing->name, node->thing->name) < 0];
    while (before && behind) {
        bool first = rank_of(t, before) >= rank_of(t, behind);

        *hook = first ? before : behind;
        hook = &(*hook)->below[first];
        *(first ? &before : &behind) = *hook;
    }
    *hook = before ? before : behind;
    *node = (struct tree_node){ 0 };
}

struct tree_node *tree_after(const struct tree *t, struct str name)
{
    struct tree_node *found = NULL;

    for (struct tree_node *node = t->root; node;) {
        bool behind = str_compare(node->thing->name, name) > 0;

        if (behind)
            found = node;
        node = node->below[!behind];
    }
    return found;
}

/* One call for each level: the tree is about as deep as a logarithm. */
static int walk(struct tree_node *node, struct str name,
                int (*fn)(void *arg, struct tree_node *node), void *arg)
{
    int answer = 0;

    for (; node && !answer; node = node->below[1]) {
        if (str_compare(node->thing->name, name) <= 0)
            continue;
        answer = walk(node->below[0], name, fn, arg);
        answer = answer ? answer : fn(arg, node);
    }
    return answer;
}

int tree_walk(const struct tree *t, struct str name, int (*fn)(void *arg, struct tree_node *node),
              void *arg)
{
    return walk(t->root, name, fn, arg);
}
