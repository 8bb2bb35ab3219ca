/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/heap.h"
#include "support/heap_each.h"
#include "base/list.h"

#define ITEMS 2000

struct item {
    struct heap_node node;
    unsigned value;
    int in; /* which heap; -1: none */
    bool seen;
};

static struct item items[ITEMS];
static struct heap heaps[2];
static uint64_t random_state;

static unsigned random_below(unsigned n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(random_state >> 33) % n;
}

static struct item *item_of(const struct heap_node *node)
{
    return container_of(node, struct item, node);
}

static uint64_t steps; /* comparisons */

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    steps++;
    return item_of(a)->value < item_of(b)->value;
}

static int setup(void **state)
{
    (void)state;
    random_state = 7;
    heaps[0].root = heaps[1].root = NULL;
    for (int i = 0; i < ITEMS; i++)
        items[i] = (struct item){ .in = -1 };
    return 0;
}

static void add(int heap, struct item *item, unsigned value)
{
    item->value = value;
    item->in = heap;
    heap_add(&heaps[heap], &item->node, before);
}

static void take(struct item *item)
{
    heap_remove(&heaps[item->in], &item->node, before);
    item->in = -1;
}

static int see(void *arg, struct heap_node *node)
{
    struct item *item = item_of(node);

    assert_false(item->seen);
    assert_int_equal(item->in, *(int *)arg);
    item->seen = true;
    return 0;
}

/* The first is the least of those that are in it, and a visit sees each once. */
static void check(int heap)
{
    const struct item *least = NULL;

    for (int i = 0; i < ITEMS; i++) {
        items[i].seen = false;
        if (items[i].in == heap && (!least || items[i].value < least->value))
            least = &items[i];
    }
    assert_int_equal(heaps[heap].root != NULL, least != NULL);
    if (least)
        assert_int_equal(item_of(heaps[heap].root)->value, least->value);
    heap_each(&heaps[heap], see, &heap);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(items[i].seen, items[i].in == heap);
}

static void what_is_taken_first_is_always_the_least(void **state)
{
    unsigned last = 0;

    (void)state;
    for (int i = 0; i < ITEMS; i++)
        add(0, &items[i], random_below(500));
    for (int i = 0; i < ITEMS; i++) {
        struct item *first = item_of(heaps[0].root);

        assert_true(first->value >= last);
        last = first->value;
        take(first);
    }
    assert_null(heaps[0].root);
}

static void nodes_come_and_go_anywhere(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct item *item = &items[random_below(ITEMS)];

        if (item->in >= 0)
            take(item);
        else
            add((int)random_below(2), item, random_below(1000));
        if (round % 97 == 0) {
            check(0);
            check(1);
        }
    }
}

static void two_heaps_become_one(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < ITEMS; i++)
            if (items[i].in < 0 && random_below(2))
                add((int)random_below(2), &items[i], random_below(1000));
        heap_join(&heaps[0], &heaps[1], before);
        for (int i = 0; i < ITEMS; i++)
            items[i].in = items[i].in == 1 ? 0 : items[i].in;
        check(0);
        check(1);
        for (int i = 0; i < ITEMS; i++)
            if (items[i].in == 0 && random_below(2))
                take(&items[i]);
        check(0);
    }
}

static int stop(void *arg, struct heap_node *node)
{
    (void)node;
    return ++*(int *)arg == 3 ? 42 : 0;
}

static void a_visit_ends_when_it_is_told_to(void **state)
{
    int n = 0;

    (void)state;
    for (int i = 0; i < 10; i++)
        add(0, &items[i], random_below(1000));
    assert_int_equal(heap_each(&heaps[0], stop, &n), 42);
    assert_int_equal(n, 3);
}

#define MANY 100000
#define FEW  200 /* comparisons in one call */

/* Whatever came before: values rise, fall or are random. */
static void no_single_call_takes_many_steps(void **state)
{
    struct item *many = calloc(MANY, sizeof(*many));

    (void)state;
    assert_non_null(many);
    for (unsigned how = 0; how < 3; how++) {
        uint64_t most = 0, all = 0;

        for (unsigned i = 0; i < 2 * MANY; i++) {
            struct heap_node *node = i < MANY ? &many[i].node : heaps[0].root;

            steps = 0;
            if (i < MANY) {
                many[i].value = how == 0 ? i : how == 1 ? MANY - i : random_below(MANY);
                heap_add(&heaps[0], node, before);
            } else {
                heap_remove(&heaps[0], node, before);
            }
            most = steps > most ? steps : most;
            all += steps;
        }
        assert_null(heaps[0].root);
        assert_true(most < FEW);
        assert_true(all / MANY < FEW / 4);
    }
    free(many);
}

struct pruned {
    unsigned below; /* values that are of interest */
    int looks;
    int found;
};

static bool look(void *arg, const struct heap_node *node)
{
    struct pruned *p = arg;

    p->looks++;
    assert_false(item_of(node)->seen);
    item_of(node)->seen = true;
    p->found += item_of(node)->value < p->below;
    return item_of(node)->value < p->below;
}

/* Each node of interest is visited once, and of the others only those right below one. */
static void a_visit_leaves_out_what_is_below(void **state)
{
    (void)state;
    for (int i = 0; i < ITEMS; i++)
        add(0, &items[i], random_below(1000));
    for (unsigned below = 0; below <= 1000; below += 50) {
        struct pruned p = { .below = below };
        int count = 0;

        for (int i = 0; i < ITEMS; i++) {
            items[i].seen = false;
            count += items[i].value < below;
        }
        heap_visit(&heaps[0], look, &p);
        assert_int_equal(p.found, count);
        assert_true(p.looks <= 2 * count + 1);
    }
    heap_visit(&heaps[1], look, NULL); /* an empty one has nothing to visit */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_taken_first_is_always_the_least, setup),
        cmocka_unit_test_setup(nodes_come_and_go_anywhere, setup),
        cmocka_unit_test_setup(two_heaps_become_one, setup),
        cmocka_unit_test_setup(no_single_call_takes_many_steps, setup),
        cmocka_unit_test_setup(a_visit_ends_when_it_is_told_to, setup),
        cmocka_unit_test_setup(a_visit_leaves_out_what_is_below, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
