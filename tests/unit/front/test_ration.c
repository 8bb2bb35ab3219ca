/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "front/ration.h"

static int64_t rate, burst;
static struct rations r;
static char told[256];

static int setup(void **state)
{
    (void)state;
    rate = 2;
    burst = 3;
    told[0] = '\0';
    rations_init(&r, &rate, &burst, (struct hash_key){ 1, 2 });
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rations_fini(&r);
    return 0;
}

/* Tries to make `tries` entries. Returns how many were made. */
static int make(const char *tenant, bool admin, int tries, int64_t ms)
{
    int n = 0;

    while (tries-- > 0) {
        if (ration_wait(&r, str_of(tenant), admin, ms) > 0)
            continue;
        ration_spend(&r, str_of(tenant), admin);
        n++;
    }
    return n;
}

static bool tell(void *arg, struct str tenant, uint64_t refused)
{
    size_t n = strlen(told);

    (void)arg;
    snprintf(told + n, sizeof(told) - n, "%.*s:%d ", STR_ARG(tenant), (int)refused);
    return true;
}

static bool tell_later(void *arg, struct str tenant, uint64_t refused)
{
    (void)arg, (void)tenant, (void)refused;
    return false;
}

static void a_tenant_has_a_burst_and_then_its_rate(void **state)
{
    (void)state;
    assert_int_equal(make("acme", false, 10, 1000), 3);
    assert_int_equal(make("acme", false, 10, 1499), 0);
    assert_int_equal(ration_wait(&r, STR("acme"), false, 1499), 1);
    assert_int_equal(make("acme", false, 10, 1500), 1);
    assert_int_equal(ration_wait(&r, STR("acme"), false, 1500), 500);
    assert_int_equal(make("acme", false, 10, 2500), 2);
    assert_int_equal(make("acme", false, 10, INT64_C(1) << 60), 3);
    assert_int_equal(r.refused, 7 + 10 + 1 + 9 + 1 + 8 + 7);
}

static void a_change_without_an_entry_costs_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(ration_wait(&r, STR("acme"), false, 1000), 0);
}

static void other_tenants_and_the_admins_of_a_tenant_have_their_own(void **state)
{
    (void)state;
    assert_int_equal(make("acme", false, 10, 1000), 3);
    assert_int_equal(make("acme", true, 10, 1000), 3);
    assert_int_equal(make("zeta", false, 2, 1000), 2);
}

static void a_rate_of_0_is_any_number(void **state)
{
    (void)state;
    assert_int_equal(make("acme", false, 10, 1000), 3);
    rate = 0;
    assert_int_equal(make("acme", false, 1000, 1000), 1000);
    rations_sweep(&r, 1000 + RATION_END_MS, tell, NULL);
    assert_string_equal(told, "acme:7 ");
    assert_true(list_empty(&r.all));
}

static void a_flood_is_told_each_minute_and_at_its_end(void **state)
{
    int64_t ms = 1000;

    (void)state;
    for (; ms < 1000 + RATION_TELL_MS; ms += 1000) {
        make("acme", false, 12, ms);
        rations_sweep(&r, ms, tell, NULL);
    }
    assert_string_equal(told, "");
    rations_sweep(&r, ms, tell_later, NULL); /* it could not be entered */
    rations_sweep(&r, ms, tell, NULL);
    assert_string_equal(told, "acme:599 "); /* 12 a second without 3 at first, then 2 */
    make("acme", false, 5, ms);
    rations_sweep(&r, ms + RATION_END_MS - 1, tell, NULL);
    assert_string_equal(told, "acme:599 ");
    rations_sweep(&r, ms + RATION_END_MS, tell, NULL);
    assert_string_equal(told, "acme:599 acme:3 ");
    assert_true(list_empty(&r.all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tenant_has_a_burst_and_then_its_rate, setup, teardown),
        cmocka_unit_test_setup_teardown(a_change_without_an_entry_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(other_tenants_and_the_admins_of_a_tenant_have_their_own,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_rate_of_0_is_any_number, setup, teardown),
        cmocka_unit_test_setup_teardown(a_flood_is_told_each_minute_and_at_its_end, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
