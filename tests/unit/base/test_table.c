/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/list.h"
#include "base/table.h"

struct item {
    struct table_node node;
    uint64_t hash;
    uint64_t key;
    unsigned seen;
};

static struct item *item_of(struct table_node *node)
{
    return container_of(node, struct item, node);
}

static uint64_t item_hash(const struct table_node *node)
{
    return ((const struct item *)(const void *)node)->hash;
}

static bool item_match(const struct table_node *node, const void *key)
{
    return ((const struct item *)(const void *)node)->key == *(const uint64_t *)key;
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static struct item *items_new(size_t n, uint64_t hash_mask)
{
    struct item *items = calloc(n, sizeof *items);
    for (size_t i = 0; i < n; i++) {
        items[i].key = i;
        items[i].hash = mix(i) & hash_mask;
    }
    return items;
}

static bool found(const struct table *t, const struct item *item)
{
    struct table_node *node = table_find(t, item->hash, item_match, &item->key);
    return node && item_of(node) == item;
}

static void an_empty_table_finds_nothing_and_needs_no_memory(void **state)
{
    struct table t;
    uint64_t key = 1;
    (void)state;
    table_init(&t, item_hash);
    assert_null(table_find(&t, 77, item_match, &key));
    assert_null(table_chain(&t, UINT64_MAX));
    assert_ptr_equal(t.segments[0], t.small);
    table_fini(&t);
    table_fini(&t);
    table_fini(NULL);
}

static void every_node_is_found_after_every_step_of_growth(void **state)
{
    enum { N = 1200 };
    struct item *items = items_new(N, UINT64_MAX);
    struct table t;
    (void)state;
    table_init(&t, item_hash);
    for (size_t i = 0; i < N; i++) {
        assert_false(found(&t, &items[i]));
        table_add(&t, &items[i].node);
        for (size_t j = 0; j <= i; j++)
            assert_true(found(&t, &items[j]));
        assert_true(t.count <= t.buckets);
    }
    table_fini(&t);
    free(items);
}

static void many_segments_hold_all_nodes_and_removal_leaves_the_rest(void **state)
{
    enum { N = 100000 };
    struct item *items = items_new(N, UINT64_MAX);
    struct table t;
    (void)state;
    table_init(&t, item_hash);
    for (size_t i = 0; i < N; i++)
        table_add(&t, &items[i].node);
    assert_int_equal(t.count, N);
    assert_int_equal(t.buckets, N);
    for (size_t i = 0; i < N; i += 3)
        table_remove(&t, &items[i].node);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(found(&t, &items[i]), i % 3 != 0);
    for (size_t i = 0; i < N; i += 3)
        table_add(&t, &items[i].node);
    for (size_t i = 0; i < N; i++)
        assert_true(found(&t, &items[i]));
    for (size_t i = 0; i < N; i++)
        table_remove(&t, &items[i].node);
    assert_int_equal(t.count, 0);
    for (size_t i = 0; i < N; i++)
        assert_null(table_chain(&t, items[i].hash));
    table_fini(&t);
    free(items);
}

static void nodes_of_one_hash_are_told_apart_by_their_key(void **state)
{
    enum { N = 300 };
    struct item *items = items_new(N, 1);
    struct table t;
    (void)state;
    table_init(&t, item_hash);
    for (size_t i = 0; i < N; i++)
        table_add(&t, &items[i].node);
    for (size_t i = 0; i < N; i++)
        assert_true(found(&t, &items[i]));
    for (size_t i = 0; i < N; i += 2)
        table_remove(&t, &items[i].node);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(found(&t, &items[i]), i % 2);
    table_fini(&t);
    free(items);
}

struct visit {
    struct table *t;
    uint64_t mask, stripe;
    size_t n;
    bool remove;
};

static int visit(void *arg, struct table_node *node)
{
    struct visit *v = arg;
    struct item *item = item_of(node);
    assert_int_equal(item->hash & v->mask, v->stripe);
    item->seen++;
    v->n++;
    if (v->remove)
        table_remove(v->t, node);
    return 0;
}

/* All widths of stripes, from one that holds everything to more stripes than buckets. */
static void stripes_visit_each_node_once_at_any_size(void **state)
{
    static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 64, 65, 100, 511, 513, 4096, 5000, 9000 };
    (void)state;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        struct item *items = items_new(sizes[k] + 1, UINT64_MAX);
        struct table t;
        table_init(&t, item_hash);
        for (size_t i = 0; i < sizes[k]; i++)
            table_add(&t, &items[i].node);
        for (unsigned s = 0; s <= 14; s++) {
            struct visit v = { .t = &t, .mask = (UINT64_C(1) << s) - 1 };
            for (v.stripe = 0; v.stripe <= v.mask; v.stripe++)
                table_each_stripe(&t, s, v.stripe, visit, &v);
            assert_int_equal(v.n, sizes[k]);
            for (size_t i = 0; i < sizes[k]; i++)
                assert_int_equal(items[i].seen, s + 1);
        }
        table_fini(&t);
        free(items);
    }
}

static void a_walk_over_stripes_survives_growth_in_between(void **state)
{
    enum { S = 6, N = 1 << S, OLD = 50 };
    struct item *items = items_new(OLD + N * 100, UINT64_MAX);
    struct table t;
    struct visit v = { .t = &t, .mask = N - 1 };
    size_t added = OLD;
    (void)state;
    table_init(&t, item_hash);
    for (size_t i = 0; i < OLD; i++)
        table_add(&t, &items[i].node);
    for (v.stripe = 0; v.stripe < N; v.stripe++) {
        table_each_stripe(&t, S, v.stripe, visit, &v);
        for (int i = 0; i < 100; i++)
            table_add(&t, &items[added++].node);
    }
    for (size_t i = 0; i < OLD; i++)
        assert_int_equal(items[i].seen, 1);
    for (size_t i = OLD; i < added; i++)
        assert_true(items[i].seen <= 1);
    table_fini(&t);
    free(items);
}

static void the_visited_node_may_be_removed(void **state)
{
    enum { N = 1000 };
    struct item *items = items_new(N, UINT64_MAX);
    struct table t;
    struct visit v = { .t = &t, .mask = 3, .stripe = 2, .remove = true };
    (void)state;
    table_init(&t, item_hash);
    for (size_t i = 0; i < N; i++)
        table_add(&t, &items[i].node);
    table_each_stripe(&t, 2, 2, visit, &v);
    assert_int_equal(t.count, N - v.n);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(found(&t, &items[i]), (items[i].hash & 3) != 2);
    table_fini(&t);
    free(items);
}

static int stop_at_once(void *arg, struct table_node *node)
{
    (void)node;
    ++*(int *)arg;
    return -7;
}

static void a_walk_ends_when_the_visitor_says_so(void **state)
{
    struct item *items = items_new(100, UINT64_MAX);
    struct table t;
    int calls = 0;
    (void)state;
    table_init(&t, item_hash);
    for (size_t i = 0; i < 100; i++)
        table_add(&t, &items[i].node);
    assert_int_equal(table_each_stripe(&t, 0, 0, stop_at_once, &calls), -7);
    assert_int_equal(calls, 1);
    table_fini(&t);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table_finds_nothing_and_needs_no_memory),
        cmocka_unit_test(every_node_is_found_after_every_step_of_growth),
        cmocka_unit_test(many_segments_hold_all_nodes_and_removal_leaves_the_rest),
        cmocka_unit_test(nodes_of_one_hash_are_told_apart_by_their_key),
        cmocka_unit_test(stripes_visit_each_node_once_at_any_size),
        cmocka_unit_test(a_walk_over_stripes_survives_growth_in_between),
        cmocka_unit_test(the_visited_node_may_be_removed),
        cmocka_unit_test(a_walk_ends_when_the_visitor_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
