/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/coldkey.h"
#include "record/opts.h"

/* The keys that are read from options with a key and an ordering key of these lengths. */
static void read_keys(size_t key_len, size_t order_len, struct str *ret_key, struct str *ret_order)
{
    static char text[KEY_MAX_BYTES + 100];
    static struct buf opts;
    struct job_opts o = { .attempts = -1, .lease_ms = -1, .retain_ms = -1 };

    memset(text, 'k', sizeof(text));
    o.key = (struct str){ text, key_len };
    o.order = (struct str){ text, order_len };
    buf_fini(&opts);
    job_opts_put(&opts, &o, 0);
    assert_false(opts.failed);
    cold_keys_of(buf_view(&opts), ret_key, ret_order);
}

static void the_longest_keys_are_read(void **state)
{
    struct str key, order;
    struct cold_key k;

    (void)state;
    read_keys(KEY_MAX_BYTES, KEY_MAX_BYTES, &key, &order);
    assert_int_equal(key.len, KEY_MAX_BYTES);
    assert_int_equal(order.len, KEY_MAX_BYTES);
    cold_key_of_key(&k, &cold_names_old, STR("queue"), order, key);
}

/* Buffers of the engine and of the locator have room for KEY_MAX_BYTES. */
static void a_stored_key_that_is_too_long_is_no_key(void **state)
{
    struct str key, order;

    (void)state;
    read_keys(KEY_MAX_BYTES + 1, 0, &key, &order);
    assert_int_equal(key.len, 0);
    read_keys(1, KEY_MAX_BYTES + 90, &key, &order);
    assert_int_equal(key.len, 1);
    assert_int_equal(order.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_keys_are_read),
        cmocka_unit_test(a_stored_key_that_is_too_long_is_no_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
