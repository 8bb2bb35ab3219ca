/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/buf.h"

static void assert_content(const struct buf *b, struct str expected)
{
    assert_false(b->failed);
    assert_int_equal(b->len, expected.len);
    assert_true(str_eq(buf_view(b), expected));
}

static void appended_pieces_follow_each_other(void **state)
{
    struct buf b = { 0 };
    (void)state;
    buf_append(&b, NULL, 0);
    assert_null(b.ptr);
    buf_text(&b, "one ");
    buf_str(&b, STR("t\0o "));
    buf_printf(&b, "%d%s", 3, "!");
    buf_printf(&b, "%s", "");
    assert_content(&b, STR("one t\0o 3!"));
    buf_fini(&b);
    assert_null(b.ptr);
    buf_fini(&b);
}

static void growth_keeps_every_byte(void **state)
{
    struct buf b = { 0 };
    (void)state;
    for (int i = 0; i < 100000; i++) {
        char c = (char)(i * 31);
        buf_append(&b, &c, 1);
        assert_true(b.len <= b.cap);
    }
    for (int i = 0; i < 100000; i++)
        assert_int_equal(b.ptr[i], (char)(i * 31));
    buf_fini(&b);
}

static void assert_decimal(int64_t number)
{
    struct buf b = { 0 };
    char expected[32];

    buf_int(&b, number);
    snprintf(expected, sizeof expected, "%jd", (intmax_t)number);
    assert_content(&b, str_of(expected));
    buf_fini(&b);
}

static void numbers_are_written_in_decimal(void **state)
{
    uint64_t power = 1;
    char digits[BUF_DIGITS];
    (void)state;
    assert_decimal(INT64_MAX);
    assert_decimal(INT64_MIN);
    for (int i = 0; i < 19; i++, power *= 10)
        for (int64_t k = -2; k <= 2; k++) {
            assert_decimal((int64_t)power + k);
            assert_decimal(7 * (int64_t)(power / 10) + k);
        }
    for (unsigned bit = 0; bit < 63; bit++)
        assert_decimal((int64_t)(UINT64_C(1) << bit));
    assert_ptr_equal(buf_digits(digits, UINT64_MAX), digits + BUF_DIGITS);
    assert_memory_equal(digits, "18446744073709551615", BUF_DIGITS);
}

static void consuming_moves_the_rest_down(void **state)
{
    struct buf b = { 0 };
    (void)state;
    buf_text(&b, "abcdef");
    buf_consume(&b, 0);
    assert_content(&b, STR("abcdef"));
    buf_consume(&b, 2);
    assert_content(&b, STR("cdef"));
    buf_consume(&b, 4);
    assert_content(&b, STR(""));
    buf_text(&b, "x");
    assert_content(&b, STR("x"));
    buf_fini(&b);
}

static void reset_keeps_small_memory_and_frees_large(void **state)
{
    struct buf b = { 0 };
    (void)state;
    buf_text(&b, "abc");
    char *ptr = b.ptr;
    buf_reset(&b, 1024);
    assert_ptr_equal(b.ptr, ptr);
    assert_content(&b, STR(""));
    buf_grow(&b, 5000);
    buf_reset(&b, 1024);
    assert_null(b.ptr);
    assert_int_equal(b.cap, 0);
    buf_fini(&b);
}

static void a_failed_buffer_ignores_appends_until_reset(void **state)
{
    struct buf b = { 0 };
    (void)state;
    buf_text(&b, "abc");
    assert_false(buf_reserve(&b, SIZE_MAX));
    assert_true(b.failed);
    assert_false(buf_grow(&b, 1000));
    assert_int_equal(b.len, 3);
    buf_reset(&b, 1024);
    buf_text(&b, "d");
    assert_content(&b, STR("d"));
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appended_pieces_follow_each_other),
        cmocka_unit_test(growth_keeps_every_byte),
        cmocka_unit_test(numbers_are_written_in_decimal),
        cmocka_unit_test(consuming_moves_the_rest_down),
        cmocka_unit_test(reset_keeps_small_memory_and_frees_large),
        cmocka_unit_test(a_failed_buffer_ignores_appends_until_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
