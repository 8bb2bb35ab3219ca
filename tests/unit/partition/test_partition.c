/* SPDX-License-Identifier: MIT */
/* The cycle between engine and journal, on the memory store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "partition/partition.h"

#define START INT64_C(1794778000000)

static struct store *store;
static struct partition *p;
static struct partition_report report;

static void open_as(uint64_t segment_bytes, bool durable)
{
    struct partition_options o = {
        .segment_bytes = segment_bytes, .commit_bytes = 1000, .durable = durable, .seed = 1
    };

    assert_int_equal(partition_open(store, &o, START, 1000, &p, &report), 0);
}

static void open_partition(uint64_t segment_bytes)
{
    open_as(segment_bytes, true);
}

static int setup(void **state)
{
    (void)state;
    return store_open("memory:", NULL, &store);
}

static int teardown(void **state)
{
    (void)state;
    partition_close(p);
    store_close(store);
    return 0;
}

static void schedule(int count)
{
    char payload[300] = { 0 };

    for (int i = 0; i < count; i++) {
        struct job_spec spec = { .queue = STR("q"),
                                 .payload = { payload, sizeof(payload) },
                                 .due_ms = START + 3600000,
                                 .priority = 3,
                                 .attempts = -1,
                                 .lease_ms = -1,
                                 .retain_ms = 0 };
        struct schedule_result r;

        assert_int_equal(engine_schedule(partition_engine(p), &spec, &r), 0);
    }
}

static uint64_t scheduled(void)
{
    struct engine_stats s;

    engine_stats(partition_engine(p), &s);
    return s.jobs[JOB_SCHEDULED];
}

static void a_burst_is_written_as_several_commits_in_order(void **state)
{
    struct commit *c;
    uint64_t durable = 0;
    int commits = 0;

    (void)state;
    open_partition(1 << 20);
    schedule(100);
    while ((c = partition_take(p))) {
        assert_null(partition_take(p)); /* one at a time */
        assert_int_equal(commit_write(c), 0);
        partition_settle(p, c);
        assert_true(partition_durable_lsn(p) > durable);
        durable = partition_durable_lsn(p);
        commits++;
    }
    assert_true(commits >= 25);
    assert_int_equal(durable, engine_lsn(partition_engine(p)));
    assert_int_equal(durable, engine_visible_lsn(partition_engine(p)));
    partition_close(p);
    open_partition(1 << 20);
    assert_int_equal(scheduled(), 100);
}

static void what_of_a_burst_was_written_is_there_after_a_crash(void **state)
{
    struct commit *c;
    uint64_t durable, opening;

    (void)state;
    open_partition(1 << 20);
    opening = engine_lsn(partition_engine(p)); /* says where the journal begins */
    schedule(100);
    for (int i = 0; i < 5; i++) {
        c = partition_take(p);
        assert_int_equal(commit_write(c), 0);
        partition_settle(p, c);
    }
    durable = partition_durable_lsn(p);
    partition_close(p); /* with commits that are not written: that is no clean end */
    open_partition(1 << 20);
    assert_false(report.clean);
    assert_int_equal(scheduled(), durable - opening); /* each record was one job */
}

static void a_burst_goes_over_segments(void **state)
{
    struct partition_stats s;

    (void)state;
    open_partition(4000);
    schedule(100);
    assert_int_equal(partition_flush(p), 0);
    partition_stats(p, &s);
    assert_true(s.segments >= 5);
    partition_close(p);
    open_partition(4000);
    assert_int_equal(scheduled(), 100);
}

static void opening_goes_on_in_the_last_segment(void **state)
{
    struct partition_stats s;

    (void)state;
    for (int i = 0; i < 10; i++) {
        open_partition(1 << 20);
        schedule(1);
        assert_int_equal(partition_flush(p), 0);
        partition_stats(p, &s);
        assert_int_equal(s.segments, 1);
        if (i < 9)
            partition_close(p);
    }
    assert_true(report.clean);
    assert_int_equal(scheduled(), 10);
}

static void end_jobs(uint64_t count)
{
    for (uint64_t seq = 1; seq <= count; seq++)
        assert_int_equal(engine_cancel(partition_engine(p),
                                       (struct job_id){ .due_ms = START + 3600000, .seq = seq }),
                         CANCEL_CANCELLED);
}

/* As a server does when nobody asks anything of it. */
static void turn(void)
{
    struct chore *c = partition_chore(p, CHORE_RECLAIM);

    if (c)
        assert_int_equal(partition_chore_done(p, c, chore_run(c)), 0);
    assert_int_equal(partition_flush(p), 0);
}

static void reclaiming_ends_though_nothing_is_written(void **state)
{
    struct partition_stats before, after;

    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        open_as(64000, durable);
        schedule(1000);
        assert_int_equal(partition_flush(p), 0);
        end_jobs(1000);
        assert_int_equal(partition_flush(p), 0);
        partition_stats(p, &before);
        assert_true(before.segments > 5);
        for (int i = 0; i < 200; i++)
            turn();
        partition_stats(p, &after);
        assert_true(after.segments <= 4);
        assert_true(after.commits - before.commits < 2 * before.segments);
        partition_close(p);
        p = NULL;
        store_close(store);
        assert_int_equal(store_open("memory:", NULL, &store), 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_burst_is_written_as_several_commits_in_order),
        TEST(what_of_a_burst_was_written_is_there_after_a_crash),
        TEST(a_burst_goes_over_segments),
        TEST(opening_goes_on_in_the_last_segment),
        TEST(reclaiming_ends_though_nothing_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
