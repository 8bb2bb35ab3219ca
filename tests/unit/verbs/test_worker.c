/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "verbs/worker.h"

#define NOW INT64_C(1794778000000)

static struct workers *ws;

static int setup(void **state)
{
    (void)state;
    ws = workers_new((struct hash_key){ 0 });
    return ws ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    workers_free(ws);
    return 0;
}

static struct worker *see(const char *tenant, const char *name, const char *address, int64_t ms)
{
    struct worker *w = workers_see(ws, str_of(tenant), str_of(name), str_of(address), ms);

    assert_non_null(w);
    return w;
}

static void a_name_is_one_worker_within_its_tenant(void **state)
{
    struct worker *w = see("a", "w", "10.0.0.1:5", NOW);

    (void)state;
    assert_ptr_equal(see("a", "w", "10.0.0.2:6", NOW + 1), w);
    assert_string_equal(w->address, "10.0.0.2:6");
    assert_int_equal(w->first_ms, NOW);
    assert_int_equal(w->seen_ms, NOW + 1);
    assert_ptr_not_equal(see("b", "w", "10.0.0.2:6", NOW), w);
    assert_ptr_not_equal(see("a", "w2", "10.0.0.2:6", NOW), w);
    assert_ptr_equal(workers_find(ws, STR("a"), STR("w")), w);
    assert_null(workers_find(ws, STR("c"), STR("w")));
    assert_true(str_eq(w->tenant, STR("a")) && str_eq(w->name, STR("w")));
}

static void without_a_name_the_machine_counts(void **state)
{
    struct worker *w = see("a", "", "10.0.0.1:5", NOW);

    (void)state;
    assert_ptr_equal(see("a", "", "10.0.0.1:77", NOW), w);
    assert_ptr_not_equal(see("a", "", "10.0.0.2:5", NOW), w);
    assert_ptr_not_equal(see("a", "", "[::1]:5", NOW), see("a", "", "[::2]:5", NOW));
    assert_int_equal(w->name.len, 0);
}

static void the_last_hour_is_counted(void **state)
{
    struct worker *w = see("a", "w", "", NOW);

    (void)state;
    worker_count(w, WORKER_DONE, NOW);
    worker_count(w, WORKER_DONE, NOW + WORKER_SLOT_MS);
    worker_count(w, WORKER_FAILED, NOW + WORKER_SLOT_MS);
    assert_int_equal(worker_sum(w, WORKER_DONE, NOW + WORKER_SLOT_MS), 2);
    assert_int_equal(worker_sum(w, WORKER_FAILED, NOW + WORKER_SLOT_MS), 1);
    worker_count(w, WORKER_DONE, NOW); /* the clock was set back */
    assert_int_equal(worker_sum(w, WORKER_DONE, NOW + 2 * WORKER_SLOT_MS), 3);
    assert_int_equal(worker_sum(w, WORKER_DONE, NOW + WORKER_KEEP_MS), 2);
    assert_int_equal(worker_sum(w, WORKER_DONE, NOW + WORKER_KEEP_MS + WORKER_SLOT_MS), 0);
    worker_count(w, WORKER_DONE, NOW + 100 * WORKER_KEEP_MS);
    assert_int_equal(worker_sum(w, WORKER_DONE, NOW + 100 * WORKER_KEEP_MS), 1);
    assert_int_equal(worker_sum(w, WORKER_FAILED, NOW + 100 * WORKER_KEEP_MS), 0);
}

static void silent_workers_are_forgotten_after_an_hour(void **state)
{
    (void)state;
    see("a", "old", "", NOW);
    see("a", "new", "", NOW + 1);
    workers_sweep(ws, NOW + WORKER_KEEP_MS);
    assert_null(workers_find(ws, STR("a"), STR("old")));
    assert_non_null(workers_find(ws, STR("a"), STR("new")));
}

static void a_tenant_pushes_out_its_own_silent_workers(void **state)
{
    char name[16];

    (void)state;
    see("b", "w", "", NOW);
    for (int i = 0; i <= WORKERS_TENANT_MAX; i++) {
        sprintf(name, "w%d", i);
        see("a", name, "", NOW + i);
    }
    assert_non_null(workers_find(ws, STR("b"), STR("w")));
    assert_null(workers_find(ws, STR("a"), STR("w0")));
    assert_non_null(workers_find(ws, STR("a"), STR("w1")));
    assert_int_equal(list_length(&ws->all), WORKERS_TENANT_MAX + 1);
}

static void its_bytes_are_those_of_its_workers(void **state)
{
    size_t none = workers_bytes(ws);
    char name[16];

    (void)state;
    assert_int_equal(workers_bytes(NULL), 0);
    for (int i = 0; i < 100; i++) {
        sprintf(name, "w%d", i);
        see("a", name, "", NOW);
    }
    assert_true(workers_bytes(ws) >= none + 100 * sizeof(struct worker));
    assert_true(workers_bytes(ws) < none + 101 * sizeof(struct worker));
    workers_sweep(ws, NOW + WORKER_KEEP_MS);
    assert_true(workers_bytes(ws) < none + sizeof(struct worker));
}

static void there_are_never_more_than_the_bound(void **state)
{
    char tenant[16];

    (void)state;
    for (int i = 0; i < 2 * WORKERS_MAX; i++) {
        sprintf(tenant, "t%d", i);
        see(tenant, "w", "", NOW + i);
    }
    assert_int_equal(list_length(&ws->all), WORKERS_MAX);
    assert_non_null(workers_find(ws, STR("t2000"), STR("w")));
    assert_null(workers_find(ws, STR("t1999"), STR("w")));
}

static void long_lists_of_queues_are_cut_between_names(void **state)
{
    struct worker *w = see("a", "w", "", NOW);
    char many[2000] = "";
    size_t len = 0;

    (void)state;
    for (int i = 0; i < 150; i++)
        len += (size_t)sprintf(many + len, "%squeue%03d", i ? "," : "", i);
    worker_ask(w, (struct str){ many, len }, NOW);
    assert_true(strlen(w->queues) < WORKER_QUEUES && strlen(w->queues) > WORKER_QUEUES - 10);
    assert_string_equal(w->queues + strlen(w->queues) - 8, "queue055");
    worker_ask(w, STR("one"), NOW);
    assert_string_equal(w->queues, "one");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_name_is_one_worker_within_its_tenant),
        TEST(without_a_name_the_machine_counts),
        TEST(the_last_hour_is_counted),
        TEST(its_bytes_are_those_of_its_workers),
        TEST(silent_workers_are_forgotten_after_an_hour),
        TEST(a_tenant_pushes_out_its_own_silent_workers),
        TEST(there_are_never_more_than_the_bound),
        TEST(long_lists_of_queues_are_cut_between_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
