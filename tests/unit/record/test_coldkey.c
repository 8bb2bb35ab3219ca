/* SPDX-License-Identifier: MIT */
/* Names of keys and lanes in runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/coldkey.h"

/* A literal that may have zeros in it. */
#define MADE(text)               \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const struct cold_names secret = { { 1, 2 }, 1 };

static struct cold_key name(const struct cold_names *n, struct str queue, struct str order,
                            struct str key)
{
    struct cold_key k = { 0 };

    cold_key_of_key(&k, n, queue, order, key);
    return k;
}

static bool same(struct cold_key a, struct cold_key b)
{
    return str_eq(cold_key_str(&a), cold_key_str(&b));
}

/* These keys were computed from the public function: their name was that of another tenant's key.
 */
static void a_key_that_was_made_for_it_does_not_have_the_name_of_another(void **state)
{
    static const struct {
        struct str queue;
        struct str key;
    } made[] = {
        { MADE("evil@x2"),
          MADE("\xab\x53\x91\x26\xfb\xd5\x46\xc7\x82\x31\x85\x77\x3d\x46\x28\x02"
               "\xd1\x29\x92\xd6\x5b\xc2\x92\xe4\x2d\x6f\xeb\xb2\x8e\x97\x3e\x17") },
        { MADE("evil@x4"),
          MADE("\x87\x35\x26\x2c\xd9\x13\xd1\xc0\x75\x86\x73\x22\xc2\x29\x93\x40"
               "\xad\x0b\x27\xdc\x39\x00\x1d\xde\x02\xb6\xd1\x62\x0d\x78\x89\xe5") },
        { MADE("evil@x6"),
          MADE("\xb3\x44\x01\xb8\x44\x55\xc3\x11\x8c\xfb\x15\x3c\x9a\x3f\x9a\xd3"
               "\xd9\x1a\x02\x68\xa5\x41\x0f\x2f\x13\x43\x7b\xfb\x5d\x7f\x91\xb8") },
    };
    struct str none = { 0 };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_true(same(name(&cold_names_old, made[i].queue, none, made[i].key),
                         name(&cold_names_old, STR("good@mail"), none, STR("user-7"))));
        assert_false(same(name(&secret, made[i].queue, none, made[i].key),
                          name(&secret, STR("good@mail"), none, STR("user-7"))));
    }
}

/* Keys of one queue were computed to share a public hash. Here they are ordering keys. */
static void ordering_keys_that_were_made_for_it_have_lanes_of_their_own(void **state)
{
    static const struct str made[] = {
        MADE("\xce\x71\x30\x4a\xc8\x13\xa5\x24\x01\x00\x00\x00\x00\x00\x00\x00"
             "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
        MADE("\xce\x71\x30\x4a\xc8\x13\xa5\x24\x16\x7c\x4a\x7f\xb9\x79\x37\x9e"
             "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
        MADE("\xce\x71\x30\x4a\xc8\x13\xa5\x24\x2b\xf8\x94\xfe\x72\xf3\x6e\x3c"
             "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
    };

    (void)state;
    for (int i = 1; i < 3; i++) {
        assert_true(cold_lane(&cold_names_old, STR("evil@q"), made[0]) ==
                    cold_lane(&cold_names_old, STR("evil@q"), made[i]));
        assert_true(cold_lane(&secret, STR("evil@q"), made[0]) !=
                    cold_lane(&secret, STR("evil@q"), made[i]));
    }
}

static void a_name_is_of_one_secret_one_queue_one_order_and_one_key(void **state)
{
    const struct cold_names other = { { 1, 3 }, 1 };
    struct cold_key k = name(&secret, STR("q"), STR("o"), STR("k"));
    struct str none = { 0 };

    (void)state;
    assert_true(same(k, name(&secret, STR("q"), STR("o"), STR("k"))));
    assert_false(same(k, name(&other, STR("q"), STR("o"), STR("k"))));
    assert_false(same(k, name(&cold_names_old, STR("q"), STR("o"), STR("k"))));
    assert_false(same(k, name(&secret, STR("qo"), none, STR("k"))));
    assert_false(same(k, name(&secret, STR("q"), none, STR("ok"))));
    assert_false(same(k, name(&secret, STR("q"), STR("ok"), none)));
    assert_true(cold_lane(&secret, STR("qo"), STR("k")) != cold_lane(&secret, STR("q"), STR("ok")));
}

static void a_run_of_before_the_secret_may_have_old_names(void **state)
{
    const struct cold_names n = { { 1, 2 }, 7 };
    struct run_desc d = { .family = FAMILY_LOCATOR, .number = 9, .oldest = 6 };

    (void)state;
    assert_true(run_has_old_names(&n, &d));
    d.oldest = 7;
    assert_false(run_has_old_names(&n, &d));
    d = (struct run_desc){ .family = FAMILY_DUE, .number = 3, .oldest = 3 };
    assert_false(run_has_old_names(&n, &d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_was_made_for_it_does_not_have_the_name_of_another),
        cmocka_unit_test(ordering_keys_that_were_made_for_it_have_lanes_of_their_own),
        cmocka_unit_test(a_name_is_of_one_secret_one_queue_one_order_and_one_key),
        cmocka_unit_test(a_run_of_before_the_secret_may_have_old_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
