/* SPDX-License-Identifier: MIT */
/* The secret by which names in runs are made. */
#include "record/coldkey.h"
#include "record/record_cold.h"
#include "support/spilled.h"

static int setup_old(void **state)
{
    secret = (struct hash_key){ 0 };
    return setup(state);
}

static int teardown_old(void **state)
{
    secret = (struct hash_key){ 1, 2 };
    return teardown(state);
}

static void restart(struct hash_key drawn)
{
    settle();
    partition_close(p);
    secret = drawn;
    open_partition();
}

static struct job_id schedule_key(const char *key, enum schedule_outcome expected)
{
    struct job_spec spec = spec_of("q", 100 * HOUR);
    struct schedule_result r;
    int is;

    spec.key = str_of(key);
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, 0);
    assert_int_equal(r.outcome, expected);
    return r.id;
}

static void expect_secret(struct hash_key k)
{
    assert_true(engine_naming(e)->key.a == k.a && engine_naming(e)->key.b == k.b);
}

static void the_first_secret_stays_and_keys_on_disk_are_found(void **state)
{
    (void)state;
    expect_secret((struct hash_key){ 1, 2 });
    push_out(schedule_key("k", SCHEDULE_CREATED));
    for (uint64_t i = 5; i < 8; i++) {
        for (int n = 0; n < MANY; n++) /* some segments, so that the first ones are reclaimed */
            engine_cancel(e, schedule("q", HOUR));
        restart((struct hash_key){ i, i });
        expect_secret((struct hash_key){ 1, 2 });
        schedule_key("k", SCHEDULE_KEPT);
    }
    assert_true(engine_oldest(e) > 1);
}

static void keys_of_before_the_secret_are_found(void **state)
{
    (void)state;
    expect_secret((struct hash_key){ 0 });
    push_out(schedule_key("old", SCHEDULE_CREATED));
    restart((struct hash_key){ 5, 6 });
    expect_secret((struct hash_key){ 5, 6 });
    schedule_key("old", SCHEDULE_KEPT);
    push_out(schedule_key("new", SCHEDULE_CREATED));
    restart((struct hash_key){ 7, 8 });
    expect_secret((struct hash_key){ 5, 6 });
    schedule_key("old", SCHEDULE_KEPT);
    schedule_key("new", SCHEDULE_KEPT);
    schedule_key("other", SCHEDULE_CREATED);
}

static void a_batch_finds_keys_of_before_the_secret_and_of_after_it(void **state)
{
    struct job_spec specs[3] = { spec_of("q", HOUR), spec_of("q", HOUR), spec_of("q", HOUR) };
    struct schedule_result results[3];
    struct job_id old, new;
    size_t at;
    int is;

    (void)state;
    old = schedule_key("old", SCHEDULE_CREATED);
    push_out(old);
    restart((struct hash_key){ 5, 6 });
    new = schedule_key("new", SCHEDULE_CREATED);
    push_out(new);
    specs[0].key = STR("old");
    specs[1].key = STR("new");
    specs[2].key = STR("other");
    EXECUTE(is, engine_schedule_all(e, specs, 3, results, &at));
    assert_int_equal(is, 0);
    assert_int_equal(results[0].id.seq, old.seq);
    assert_int_equal(results[1].id.seq, new.seq);
    assert_int_equal(results[2].outcome, SCHEDULE_CREATED);
}

static int lease_one(void)
{
    struct str name = STR("lanes");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 10, .for_ms = HOUR };
    struct job *jobs[10];

    return engine_lease(e, &r, jobs);
}

static void lanes_of_before_the_secret_stay_lanes(void **state)
{
    struct job_spec spec = spec_of("lanes", 0);
    struct schedule_result r;

    (void)state;
    spec.order = STR("o");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    advance(1);
    assert_int_equal(lease_one(), 1);
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    restart((struct hash_key){ 5, 6 });
    expect_secret((struct hash_key){ 5, 6 });
    spec.due_ms = wall;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    advance(1);
    assert_int_equal(lease_one(), 0);
    engine_verify(e);
}

static void another_secret_is_refused(void **state)
{
    static const struct secret_record records[] = { { 1, 2, 1 }, { 1, 2, 1 }, { 1, 3, 1 } };
    struct engine *other = engine_new(&(struct engine_options){ .epoch = 1 });

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct buf b = { 0 };

        record_head(&b, 1, START);
        record_put_secret(&b, &records[i]);
        assert_int_equal(engine_replay(other, buf_view(&b), 1), i < 2 ? 0 : BELFRY_CORRUPT);
        buf_fini(&b);
    }
    engine_free(other);
}

#define TEST_OLD(name) cmocka_unit_test_setup_teardown(name, setup_old, teardown_old)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_secret_stays_and_keys_on_disk_are_found),
        TEST_OLD(keys_of_before_the_secret_are_found),
        TEST_OLD(a_batch_finds_keys_of_before_the_secret_and_of_after_it),
        TEST_OLD(lanes_of_before_the_secret_stay_lanes),
        TEST(another_secret_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
