/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"

/* The vectors of SipHash's authors: the key is the bytes 0 to 15, the message 0 to length - 1. */
static const struct hash_key vector_key = { UINT64_C(0x0706050403020100),
                                            UINT64_C(0x0f0e0d0c0b0a0908) };

static void to_hex(uint64_t x, char ret[17])
{
    for (int i = 0; i < 8; i++)
        snprintf(ret + 2 * i, 3, "%02x", (unsigned)(x >> (8 * i) & 255));
}

static struct str message(size_t len)
{
    static char bytes[64];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)i;
    return (struct str){ bytes, len };
}

static void siphash_1_3_gives_its_test_vectors(void **state)
{
    static const struct {
        size_t len;
        const char *hex;
    } rows[] = {
        { 0, "dcc40f055801acab" },  { 1, "93ca577df39bf4c9" },  { 2, "4dd4c74d029bcb82" },
        { 3, "fbf7dde7b80af88b" },  { 4, "2883d388605775cf" },  { 5, "673b53492fd5f9de" },
        { 6, "a7229fc5502b0dc5" },  { 7, "4011b19b987d92d3" },  { 8, "8e9a298d11959036" },
        { 9, "e43d066cb38ea425" },  { 15, "5699512a6dd820d3" }, { 16, "668b907d1add4fcc" },
        { 17, "0cd8db639068f29c" }, { 31, "bcd1218c1fdd7023" }, { 32, "0db6a7166c7b1581" },
        { 63, "a8b3bbb76290199d" },
    };
    char hex[17];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        to_hex(hash_quick(vector_key, message(rows[i].len)), hex);
        assert_string_equal(hex, rows[i].hex);
    }
}

static void siphash_2_4_of_128_bits_gives_its_test_vectors(void **state)
{
    static const struct {
        size_t len;
        const char *low, *high;
    } rows[] = {
        { 0, "a3817f04ba25a8e6", "6df67214c7550293" },
        { 1, "da87c1d86b99af44", "347659119b22fc45" },
        { 2, "8177228da4a45dc7", "fca38bdef60affe4" },
        { 3, "9c70b60c5267a94e", "5f33b6b02985ed51" },
        { 4, "f88164c12d9c8faf", "7d0f6e7c7bcd5579" },
        { 5, "1368875980776f88", "54527a07690e9627" },
        { 6, "14eeca338b208613", "485ea0308fd7a15e" },
        { 7, "a1f1ebbed8dbc153", "c0b84aa61ff08239" },
        { 15, "5493e99933b0a811", "7e08ec0f97cfc3d9" },
    };
    char hex[17];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hash_wide h = hash_wide(vector_key, message(rows[i].len));

        to_hex(h.low, hex);
        assert_string_equal(hex, rows[i].low);
        to_hex(h.high, hex);
        assert_string_equal(hex, rows[i].high);
    }
}

static void a_key_that_is_drawn_is_another_each_time(void **state)
{
    struct hash_key a, b;

    (void)state;
    assert_true(hash_key_draw(&a) && hash_key_draw(&b));
    assert_true(hash_key_is_set(a) && hash_key_is_set(b));
    assert_true(a.a != b.a && a.b != b.b);
    assert_true(hash_quick(a, STR("name")) != hash_quick(b, STR("name")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_1_3_gives_its_test_vectors),
        cmocka_unit_test(siphash_2_4_of_128_bits_gives_its_test_vectors),
        cmocka_unit_test(a_key_that_is_drawn_is_another_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
