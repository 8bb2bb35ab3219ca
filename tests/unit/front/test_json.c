/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/base64.h"
#include "front/json.h"

static struct buf out;

static int reset(void **state)
{
    (void)state;
    buf_fini(&out);
    out = (struct buf){ 0 };
    return 0;
}

/* Reads one value and nothing else; its text is in out. */
static bool copies(const char *text)
{
    struct json j;

    out.len = 0;
    json_begin(&j, str_of(text));
    return json_take(&j, &out) && json_done(&j);
}

static void assert_out(const char *text)
{
    assert_int_equal(out.len, strlen(text));
    assert_memory_equal(out.ptr, text, out.len);
}

static void a_value_is_copied_without_blanks(void **state)
{
    (void)state;
    assert_true(copies(" { \"a\" : [ 1 , -2.5e+10 , true , null , \"x y\" ] , \"b\" : { } } "));
    assert_out("{\"a\":[1,-2.5e+10,true,null,\"x y\"],\"b\":{}}");
    assert_true(copies("123456789012345678901234567890.0001e-999"));
    assert_out("123456789012345678901234567890.0001e-999");
}

static void what_is_no_json_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "at byte 1: expected a JSON value" },
        { "nul", "at byte 1: expected null" },
        { "[1,]", "at byte 4: expected a JSON value" },
        { "[1 2]", "at byte 4: expected , or ]" },
        { "{\"a\" 1}", "at byte 6: expected :" },
        { "{a:1}", "expected a string" },
        { "1 x", "at byte 3: expected nothing" },
        { "00", "leading zeros" },
        { "-", "leading zeros" },
        { "1.", "behind the point" },
        { "1e", "exponent" },
        { "\"\x01\"", "control character" },
        { "\"\\x\"", "unknown escape" },
        { "\"\\u12\"", "hexadecimal" },
        { "\"\\udc00\"", "surrogate" },
        { "\"\\ud800\\u0041\"", "surrogate" },
        { "\"\xc0\x80\"", "UTF-8" },
        { "\"abc", "ends within a string" },
        { "\"abc\\", "ends within a string" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct json j;

        json_begin(&j, str_of(bad[i].text));
        assert_false(json_take(&j, &out) && json_done(&j));
        if (!strstr(j.why, bad[i].why) && !(i == 5 && strstr(j.why, "JSON value")))
            fail_msg("%s: %s", bad[i].text, j.why);
    }
}

static void nesting_has_a_limit(void **state)
{
    char text[2 * JSON_DEPTH_MAX + 3] = { 0 };

    (void)state;
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    assert_true(copies(text));
    memset(text, '[', JSON_DEPTH_MAX + 1);
    memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
    assert_false(copies(text));
}

static void a_string_says_what_its_escapes_mean(void **state)
{
    struct json j;

    (void)state;
    out.len = 0;
    json_begin(&j, str_of("\"\\\"\\\\\\/\\b\\f\\n\\r\\t \\u0041\\u00e9\\u20ac\\ud83d\\ude00\""));
    assert_true(json_string_read(&j, &out));
    assert_out("\"\\/\b\f\n\r\t A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void what_is_quoted_is_read_as_the_same(void **state)
{
    char bytes[0x7f];
    struct buf again = { 0 };
    struct json j;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i + 1);
    out.len = 0;
    json_quote(&out, (struct str){ bytes, sizeof(bytes) });
    json_begin(&j, buf_view(&out));
    assert_true(json_string_read(&j, &again) && json_done(&j));
    assert_int_equal(again.len, sizeof(bytes));
    assert_memory_equal(again.ptr, bytes, sizeof(bytes));
    buf_fini(&again);
}

static void bytes_that_are_no_text_are_quoted_as_the_replacement_character(void **state)
{
    (void)state;
    out.len = 0;
    json_quote(&out, STR("a\xff\xc3\xa9\xed\xa0\x80\xc3"));
    assert_out("\"a\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

static void base64_goes_both_ways_and_is_strict(void **state)
{
    static const char *const bad[] = { "a",    "ab",   "abc",      "a===",  "====", "ab=c",
                                       "YR==", "YWJ=", "YQ==YQ==", "YQ ==", "YW-_" };
    unsigned char bytes[256];
    struct buf again = { 0 };

    (void)state;
    for (unsigned i = 0; i < 256; i++)
        bytes[i] = (unsigned char)(i * 7);
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        out.len = again.len = 0;
        base64_put(&out, (struct str){ (const char *)bytes, n });
        assert_true(base64_read(buf_view(&out), &again));
        assert_int_equal(again.len, n);
        assert_true(n == 0 || memcmp(again.ptr, bytes, n) == 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (base64_read(str_of(bad[i]), &again))
            fail_msg("%s", bad[i]);
    buf_fini(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_value_is_copied_without_blanks, reset),
        cmocka_unit_test_teardown(what_is_no_json_is_refused_with_its_place, reset),
        cmocka_unit_test_teardown(nesting_has_a_limit, reset),
        cmocka_unit_test_teardown(a_string_says_what_its_escapes_mean, reset),
        cmocka_unit_test_teardown(what_is_quoted_is_read_as_the_same, reset),
        cmocka_unit_test_teardown(bytes_that_are_no_text_are_quoted_as_the_replacement_character,
                                  reset),
        cmocka_unit_test_teardown(base64_goes_both_ways_and_is_strict, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
