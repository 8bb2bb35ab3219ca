/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/wire.h"

static void fixed_widths_are_little_endian_and_read_back(void **state)
{
    struct buf b = { 0 };
    (void)state;
    wire_put_u8(&b, 0xfe);
    wire_put_u32(&b, 0x01020304);
    wire_put_u64(&b, UINT64_C(0x0102030405060708));
    assert_int_equal(b.len, 13);
    assert_memory_equal(b.ptr, "\xfe\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01", 13);
    struct wire_reader r = wire_reader_of(buf_view(&b));
    assert_int_equal(wire_u8(&r), 0xfe);
    assert_int_equal(wire_u32(&r), 0x01020304);
    assert_int_equal(wire_u64(&r), UINT64_C(0x0102030405060708));
    assert_false(r.bad);
    assert_ptr_equal(r.p, r.end);
    buf_fini(&b);
}

static void varints_of_every_length_read_back(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit <= 64; bit++) {
        for (int delta = -1; delta <= 1; delta++) {
            struct buf b = { 0 };
            uint64_t v = (bit < 64 ? UINT64_C(1) << bit : 0) + (uint64_t)(int64_t)delta;
            wire_put_varint(&b, v);
            wire_put_zigzag(&b, (int64_t)v);
            wire_put_zigzag(&b, (int64_t)(0 - v));
            struct wire_reader r = wire_reader_of(buf_view(&b));
            assert_true(wire_varint(&r) == v);
            assert_true(wire_zigzag(&r) == (int64_t)v);
            assert_true(wire_zigzag(&r) == (int64_t)(0 - v));
            assert_false(r.bad);
            assert_ptr_equal(r.p, r.end);
            buf_fini(&b);
        }
    }
}

static void small_numbers_of_either_sign_take_one_byte(void **state)
{
    (void)state;
    for (int64_t v = -64; v < 64; v++) {
        struct buf b = { 0 };
        wire_put_zigzag(&b, v);
        assert_int_equal(b.len, 1);
        buf_fini(&b);
    }
}

static void varints_that_do_not_fit_64_bits_are_bad(void **state)
{
    static const struct str rows[] = {
        STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"),
        STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct wire_reader r = wire_reader_of(rows[i]);
        assert_int_equal(wire_varint(&r), 0);
        assert_true(r.bad);
    }
    struct wire_reader r = wire_reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_true(wire_varint(&r) == UINT64_MAX);
    assert_false(r.bad);
}

static void bytes_are_borrowed_from_the_record(void **state)
{
    struct buf b = { 0 };
    (void)state;
    wire_put_bytes(&b, STR("a\0b"));
    wire_put_bytes(&b, (struct str){ NULL, 0 });
    struct wire_reader r = wire_reader_of(buf_view(&b));
    struct str s = wire_bytes(&r);
    assert_true(str_eq(s, STR("a\0b")));
    assert_ptr_equal(s.ptr, b.ptr + 1);
    assert_int_equal(wire_bytes(&r).len, 0);
    assert_false(r.bad);
    buf_fini(&b);
}

/* A record cut at any place is bad, and stays so, and never read past its end (see ASan). */
static void a_record_cut_anywhere_is_bad_for_good(void **state)
{
    struct buf b = { 0 };
    (void)state;
    wire_put_u32(&b, 7);
    wire_put_varint(&b, 300);
    wire_put_bytes(&b, STR("hello"));
    wire_put_u64(&b, 9);
    for (size_t n = 0; n < b.len; n++) {
        struct buf cut = { 0 };
        buf_append(&cut, b.ptr, n);
        struct wire_reader r = wire_reader_of((struct str){ cut.ptr ? cut.ptr : "", n });
        wire_u32(&r);
        wire_varint(&r);
        wire_bytes(&r);
        assert_int_equal(wire_u64(&r), 0);
        assert_true(r.bad);
        assert_int_equal(wire_u8(&r), 0);
        assert_int_equal(wire_varint(&r), 0);
        assert_int_equal(wire_bytes(&r).len, 0);
        assert_true(r.bad);
        buf_fini(&cut);
    }
    buf_fini(&b);
}

static void a_length_beyond_the_end_is_bad(void **state)
{
    struct wire_reader r = wire_reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                              "abc"));
    (void)state;
    assert_int_equal(wire_bytes(&r).len, 0);
    assert_true(r.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_widths_are_little_endian_and_read_back),
        cmocka_unit_test(varints_of_every_length_read_back),
        cmocka_unit_test(small_numbers_of_either_sign_take_one_byte),
        cmocka_unit_test(varints_that_do_not_fit_64_bits_are_bad),
        cmocka_unit_test(bytes_are_borrowed_from_the_record),
        cmocka_unit_test(a_record_cut_anywhere_is_bad_for_good),
        cmocka_unit_test(a_length_beyond_the_end_is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
