/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/list.h"
#include "base/tree.h"

#define THINGS 2000

struct thing {
    struct named by_name;
    struct tree_node node;
    bool in;
    char text[16];
};

static struct thing things[THINGS];
static struct table names;
static struct tree tree;

static int begin(void **state)
{
    (void)state;
    named_init(&names, (struct hash_key){ 1, 2 });
    tree = (struct tree){ .seed = 7 };
    for (int i = 0; i < THINGS; i++) {
        char text[16];
        int n = snprintf(text, sizeof(text), "q%05d", i);

        named_add(&names, &things[i].by_name, things[i].text, (struct str){ text, (size_t)n });
        things[i].node = (struct tree_node){ 0 };
        things[i].in = false;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    table_fini(&names);
    return 0;
}

/* A walk meets all things of the tree, in their order. */
static void check(void)
{
    struct str last = { "", 0 };

    for (int i = 0; i < THINGS; i++) {
        if (!things[i].in)
            continue;
        assert_ptr_equal(tree_after(&tree, last), &things[i].node);
        last = things[i].by_name.name;
    }
    assert_null(tree_after(&tree, last));
}

struct walk {
    int at; /* the last thing that was met */
    int left;
};

static int meet(void *arg, struct tree_node *node)
{
    struct walk *w = arg;

    do
        w->at++;
    while (!things[w->at].in);
    assert_ptr_equal(node, &things[w->at].node);
    return --w->left == 0 ? 7 : 0;
}

static size_t depth(const struct tree_node *n)
{
    size_t a = n ? depth(n->below[0]) : 0, b = n ? depth(n->below[1]) : 0;

    return n ? 1 + (a > b ? a : b) : 0;
}

static void put(int i, bool in)
{
    if (in && !things[i].in)
        tree_add(&tree, &things[i].node, &things[i].by_name);
    else if (!in)
        tree_remove(&tree, &things[i].node); /* also one that is not in it */
    things[i].in = in;
}

static void a_walk_begins_behind_a_name_and_ends_when_it_is_told_to(void **state)
{
    struct walk w = { -1, -1 };

    (void)state;
    for (int i = 0; i < THINGS; i += 3)
        put(i, true);
    assert_int_equal(tree_walk(&tree, STR(""), meet, &w), 0);
    assert_int_equal(w.at, (THINGS - 1) / 3 * 3);
    for (int i = 0; i < THINGS; i += 97) { /* the name may be of no thing in the tree */
        w = (struct walk){ i, 5 };
        assert_int_equal(tree_walk(&tree, things[i].by_name.name, meet, &w),
                         i + 5 * 3 < THINGS ? 7 : 0);
    }
}

static void things_are_found_in_the_order_of_their_names(void **state)
{
    uint64_t random = 1;

    (void)state;
    check();
    for (int i = 0; i < 20 * THINGS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        put((int)(random >> 33) % THINGS, random >> 63);
        if (i % THINGS == 0)
            check();
    }
    check();
    for (int i = 0; i < THINGS; i++)
        put(i, false);
    assert_null(tree.root);
}

static void names_that_come_sorted_make_no_deep_tree(void **state)
{
    (void)state;
    for (int i = 0; i < THINGS; i++)
        put(i, true);
    check();
    assert_true(depth(tree.root) < 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_walk_begins_behind_a_name_and_ends_when_it_is_told_to,
                                        begin, end),
        cmocka_unit_test_setup_teardown(things_are_found_in_the_order_of_their_names, begin, end),
        cmocka_unit_test_setup_teardown(names_that_come_sorted_make_no_deep_tree, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
