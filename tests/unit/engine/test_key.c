/* SPDX-License-Identifier: MIT */
/* A dead job may hold its key. Time alone ends the hold: no record says so. */
#include "support/tenants.h"

#define HOLD_MS INT64_C(5000)

/* A job of queue q with key k that is dead, and holds its key. */
static struct job_id die(void)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct fail_result f;
    struct job_view v;

    spec.key = STR("k");
    spec.key_hold_ms = HOLD_MS;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_true(lease("q", &v));
    assert_int_equal(engine_fail(e, r.id, v.token, STR("no"), -1, true, &f), 0);
    return r.id;
}

/* Whether key k is taken, and by this job. */
static bool is_held_by(struct job_id id)
{
    struct job_id owner;
    int err = engine_find_key(e, STR("q"), (struct str){ 0 }, STR("k"), &owner);

    assert_true(err == 0 || err == BELFRY_NOTFOUND);
    return err == 0 && owner.seq == id.seq;
}

static void a_hold_lasts_over_a_restart(void **state)
{
    struct job_id id = die();
    uint64_t hash = engine_hash(e);

    (void)state;
    pass(HOLD_MS - 1);
    replay();
    assert_true(is_held_by(id));
    assert_int_equal(engine_hash(e), hash);
    pass(1);
    assert_false(is_held_by(id));
}

static void a_hold_that_ends_while_no_server_runs_leaves_the_job_as_it_was(void **state)
{
    struct job_id id = die();
    uint64_t hash = engine_hash(e);

    (void)state;
    wall += HOLD_MS;
    replay();
    assert_false(is_held_by(id));
    assert_int_equal(engine_hash(e), hash);
}

/* The key is free until the restart. The restart knows the end of the hold, and the clock. */
static void a_hold_that_was_over_may_begin_again_when_the_clock_was_set_back(void **state)
{
    struct job_id id = die();
    uint64_t hash = engine_hash(e);

    (void)state;
    pass(HOLD_MS);
    assert_false(is_held_by(id));
    assert_int_equal(engine_hash(e), hash);
    wall -= HOLD_MS / 2;
    advance();
    assert_false(is_held_by(id));
    replay();
    assert_true(is_held_by(id));
    assert_int_equal(engine_hash(e), hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_hold_lasts_over_a_restart),
        TEST(a_hold_that_ends_while_no_server_runs_leaves_the_job_as_it_was),
        TEST(a_hold_that_was_over_may_begin_again_when_the_clock_was_set_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
