/* SPDX-License-Identifier: MIT */
/* A paused tenant gives out nothing, and loses nothing. */
#include "support/tenants.h"

static void pause_tenant(bool on)
{
    struct tenant_settings s = { .paused = on };

    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 1u << TENANT_PAUSED), 0);
}

static void schedule_passing(const char *queue)
{
    struct job_spec spec = spec_of(queue);
    struct schedule_result r;

    spec.passing = true;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
}

static void a_paused_tenant_gives_no_job_and_others_do(void **state)
{
    struct job_view v;

    (void)state;
    schedule("a@q");
    schedule("b@q");
    pause_tenant(true);
    assert_false(lease("a@q", &v));
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_PAUSED);
    assert_int_equal(hold_of("b@q"), HOLD_NONE);
    assert_true(lease("*@q", &v));
    assert_true(str_eq(v.tenant, STR("b")));
    assert_false(lease("*@q", &v));
    pause_tenant(false);
    assert_true(lease("*@q", &v));
    assert_true(str_eq(v.tenant, STR("a")));
    assert_int_equal(v.attempt, 1);
}

static void jobs_that_pass_gates_are_held(void **state)
{
    struct job_view v;

    (void)state;
    schedule_passing("a@q");
    pause_tenant(true);
    assert_false(lease("a@q", &v));
    pause_tenant(false);
    assert_true(lease("a@q", &v));
}

static void the_end_of_a_pause_wakes_a_worker_that_waits(void **state)
{
    (void)state;
    pause_tenant(true);
    schedule("a@q");
    wait_at("*@q", 1);
    schedule_passing("a@q");
    dispatch();
    assert_int_equal(delivered.calls, 0);
    pause_tenant(false);
    dispatch();
    assert_int_equal(delivered.jobs, 1);
}

static void a_pause_is_known_after_a_replay(void **state)
{
    struct job_view v;

    (void)state;
    schedule("a@q");
    pause_tenant(true);
    replay();
    assert_true(tenant("a").settings->paused);
    assert_false(lease("a@q", &v));
    pause_tenant(false);
    assert_true(lease("a@q", &v));
}

static void the_end_of_a_pause_is_known_after_a_replay(void **state)
{
    struct job_view v;

    (void)state;
    schedule("a@q");
    pause_tenant(true);
    pause_tenant(false);
    replay();
    assert_false(tenant("a").settings->paused);
    assert_true(lease("a@q", &v));
}

static void a_pause_is_no_deferral(void **state)
{
    struct queue_view q;
    struct job_view v;

    (void)state;
    schedule("a@q");
    pause_tenant(true);
    pass(1000);
    pause_tenant(false);
    assert_true(lease("a@q", &v));
    assert_int_equal(engine_queue_get(e, STR("a@q"), &q), 0);
    assert_int_equal(q.counters->deferred, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_paused_tenant_gives_no_job_and_others_do),   TEST(jobs_that_pass_gates_are_held),
        TEST(the_end_of_a_pause_wakes_a_worker_that_waits), TEST(a_pause_is_known_after_a_replay),
        TEST(the_end_of_a_pause_is_known_after_a_replay),   TEST(a_pause_is_no_deferral),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
