/* SPDX-License-Identifier: MIT */
/* Keys of dead jobs on disk. */
#include "support/spilled.h"

static struct job_id schedule_keyed(int64_t in_ms)
{
    struct job_spec spec = spec_of("d", in_ms);
    struct schedule_result r;
    int is;

    spec.key = STR("k");
    spec.key_hold_ms = HOUR;
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, 0);
    assert_int_equal(r.outcome, SCHEDULE_CREATED);
    return r.id;
}

/* Others are done until this ended job is on disk. */
static void push_out_ended(struct job_id id)
{
    struct job_view v;

    for (int i = 0; engine_get(e, id, &v) != BELFRY_COLD; i++) {
        assert_true(i < MANY);
        for (int k = 0; k < 10; k++)
            schedule("q", 0);
        assert_int_equal(work("q"), 10);
    }
}

/* A job on disk that is dead, and holds key k of queue d for an hour. */
static struct job_id dead_on_disk(void)
{
    struct job_id id = schedule_keyed(0);
    struct str name = STR("d");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct fail_result failed;
    struct job_view v;
    struct job *j;

    assert_int_equal(engine_lease(e, &r, &j), 1);
    engine_view(e, j, &v);
    assert_int_equal(engine_fail(e, id, v.token, STR("no"), -1, true, &failed), 0);
    push_out_ended(id);
    return id;
}

static void expect_owner(struct job_id id)
{
    struct job_id owner;
    int is;

    EXECUTE(is, engine_find_key(e, STR("d"), STR(""), STR("k"), &owner));
    assert_int_equal(is, 0);
    assert_int_equal(owner.seq, id.seq);
}

static void a_dead_job_does_not_take_its_key_back_from_another(void **state)
{
    struct job_id dead = dead_on_disk();
    int is;

    (void)state;
    expect_owner(dead);
    advance(HOUR);
    struct job_id other = schedule_keyed(10 * HOUR);
    push_out(other);
    EXECUTE(is, engine_redrive(e, dead));
    assert_int_equal(is, BELFRY_KEYEXISTS);
    expect_owner(other);
    assert_int_equal(engine_redrive(e, dead), BELFRY_KEYEXISTS);
}

static void a_dead_job_in_memory_has_no_key_after_its_hold(void **state)
{
    struct job_id dead = dead_on_disk();
    struct job_id other;
    int is;

    (void)state;
    advance(HOUR);
    other = schedule_keyed(10 * HOUR);
    push_out(other);
    EXECUTE(is, engine_redrive(e, dead)); /* the dead job is in memory now */
    assert_int_equal(is, BELFRY_KEYEXISTS);
    EXECUTE(is, engine_cancel(e, other));
    assert_int_equal(is, CANCEL_CANCELLED);
    advance(HOUR);
    assert_true(schedule_keyed(HOUR).seq != dead.seq);
}

static void a_dead_job_that_holds_its_key_is_put_back(void **state)
{
    struct job_id dead = dead_on_disk();
    int is;

    (void)state;
    EXECUTE(is, engine_redrive(e, dead));
    assert_int_equal(is, 0);
    expect_owner(dead);
    assert_int_equal(work("d"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_dead_job_does_not_take_its_key_back_from_another),
        TEST(a_dead_job_in_memory_has_no_key_after_its_hold),
        TEST(a_dead_job_that_holds_its_key_is_put_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
