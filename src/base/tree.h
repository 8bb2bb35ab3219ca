/* SPDX-License-Identifier: MIT */
/*
 * Things in the order of their names: a treap. A thing with a higher rank stands above those with
 * lower ranks. Ranks are the hashes of names, mixed with a seed that clients do not know. So the
 * tree is about as deep as the logarithm of the number of things, whatever names clients choose.
 * The tree allocates nothing. A thing has one node for each tree that it is in.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include "base/named.h"

struct tree_node {
    struct tree_node *below[2]; /* the trees of things before this thing, and behind it */
    const struct named *thing;  /* NULL: the node is in no tree */
};

struct tree {
    struct tree_node *root;
    uint64_t seed;
};

/* No other thing of the tree has this name. */
void tree_add(struct tree *t, struct tree_node *node, const struct named *thing);
/* A node that is in no tree is left alone. */
void tree_remove(struct tree *t, struct tree_node *node);
/* The first node whose name comes after `name`; NULL: there is none. */
struct tree_node *tree_after(const struct tree *t, struct str name);
/* Calls fn with each node whose name comes after `name`, in order, until fn answers other than 0.
 * Returns that answer. fn changes nothing in the tree. */
int tree_walk(const struct tree *t, struct str name, int (*fn)(void *arg, struct tree_node *node),
              void *arg);

#endif
