/* SPDX-License-Identifier: MIT */
#include "server/push/push_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define A STR("a")
#define B STR("b")

static struct push_shares s;

static void a_tenant_has_half(void **state)
{
    static const uint64_t rows[][2] = { { 1, 1 }, { 2, 1 }, { 3, 2 }, { 5, 3 }, { 256, 128 } };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t n = 0;

        push_shares_init(&s, rows[i][0], 1000, (struct hash_key){ 1, 2 });
        while (!push_share_is_full(&s, A)) {
            assert_true(push_share_take(&s, A, 0));
            n++;
        }
        assert_int_equal(n, rows[i][1]);
        assert_false(push_share_is_full(&s, B));
        assert_true(push_share_return(&s, A, 0));
        assert_false(push_share_is_full(&s, A));
        while (--n)
            assert_false(push_share_return(&s, A, 0));
        assert_int_equal(s.table.count, 0);
        push_shares_fini(&s);
    }
}

static void and_half_of_the_bytes(void **state)
{
    (void)state;
    push_shares_init(&s, 100, 1000, (struct hash_key){ 1, 2 });
    assert_true(push_share_take(&s, A, 499));
    assert_false(push_share_is_full(&s, A));
    assert_true(push_share_take(&s, A, 300)); /* the last one may be of any size */
    assert_true(push_share_is_full(&s, A));
    assert_true(push_share_take(&s, B, 1));
    assert_false(push_share_is_full(&s, B));
    assert_false(push_share_return(&s, B, 1));
    assert_true(push_share_return(&s, A, 300));
    assert_false(push_share_return(&s, A, 499));
    assert_int_equal(s.table.count, 0);
    push_shares_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_has_half),
        cmocka_unit_test(and_half_of_the_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
