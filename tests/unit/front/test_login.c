/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "front/login.h"

#define HOUR INT64_C(3600000)

static struct logins logins;
static char secrets[LOGINS_MAX + LOGINS_TENANT_MAX + 1][SECRET_TEXT];

static int teardown(void **state)
{
    (void)state;
    logins_fini(&logins);
    return 0;
}

static struct identity identity(uint64_t serial, const char *tenant)
{
    struct identity who = { .serial = serial, .role = ROLE_READONLY };

    who.name_len = (uint8_t)sprintf(who.name, "token-%llu", (unsigned long long)serial);
    who.tenant_len = (uint8_t)sprintf(who.tenant, "%s", tenant);
    return who;
}

/* A login at this time, which lasts an hour; its secret goes to secrets[i]. */
static uint64_t add(size_t i, uint64_t serial, const char *tenant, int64_t ms)
{
    struct identity who = identity(serial, tenant);
    const struct login *l = logins_add(&logins, &who, ms, HOUR, secrets[i]);

    assert_non_null(l);
    return l->number;
}

static struct str secret(size_t i)
{
    return (struct str){ secrets[i], SECRET_TEXT };
}

static const struct login *find(size_t i, int64_t ms)
{
    return logins_find(&logins, secret(i), ms);
}

static void a_login_is_found_by_its_secret_and_its_number(void **state)
{
    uint64_t one, two;

    (void)state;
    assert_null(logins_find(&logins, secret(0), 0));
    assert_null(logins_get(&logins, 1, 0));
    one = add(0, 7, "acme", 0);
    two = add(1, 7, "acme", 0);
    assert_int_equal(find(0, 0)->number, one);
    assert_int_equal(find(1, 0)->number, two);
    assert_ptr_equal(logins_get(&logins, two, 0), find(1, 0));
    assert_int_equal(find(0, 0)->serial, 7);
    assert_string_equal(find(0, 0)->name, "token-7");
    assert_null(logins_find(&logins, STR(""), 0));
    assert_null(logins_find(&logins, (struct str){ secrets[0], SECRET_TEXT - 1 }, 0));
    secrets[2][0] = (char)(secrets[0][0] ^ 1);
    memcpy(secrets[2] + 1, secrets[0] + 1, SECRET_TEXT - 1);
    assert_null(find(2, 0));
}

static void secrets_are_not_kept(void **state)
{
    const char *bytes;

    (void)state;
    add(0, 7, "acme", 0);
    bytes = (const char *)logins.all;
    assert_null(memmem(bytes, LOGINS_MAX * sizeof(*logins.all), secrets[0], SECRET_TEXT));
    assert_null(memmem(&logins, sizeof(logins), secrets[0], SECRET_TEXT));
}

static void a_login_ends_by_its_time_or_by_removal(void **state)
{
    uint64_t one = add(0, 7, "acme", 1000), two = add(1, 7, "acme", 1000);

    (void)state;
    assert_non_null(find(0, 1000 + HOUR - 1));
    assert_null(find(0, 1000 + HOUR));
    assert_null(logins_get(&logins, one, 1000 + HOUR));
    logins_remove(&logins, two);
    assert_null(find(1, 1000));
    assert_null(logins_get(&logins, two, 1000));
    assert_non_null(find(0, 1000));
    logins_remove(&logins, two);
    logins_remove(&logins, 0);
    assert_non_null(find(0, 1000));
}

/* A place that is used again has another number. */
static void the_number_of_an_ended_login_is_not_used_again(void **state)
{
    uint64_t one = add(0, 7, "acme", 0);

    (void)state;
    logins_remove(&logins, one);
    for (size_t i = 1; i <= LOGINS_TENANT_MAX; i++)
        assert_true(add(i, 100 + i, "acme", 0) > one);
    assert_null(logins_get(&logins, one, 0));
    logins_remove(&logins, one);
    for (size_t i = 1; i <= LOGINS_TENANT_MAX; i++)
        assert_non_null(find(i, 0));
}

static void a_token_has_twenty_and_the_oldest_goes(void **state)
{
    (void)state;
    add(0, 8, "acme", 0);
    for (size_t i = 1; i <= LOGINS_TOKEN_MAX + 1; i++)
        add(i, 7, "acme", (int64_t)i);
    assert_non_null(find(0, 50));
    assert_null(find(1, 50));
    for (size_t i = 2; i <= LOGINS_TOKEN_MAX + 1; i++)
        assert_non_null(find(i, 50));
}

static void a_tenant_pushes_out_its_own_logins(void **state)
{
    (void)state;
    add(0, 1, "other", 0);
    for (size_t i = 1; i <= LOGINS_TENANT_MAX + 1; i++)
        add(i, 100 + i, "acme", 0);
    assert_non_null(find(0, 0));
    assert_null(find(1, 0));
    assert_non_null(find(2, 0));
    assert_non_null(find(LOGINS_TENANT_MAX + 1, 0));
}

static void beyond_all_places_the_oldest_goes(void **state)
{
    char tenant[16];

    (void)state;
    for (size_t i = 0; i <= LOGINS_MAX; i++) {
        sprintf(tenant, "t%zu", i % 100);
        add(i, i + 1, tenant, 0);
    }
    assert_null(find(0, 0));
    for (size_t i = 1; i <= LOGINS_MAX; i++)
        assert_non_null(find(i, 0));
}

static void ended_logins_give_way_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < LOGINS_TOKEN_MAX; i++)
        add(i, 7, "acme", i == 5 ? 0 : HOUR);
    add(LOGINS_TOKEN_MAX, 7, "acme", HOUR);
    assert_null(find(5, HOUR));
    assert_non_null(find(0, HOUR));
    assert_non_null(find(LOGINS_TOKEN_MAX, HOUR));
}

static void assert_cookie(const char *header, const char *want)
{
    struct str got = login_cookie(header);

    if (!want) {
        assert_null(got.ptr);
        return;
    }
    assert_non_null(got.ptr);
    assert_int_equal(got.len, strlen(want));
    assert_memory_equal(got.ptr, want, got.len);
}

static void the_cookie_is_found_among_others(void **state)
{
    (void)state;
    assert_cookie(NULL, NULL);
    assert_cookie("", NULL);
    assert_cookie("a=b", NULL);
    assert_cookie("belfry_session=x", "x");
    assert_cookie("a=b; belfry_session=x-_9; c=d", "x-_9");
    assert_cookie("a=b;\tbelfry_session=x", "x");
    assert_cookie("belfry_session=", "");
    assert_cookie("belfry_session", "");
    assert_cookie("xbelfry_session=x; belfry_sessions=y; BELFRY_SESSION=z", NULL);
    assert_cookie("a=belfry_session=x", NULL);
    assert_cookie("belfry_session=x; belfry_session=y", NULL);
    assert_cookie("belfry_session=; belfry_session=y", NULL);
    assert_cookie(";;=;", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_login_is_found_by_its_secret_and_its_number, teardown),
        cmocka_unit_test_teardown(secrets_are_not_kept, teardown),
        cmocka_unit_test_teardown(a_login_ends_by_its_time_or_by_removal, teardown),
        cmocka_unit_test_teardown(the_number_of_an_ended_login_is_not_used_again, teardown),
        cmocka_unit_test_teardown(a_token_has_twenty_and_the_oldest_goes, teardown),
        cmocka_unit_test_teardown(a_tenant_pushes_out_its_own_logins, teardown),
        cmocka_unit_test_teardown(beyond_all_places_the_oldest_goes, teardown),
        cmocka_unit_test_teardown(ended_logins_give_way_first, teardown),
        cmocka_unit_test(the_cookie_is_found_among_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
