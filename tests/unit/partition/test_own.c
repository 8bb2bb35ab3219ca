/* SPDX-License-Identifier: MIT */
/* The engine's own work and the room for records: it waits as requests do, and has its share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/recurrence.h"
#include "partition/partition.h"

#define START   INT64_C(1794778000000)
#define SEGMENT (64u << 10) /* So many bytes may be gathered. */
#define MANY    100

static struct store *store;
static struct partition *p;
static struct engine *e;
static char payload[1000];

static int setup(void **state)
{
    struct partition_options o = { .segment_bytes = SEGMENT, .commit_bytes = 4000, .seed = 1 };
    struct partition_report report;

    (void)state;
    if (store_open("memory:", NULL, &store) < 0 ||
        partition_open(store, &o, START, 1000, &p, &report) < 0)
        return -1;
    e = partition_engine(p);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    partition_close(p);
    store_close(store);
    return 0;
}

static struct job_spec spec_of(const char *queue)
{
    return (struct job_spec){ .queue = str_of(queue),
                              .payload = { payload, sizeof(payload) },
                              .due_ms = START + 3600000,
                              .priority = 3,
                              .attempts = -1,
                              .lease_ms = -1,
                              .retain_ms = -1 };
}

static void recur_many(void)
{
    char name[16];

    for (int i = 0; i < MANY; i++) {
        struct recurrence_spec s = { .tenant = STR("default"),
                                     .job = spec_of("q"),
                                     .kind = RECUR_EVERY,
                                     .rule = STR("1h"),
                                     .zone = STR("UTC"),
                                     .start_ms = START + 1000 };

        snprintf(name, sizeof(name), "r%d", i);
        s.name = str_of(name);
        s.job.due_ms = -1;
        assert_int_equal(engine_recur(e, &s), 0);
    }
    assert_int_equal(partition_flush(p), 0);
    engine_advance(e, START + 1000, 2000);
}

static uint64_t jobs_of(const char *queue)
{
    struct queue_view v;

    return engine_queue_get(e, str_of(queue), &v) == 0 ? v.jobs[JOB_READY] : 0;
}

static void requests_fill(uint64_t bytes)
{
    struct schedule_result r;

    while (partition_gathered_bytes(p) < bytes) {
        struct job_spec s = spec_of("others");

        assert_int_equal(engine_schedule(e, &s, &r), 0);
    }
}

static void own_work_waits_for_room_as_requests_do(void **state)
{
    (void)state;
    recur_many();
    requests_fill(SEGMENT);
    assert_true(partition_is_behind(p));
    assert_false(partition_work(p, INT64_MAX));
    assert_int_equal(jobs_of("q"), 0);
    assert_int_equal(partition_flush(p), 0);
    assert_true(partition_work(p, INT64_MAX));
    assert_true(jobs_of("q") > 0);
}

static void own_work_that_found_no_room_comes_before_requests(void **state)
{
    (void)state;
    requests_fill(SEGMENT);
    partition_work(p, INT64_MAX);
    assert_false(partition_owes_work(p)); /* there is none */
    recur_many();
    requests_fill(SEGMENT);
    partition_work(p, INT64_MAX);
    assert_true(partition_owes_work(p));
    assert_int_equal(partition_flush(p), 0);
    assert_true(partition_owes_work(p));
    partition_work(p, INT64_MAX);
    assert_false(partition_owes_work(p));
}

static void own_work_leaves_room_for_requests(void **state)
{
    (void)state;
    recur_many();
    assert_true(partition_work(p, INT64_MAX));
    /* The last step may go beyond the share: an occurrence, and its entry in the ledger. */
    assert_in_range(partition_gathered_bytes(p), 1, SEGMENT / 8 + 3 * sizeof(payload));
    while (partition_work(p, INT64_MAX))
        ;
    assert_false(partition_is_behind(p));
    assert_in_range(jobs_of("q"), 1, MANY - 1);
    for (int i = 0; i < MANY; i++) {
        partition_work(p, INT64_MAX);
        assert_int_equal(partition_flush(p), 0);
    }
    assert_int_equal(jobs_of("q"), MANY);
}

static void a_recurrence_that_goes_on_writes_little(void **state)
{
    static char large[30000];
    struct recurrence_view v;
    struct recurrence_spec s = { .tenant = STR("default"),
                                 .name = STR("r"),
                                 .job = spec_of("q"),
                                 .kind = RECUR_EVERY,
                                 .rule = STR("1h"),
                                 .zone = STR("UTC"),
                                 .start_ms = START + 1000 };

    (void)state;
    s.job.payload = (struct str){ large, sizeof(large) };
    s.job.due_ms = -1;
    assert_int_equal(engine_recur(e, &s), 0);
    assert_true(partition_gathered_bytes(p) > sizeof(large));
    assert_int_equal(partition_flush(p), 0);
    for (int i = 0; i < 4; i++) {
        uint64_t before = partition_gathered_bytes(p);

        assert_int_equal(engine_recurrence_pause(e, STR("default"), STR("r"), i % 2 == 0), 0);
        assert_in_range(partition_gathered_bytes(p) - before, 1, 200);
    }
    assert_int_equal(engine_recurrence_get(e, STR("default"), STR("r"), &v), 0);
    assert_int_equal(v.r.payload.len, sizeof(large));
    assert_false(v.r.paused);
}

static void own_work_ends_at_its_time(void **state)
{
    (void)state;
    recur_many();
    assert_true(partition_work(p, 0)); /* long ago: one step is always made */
    assert_int_equal(jobs_of("q"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(own_work_waits_for_room_as_requests_do),
        TEST(own_work_that_found_no_room_comes_before_requests),
        TEST(own_work_leaves_room_for_requests),
        TEST(own_work_ends_at_its_time),
        TEST(a_recurrence_that_goes_on_writes_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
