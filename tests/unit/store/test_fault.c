/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "support/fault.h"
#include "store/memory.h"

struct fixture {
    struct store *memory;
    struct store *s;
    enum fault_point point; /* where something is to happen */
    enum fault_action action;
};

static enum fault_action decide(void *arg, enum fault_point point)
{
    struct fixture *x = arg;
    return point == x->point ? x->action : FAULT_GO;
}

static void start(struct fixture *x, uint64_t seed)
{
    x->point = FAULT_POINT_COUNT;
    assert_int_equal(store_open("memory:", NULL, &x->memory), 0);
    assert_int_equal(fault_new(x->memory, seed, decide, x, &x->s), 0);
}

static void end(struct fixture *x)
{
    store_close(x->s);
    store_close(x->memory);
}

static int append(struct store *s, uint64_t seq, bool durable)
{
    struct store_append a = { .log = STR("log"),
                              .fence = STR("owner"),
                              .seq = seq,
                              .element = STR("some bytes"),
                              .durable = durable };
    return s->ops->append(s, &a);
}

static int ignore_element(void *arg, uint64_t seq, struct str element)
{
    (void)arg;
    (void)seq;
    (void)element;
    return 0;
}

static int ignore_name(void *arg, struct str name)
{
    (void)arg;
    (void)name;
    return 0;
}

static int ignore_record(void *arg, const struct store_cell *record)
{
    (void)arg;
    (void)record;
    return 0;
}

static struct store_tail tail_of(struct store *s)
{
    struct store_tail tail = { 0 };
    int r = s->ops->read(s, STR("log"), 0, 0, ignore_element, NULL, &tail);
    assert_true(r == 0 || r == BELFRY_NOTFOUND);
    return tail;
}

/* Every operation once, up to the first that does not succeed. */
static int everything(struct store *s)
{
    struct store_cas c = { STR("r"), 0, 1, STR("v"), 0 };
    struct store_tail tail;
    int r = append(s, 0, true);
    if (r == 0)
        r = s->ops->sync(s, STR("log"));
    if (r == 0)
        r = s->ops->read(s, STR("log"), 0, 0, ignore_element, NULL, &tail);
    if (r == 0)
        r = s->ops->list(s, STR(""), ignore_name, NULL);
    if (r == 0)
        r = s->ops->cas(s, &c);
    if (r == 0)
        r = s->ops->scan(s, STR(""), ignore_record, NULL);
    return r != 0 ? r : s->ops->remove(s, STR("log"));
}

static void crash_at_every_point_ends_all_calls_until_revived(void **state)
{
    (void)state;
    for (int point = 0; point < FAULT_POINT_COUNT; point++) {
        struct fixture x = { .action = FAULT_CRASH };
        start(&x, (uint64_t)point);
        x.point = (enum fault_point)point;
        assert_int_equal(everything(x.s), BELFRY_IO);
        assert_true(fault_dead(x.s));
        assert_int_equal(fault_hits(x.s, x.point), 1);
        assert_int_equal(fault_offered(x.s, x.point), 1);
        x.point = FAULT_POINT_COUNT;
        assert_int_equal(append(x.s, 0, true), BELFRY_IO);
        fault_revive(x.s);
        assert_false(fault_dead(x.s));
        assert_int_equal(x.s->ops->list(x.s, STR(""), ignore_name, NULL), 0);
        end(&x);
    }
}

static void failing_at_every_point_answers_what_the_point_says(void **state)
{
    (void)state;
    for (int point = 0; point < FAULT_POINT_COUNT; point++) {
        struct fixture x = { .action = FAULT_FAIL };
        start(&x, (uint64_t)point);
        x.point = (enum fault_point)point;
        int r = everything(x.s);
        if (fault_can_fail(x.point)) {
            assert_true(r == BELFRY_IO || r == BELFRY_FULL || r == BELFRY_FENCED ||
                        r == BELFRY_INDOUBT);
            assert_non_null(strstr(store_detail(), "injected"));
        } else {
            assert_int_equal(r, 0);
        }
        assert_false(fault_dead(x.s));
        assert_non_null(strchr(fault_name(x.point), '.'));
        end(&x);
    }
}

static void in_doubt_append_is_there_or_not(void **state)
{
    (void)state;
    struct fixture x = { .action = FAULT_FAIL };
    start(&x, 1);
    x.point = FAULT_APPEND_INDOUBT_LOST;
    assert_int_equal(append(x.s, 0, true), BELFRY_INDOUBT);
    assert_int_equal(tail_of(x.s).elements, 0);
    x.point = FAULT_APPEND_INDOUBT_APPLIED;
    assert_int_equal(append(x.s, 0, true), BELFRY_INDOUBT);
    assert_int_equal(tail_of(x.s).elements, 1);
    end(&x);
}

static void crash_never_takes_what_was_durable_and_sometimes_takes_the_rest(void **state)
{
    (void)state;
    unsigned kept[11] = { 0 };
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct fixture x = { 0 };
        start(&x, seed);
        for (uint64_t i = 0; i < 10; i++)
            assert_int_equal(append(x.s, i, i < 4), 0);
        fault_crash(x.s);
        fault_revive(x.s);
        uint64_t n = tail_of(x.s).elements;
        assert_true(n >= 4 && n <= 10);
        kept[n]++;
        /* What is left is not durable either, until it is synced. */
        assert_int_equal(x.s->ops->sync(x.s, STR("log")), 0);
        fault_crash(x.s);
        fault_revive(x.s);
        assert_int_equal(tail_of(x.s).elements, n);
        end(&x);
    }
    for (int n = 4; n <= 10; n++)
        assert_true(kept[n] > 0);
}

static void torn_append_leaves_part_of_an_element_for_sync_to_cut(void **state)
{
    (void)state;
    struct fixture x = { .action = FAULT_CRASH };
    start(&x, 3);
    assert_int_equal(append(x.s, 0, true), 0);
    x.point = FAULT_APPEND_TORN;
    assert_int_equal(append(x.s, 1, true), BELFRY_IO);
    x.point = FAULT_POINT_COUNT;
    fault_revive(x.s);
    struct store_tail tail = tail_of(x.s);
    assert_int_equal(tail.elements, 1);
    assert_true(tail.torn_bytes > 0);
    assert_int_equal(append(x.s, 1, true), BELFRY_IO);
    assert_int_equal(x.s->ops->sync(x.s, STR("log")), 0);
    assert_int_equal(append(x.s, 1, true), 0);
    end(&x);
}

static void failed_append_leaves_none_part_or_all_and_needs_a_sync(void **state)
{
    (void)state;
    unsigned none = 0;
    unsigned part = 0;
    unsigned all = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct fixture x = { .action = FAULT_FAIL };
        start(&x, seed);
        assert_int_equal(append(x.s, 0, true), 0);
        x.point = FAULT_APPEND_FAIL;
        assert_int_equal(append(x.s, 1, true), BELFRY_IO);
        x.point = FAULT_POINT_COUNT;
        struct store_tail tail = tail_of(x.s);
        none += tail.elements == 1 && tail.torn_bytes == 0;
        part += tail.elements == 1 && tail.torn_bytes > 0;
        all += tail.elements == 2;
        assert_int_equal(append(x.s, tail.elements, true), BELFRY_IO);
        x.point = FAULT_SYNC_FAIL;
        assert_int_equal(x.s->ops->sync(x.s, STR("log")), BELFRY_IO);
        x.point = FAULT_POINT_COUNT;
        assert_int_equal(append(x.s, tail.elements, true), BELFRY_IO);
        assert_int_equal(x.s->ops->sync(x.s, STR("log")), 0);
        assert_int_equal(append(x.s, tail.elements, true), 0);
        end(&x);
    }
    assert_true(none > 0 && part > 0 && all > 0);
}

static int64_t virtual_now(void *arg)
{
    return *(int64_t *)arg;
}

static void clock_of_the_memory_store_can_be_virtual(void **state)
{
    (void)state;
    int64_t now = 1000;
    char buf[8];
    struct store_cell r;
    struct fixture x = { 0 };
    start(&x, 1);
    memory_set_clock(x.memory, virtual_now, &now);
    struct store_cas c = { STR("r"), 0, 1, STR("v"), 1500 };
    assert_int_equal(x.s->ops->now_ms(x.s), 1000);
    assert_int_equal(x.s->ops->cas(x.s, &c), 0);
    assert_int_equal(store_get(x.s, STR("r"), buf, sizeof buf, &r), 0);
    now = 1500;
    assert_int_equal(store_get(x.s, STR("r"), buf, sizeof buf, &r), BELFRY_NOTFOUND);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crash_at_every_point_ends_all_calls_until_revived),
        cmocka_unit_test(failing_at_every_point_answers_what_the_point_says),
        cmocka_unit_test(in_doubt_append_is_there_or_not),
        cmocka_unit_test(crash_never_takes_what_was_durable_and_sometimes_takes_the_rest),
        cmocka_unit_test(torn_append_leaves_part_of_an_element_for_sync_to_cut),
        cmocka_unit_test(failed_append_leaves_none_part_or_all_and_needs_a_sync),
        cmocka_unit_test(clock_of_the_memory_store_can_be_virtual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
