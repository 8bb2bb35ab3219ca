/* SPDX-License-Identifier: MIT */
/* Maintenance that ends by itself, and what it defers. */
#include "support/tenants.h"

static int shut(bool on, int64_t until_ms)
{
    struct tenant_settings s = { .maintenance = on, .maintenance_until_ms = until_ms };

    return engine_tenant_set(e, STR("a"), &s,
                             1u << TENANT_MAINTENANCE | (until_ms > 0 ? 1u << TENANT_UNTIL : 0));
}

static uint64_t deferred(const char *queue)
{
    struct queue_view v;

    assert_int_equal(engine_queue_get(e, str_of(queue), &v), 0);
    return v.counters->deferred;
}

/* Driven by nothing but the moments that the engine asks for. */
static void maintenance_ends_by_itself(void **state)
{
    int64_t until = wall + 5000, wall_ms, mono_ms;
    struct job_view v;

    (void)state;
    schedule_many("a@q", 2);
    assert_int_equal(shut(true, until), 0);
    assert_true(tenant("a").shut);
    assert_int_equal(tenant("a").shut_until_ms, until);
    assert_false(lease("a@q", &v));
    assert_int_equal(hold_of("a@q"), HOLD_MAINTENANCE);
    wait_at("*@q", 1);
    while (delivered.calls == 0) {
        assert_true(wall < until);
        engine_next_wake(e, &wall_ms, &mono_ms);
        int64_t next = wall_ms - wall < mono_ms - mono ? wall_ms - wall : mono_ms - mono;
        assert_true(next > 0);
        pass(next);
    }
    assert_int_equal(wall, until);
    assert_false(tenant("a").shut);
    assert_int_equal(tenant("a").shut_until_ms, -1);
    assert_true(lease("a@q", &v));
}

static void jobs_that_maintenance_held_are_counted_as_deferred(void **state)
{
    struct job_view v;

    (void)state;
    schedule_many("a@q", 2);
    pass(10);
    assert_int_equal(shut(true, 0), 0);
    assert_false(lease("a@q", &v));
    pass(1000);
    assert_int_equal(shut(false, 0), 0);
    assert_int_equal(deferred("a@q"), 0); /* a job counts when it is given */
    assert_true(lease("a@q", &v));
    assert_int_equal(deferred("a@q"), 1);
    schedule("a@q"); /* behind the other one; maintenance never held it */
    assert_true(lease("a@q", &v));
    assert_int_equal(deferred("a@q"), 2);
    assert_true(lease("a@q", &v));
    assert_int_equal(deferred("a@q"), 2);
}

static void an_end_belongs_to_its_maintenance(void **state)
{
    struct tenant_settings s = { .maintenance_until_ms = wall + 1000 };

    (void)state;
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 1u << TENANT_UNTIL), BELFRY_INVALID);
    assert_string_equal(engine_detail(e), "until: the tenant is not in maintenance");
    assert_int_equal(shut(true, wall + 1000), 0);
    assert_int_equal(shut(true, 0), 0); /* now without an end */
    pass(2000);
    assert_true(tenant("a").shut);
    assert_int_equal(shut(true, wall), 0); /* at once */
    assert_false(tenant("a").shut);
    assert_int_equal(shut(true, wall + 10), 0);
    assert_true(tenant("a").shut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(maintenance_ends_by_itself),
        TEST(jobs_that_maintenance_held_are_counted_as_deferred),
        TEST(an_end_belongs_to_its_maintenance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
