/* SPDX-License-Identifier: MIT */
#include "server/push/endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define A STR("https://a:443")
#define B STR("https://b:443")

static struct endpoints eps;
static int64_t now;

static int setup(void **state)
{
    (void)state;
    endpoints_init(&eps, 42, (struct hash_key){ 1, 2 });
    now = 1000000;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    endpoints_fini(&eps);
    return 0;
}

static enum endpoint_change request(struct str origin, bool well)
{
    assert_true(endpoint_begin(&eps, origin, now));
    return endpoint_end(&eps, origin, now, well);
}

static void open_a(void)
{
    for (int i = 1; i < ENDPOINT_FAILURES; i++)
        assert_int_equal(request(A, false), ENDPOINT_SAME);
    assert_int_equal(endpoint_until(&eps, A, now), -1);
    assert_int_equal(request(A, false), ENDPOINT_OPENED);
    assert_int_equal(eps.open, 1);
}

static void a_circuit_opens_after_failures_in_a_row_and_only_then(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        for (int k = 1; k < ENDPOINT_FAILURES; k++)
            assert_int_equal(request(A, false), ENDPOINT_SAME);
        assert_int_equal(request(A, true), ENDPOINT_SAME);
    }
    assert_int_equal(eps.table.count, 0);
    open_a();
    assert_true(endpoint_until(&eps, A, now) > now);
    assert_false(endpoint_begin(&eps, A, now));
    assert_int_equal(endpoint_until(&eps, B, now), -1);
    assert_int_equal(request(B, false), ENDPOINT_SAME);
}

static void one_probe_decides(void **state)
{
    int64_t until;

    (void)state;
    open_a();
    until = endpoint_until(&eps, A, now);
    assert_int_equal(endpoints_next(&eps, now), until);
    now = until - 1;
    assert_false(endpoint_begin(&eps, A, now));
    now = until;
    assert_int_equal(endpoint_until(&eps, A, now), -1);
    assert_true(endpoint_begin(&eps, A, now));
    assert_false(endpoint_begin(&eps, A, now));
    assert_true(endpoint_until(&eps, A, now) > now);
    assert_int_equal(endpoint_end(&eps, A, now, true), ENDPOINT_CLOSED);
    assert_int_equal(eps.open + eps.table.count, 0);
    assert_int_equal(endpoints_next(&eps, now), INT64_MAX);
}

static void pauses_grow_to_a_bound_and_differ(void **state)
{
    int64_t expected = ENDPOINT_PAUSE, first = 0;
    bool differ = false;

    (void)state;
    open_a();
    for (int i = 0; i < 20; i++) {
        int64_t pause = endpoint_until(&eps, A, now) - now;

        assert_in_range(pause, expected - expected / 4, expected + expected / 4 + 1);
        if (expected == ENDPOINT_PAUSE_MAX && first && pause != first)
            differ = true;
        if (expected == ENDPOINT_PAUSE_MAX && !first)
            first = pause;
        expected = expected * 2 > ENDPOINT_PAUSE_MAX ? ENDPOINT_PAUSE_MAX : expected * 2;
        now += pause;
        assert_int_equal(request(A, false), ENDPOINT_SAME);
    }
    assert_true(differ);
    now = endpoint_until(&eps, A, now);
    assert_int_equal(request(A, true), ENDPOINT_CLOSED);
    open_a(); /* counted anew */
    assert_in_range(endpoint_until(&eps, A, now) - now, 750, 1251);
}

static void what_was_on_its_way_neither_lengthens_a_pause_nor_is_a_probe(void **state)
{
    int64_t until;

    (void)state;
    open_a();
    until = endpoint_until(&eps, A, now);
    now += 10;
    assert_int_equal(endpoint_end(&eps, A, now, false), ENDPOINT_SAME);
    assert_int_equal(endpoint_until(&eps, A, now), until);
    assert_int_equal(endpoint_end(&eps, A, now, true), ENDPOINT_CLOSED);
}

static void a_probe_that_was_dropped_leaves_room_for_another(void **state)
{
    (void)state;
    open_a();
    now = endpoint_until(&eps, A, now);
    assert_true(endpoint_begin(&eps, A, now));
    assert_int_equal(endpoints_next(&eps, now), INT64_MAX); /* so whoever drops it must wake */
    assert_true(endpoint_drop(&eps, A));
    assert_false(endpoint_drop(&eps, A));
    assert_false(endpoint_drop(&eps, B));
    assert_true(endpoint_begin(&eps, A, now));
}

static void a_tenants_failures_are_its_own(void **state)
{
    struct endpoint_key mine, others;

    (void)state;
    endpoint_key_make(&mine, STR("acme"), A);
    endpoint_key_make(&others, STR("zeta"), A);
    assert_string_equal(mine.text, "acme");
    assert_string_equal(endpoint_key_origin(&mine), A.ptr);
    for (int i = 1; i < ENDPOINT_FAILURES; i++)
        assert_int_equal(request(endpoint_key_of(&mine), false), ENDPOINT_SAME);
    assert_int_equal(request(endpoint_key_of(&mine), false), ENDPOINT_OPENED);
    assert_true(endpoint_until(&eps, endpoint_key_of(&mine), now) > now);
    assert_int_equal(endpoint_until(&eps, endpoint_key_of(&others), now), -1);
    assert_int_equal(request(endpoint_key_of(&others), false), ENDPOINT_SAME);
    /* Nor does it help that one's name and origin are another's, put together otherwise. */
    endpoint_key_make(&others, STR("acm"), STR("ehttps://a:443"));
    assert_int_equal(endpoint_until(&eps, endpoint_key_of(&others), now), -1);
}

static void that_one_which_is_not_well_was_forgotten_is_told_once(void **state)
{
    struct endpoint_key key;
    char name[32];

    (void)state;
    for (int i = 0; i < ENDPOINTS_MAX; i++) {
        snprintf(name, sizeof(name), "http://%d:80", i);
        for (int k = 0; k < ENDPOINT_FAILURES; k++)
            endpoint_end(&eps, str_of(name), now, false);
    }
    assert_int_equal(eps.open, ENDPOINTS_MAX);
    assert_false(endpoints_forgot(&eps, &key));
    endpoint_end(&eps, A, now, false);
    assert_int_equal(eps.open, ENDPOINTS_MAX - 1);
    assert_true(endpoints_forgot(&eps, &key));
    assert_int_equal(endpoint_until(&eps, endpoint_key_of(&key), now), -1);
    assert_true(str_starts(endpoint_key_of(&key), STR("http://")));
    assert_false(endpoints_forgot(&eps, &key));
    endpoint_end(&eps, B, now, false); /* A goes, which is closed: nothing waits for it */
    assert_false(endpoints_forgot(&eps, &key));
}

static void their_number_is_bounded(void **state)
{
    char name[32];

    (void)state;
    open_a();
    for (int i = 0; i < 3 * ENDPOINTS_MAX; i++) {
        int n = snprintf(name, sizeof(name), "http://h%d:80", i);

        request((struct str){ name, (size_t)n }, false);
        assert_true(eps.table.count <= ENDPOINTS_MAX);
    }
    assert_true(endpoint_until(&eps, A, now) > now); /* those that are closed go first */
    assert_int_equal(eps.open, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_circuit_opens_after_failures_in_a_row_and_only_then),
        TEST(one_probe_decides),
        TEST(pauses_grow_to_a_bound_and_differ),
        TEST(what_was_on_its_way_neither_lengthens_a_pause_nor_is_a_probe),
        TEST(a_probe_that_was_dropped_leaves_room_for_another),
        TEST(a_tenants_failures_are_its_own),
        TEST(that_one_which_is_not_well_was_forgotten_is_told_once),
        TEST(their_number_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
