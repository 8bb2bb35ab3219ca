/* SPDX-License-Identifier: MIT */
/* The memory of leased jobs: a tenant has a share of it, and no other waits for that tenant. */
#include "engine/leased.h"
#include "support/tenants.h"

#define MIB (UINT64_C(1) << 20)

static int begin(void **state)
{
    (void)state;
    memory_bytes = 64 * MIB;
    start(0);
    return 0;
}

static int end(void **state)
{
    int err = teardown(state);

    memory_bytes = UINT64_C(4) << 30;
    return err;
}

static struct job_id schedule_large(const char *queue)
{
    static char payload[MIB];
    struct job_spec spec = spec_of(queue);
    struct schedule_result r;

    spec.payload = (struct str){ payload, sizeof(payload) };
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

/* Schedules and leases jobs of 1 MiB until none is given. Returns how many were given; one more is
 * ready then. */
static int fill(const char *queue, struct job_view *ret, int most)
{
    int n = 0;

    for (;;) {
        schedule_large(queue);
        if (!lease(queue, &ret[n]))
            return n;
        assert_true(++n < most);
    }
}

static void a_tenant_with_its_share_waits_and_no_other_does(void **state)
{
    struct job_view mine[100], v;
    struct explanation x;
    struct job_id id;

    (void)state;
    assert_int_equal(fill("a@q", mine, 100), 16);
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_LEASED);
    id = schedule("a@other");
    assert_false(lease("a@other", &v));
    assert_int_equal(engine_explain(e, id, &x), 0);
    assert_int_equal(x.reason, REASON_LEASED_MEMORY);
    schedule_large("b@q");
    schedule("c@q");
    assert_int_equal(hold_of("b@q"), HOLD_NONE);
    assert_true(lease("*@q", &v) && str_eq(v.tenant, STR("b")));
    assert_true(lease("*@q", &v) && str_eq(v.tenant, STR("c")));
    assert_false(lease("*@q", &v));
    wait_at("a@other", 1);
    assert_int_equal(delivered.calls, 0);
    complete(mine[0].id, mine[0].token);
    assert_int_equal(delivered.calls, 1);
    assert_true(delivered.id.seq == id.seq);
    assert_true(tenant("a").leased_bytes > 15 * MIB);
}

/* A replacement waits in memory until the attempt ends. */
static void replacements_of_leased_jobs_are_in_the_share(void **state)
{
    static char payload[MIB];
    struct job_spec spec = spec_of("a@q");
    struct schedule_result r;
    struct job_view v;
    char key[16];
    int err = 0, n = 0;

    (void)state;
    spec.if_exists = IFEXISTS_REPLACE;
    for (int i = 0; i < 40; i++) {
        snprintf(key, sizeof(key), "%d", i);
        spec.key = str_of(key);
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        assert_true(lease("a@q", &v));
    }
    spec.payload = (struct str){ payload, sizeof(payload) };
    for (; n < 40 && !err; n += !err) {
        snprintf(key, sizeof(key), "%d", n);
        spec.key = str_of(key);
        err = engine_schedule(e, &spec, &r);
    }
    assert_int_equal(err, BELFRY_LIMIT);
    assert_int_equal(n, 16);
    assert_true(tenant("a").leased_bytes > 16 * MIB);
    schedule_large("b@q");
    assert_true(lease("b@q", &v));
    replay();
    assert_true(tenant("a").leased_bytes > 16 * MIB);
    spec.payload = STR("small");
    spec.key = STR("0");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_true(tenant("a").leased_bytes < 16 * MIB);
}

static void a_share_is_what_others_leave(void **state)
{
    struct job_view mine[100], theirs[100], v;

    (void)state;
    assert_int_equal(fill("a@q", mine, 100), 16);
    assert_int_equal(fill("b@q", theirs, 100), 8);
    wait_at("b@q", 1);
    for (int i = 0; i < 8; i++)
        complete(mine[i].id, mine[i].token);
    assert_int_equal(delivered.calls, 1); /* others leave more to b */
    assert_int_equal(hold_of("a@q"), HOLD_NONE);
    assert_true(lease("a@q", &v));
}

static void it_is_what_it_was_after_a_restart(void **state)
{
    struct job_view mine[100], v;
    struct leased_view l;

    (void)state;
    assert_int_equal(fill("a@q", mine, 100), 16);
    schedule_large("b@q");
    replay();
    assert_false(lease("a@q", &v));
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_LEASED);
    engine_leased(e, &l);
    assert_true(l.holds == 1 && str_eq(l.tenant, STR("a")) && l.tenant_bytes > 16 * MIB);
    assert_true(l.share_bytes == 16 * MIB && !l.full);
    assert_true(lease("b@q", &v));
    complete(v.id, v.token);
    for (int i = 0; i < 16; i++)
        complete(mine[i].id, mine[i].token);
    assert_true(lease("a@q", &v));
    engine_leased(e, &l);
    assert_int_equal(l.tenant.len, 0);
}

/* Leases of an older server, or of one with more memory. */
static void an_excess_is_in_nobodys_way(void **state)
{
    struct job_view mine[100], v;

    (void)state;
    assert_int_equal(fill("a@q", mine, 100), 16);
    memory_bytes = 16 * MIB; /* of which leased jobs may have 9 */
    replay();
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_LEASED);
    for (int i = 0; i < 2; i++) {
        schedule_large("b@q");
        assert_true(lease("b@q", &v));
    }
    schedule("c@q");
    assert_true(lease("c@q", &v));
}

static void all_tenants_together_have_an_end(void **state)
{
    struct job_view mine[100], first = { 0 };
    struct leased_view l = { 0 };
    char queue[32];
    int n = 0;

    (void)state;
    for (; n < 64 && !l.full; n++) {
        tenant_queue(n, queue);
        fill(queue, mine, 100);
        first = n == 0 ? mine[0] : first;
        engine_leased(e, &l);
    }
    assert_true(n > 8 && l.bytes > 36 * MIB && l.bytes < 38 * MIB);
    schedule("late@q");
    assert_int_equal(hold_of("late@q"), HOLD_SERVER_LEASED);
    wait_at("late@q", 1);
    wait_at("*@q", 1);
    assert_int_equal(delivered.calls, 0);
    complete(first.id, first.token);
    assert_int_equal(delivered.calls, 1);
    schedule("later@q");
    dispatch();
    assert_int_equal(delivered.calls, 2);
}

/* A tenant of small jobs gets the least share even if others leave nothing. */
static void the_least_share_is_for_several_small_jobs(void **state)
{
    struct job_view mine[100], v;
    char queue[32];

    (void)state;
    for (int i = 0; i < 8; i++) {
        tenant_queue(i, queue);
        fill(queue, mine, 100);
    }
    for (int i = 0; i < 20; i++) {
        schedule("small@q");
        assert_true(lease("small@q", &v));
    }
}

static void limit(const char *name, uint64_t bytes)
{
    set_tenant(name, TENANT_MAX_LEASED, (struct tenant_settings){ .max_leased = (int64_t)bytes });
}

static void max_leased_bites_before_the_share(void **state)
{
    struct job_view mine[100], v;
    struct engine_stats stats;
    struct leased_view l;
    struct explanation x;
    struct job_id id;

    (void)state;
    limit("a", 5 * MIB / 2);
    assert_int_equal(fill("a@q", mine, 100), 3);
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_MAX_LEASED);
    id = schedule("a@other");
    assert_false(lease("a@other", &v));
    assert_int_equal(engine_explain(e, id, &x), 0);
    assert_int_equal(x.reason, REASON_LEASED_MEMORY);
    engine_leased(e, &l);
    assert_true(l.holds == 1 && str_eq(l.tenant, STR("a")) && l.share_bytes == 5 * MIB / 2 &&
                l.capped);
    schedule_large("b@q");
    assert_true(lease("*@q", &v) && str_eq(v.tenant, STR("b")));
    wait_at("a@other", 1);
    complete(v.id, v.token); /* a lease of another tenant */
    assert_int_equal(delivered.calls, 0);
    complete(mine[0].id, mine[0].token);
    assert_int_equal(delivered.calls, 1);
    engine_stats(e, &stats);
    assert_int_equal(stats.laden, 0);
    replay();
    assert_int_equal(tenant("a").settings->max_leased, 5 * MIB / 2);
    assert_true(lease("a@q", &v));
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_MAX_LEASED);
}

static void another_max_leased_holds_at_once(void **state)
{
    struct job_view mine[100], v;
    struct engine_stats stats;

    (void)state;
    limit("a", 1);
    assert_int_equal(fill("a@q", mine, 100), 1);
    wait_at("a@q", 1);
    assert_int_equal(delivered.calls, 0);
    engine_stats(e, &stats);
    assert_int_equal(stats.laden, 1);
    limit("a", 0);
    assert_int_equal(delivered.calls, 1);
    engine_stats(e, &stats);
    assert_int_equal(stats.laden, 0);
    limit("a", 1000 * MIB); /* the share is less */
    assert_int_equal(fill("a@q", mine, 100), 14);
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_LEASED);
    limit("a", 1);
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_MAX_LEASED);
    assert_false(lease("a@q", &v));
    limit("a", 0);
    assert_int_equal(hold_of("a@q"), HOLD_TENANT_LEASED);
    wait_at("a@q", 1);
    complete(mine[0].id, mine[0].token);
    assert_int_equal(delivered.calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define LEASED(name) cmocka_unit_test_setup_teardown(name, begin, end)
        LEASED(a_tenant_with_its_share_waits_and_no_other_does),
        LEASED(replacements_of_leased_jobs_are_in_the_share),
        LEASED(a_share_is_what_others_leave),
        LEASED(it_is_what_it_was_after_a_restart),
        LEASED(an_excess_is_in_nobodys_way),
        LEASED(all_tenants_together_have_an_end),
        LEASED(the_least_share_is_for_several_small_jobs),
        LEASED(max_leased_bites_before_the_share),
        LEASED(another_max_leased_holds_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
