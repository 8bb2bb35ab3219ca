/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/utf8.h"
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
    assert_true(copies("[ \"\\\\\" , \"a\\\" b\" ,\n{\t}\r]"));
    assert_out("[\"\\\\\",\"a\\\" b\",{}]");
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
        { "{a:1}", "at byte 2: expected a field's name" },
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
        if (!strstr(j.why, bad[i].why))
            fail_msg("%s: %s", bad[i].text, j.why);
    }
}

static void a_value_is_not_read_beyond_its_limit(void **state)
{
    static const char text[] = " [ 1 , [ 2 , 3 ] , \"x\" ] ";
    struct json j;

    (void)state;
    for (size_t most = 1; most < sizeof(text); most++) {
        out.len = 0;
        json_begin(&j, str_of(text));
        j.most = most;
        assert_int_equal(json_take(&j, &out), most >= strlen("[1,[2,3],\"x\"]"));
        assert_int_equal(j.large, j.bad);
    }
    assert_out("[1,[2,3],\"x\"]");
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

static void each_byte_has_its_escape(void **state)
{
    static const char *const letters[0x20] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r"
    };
    char bytes[700], text[16];

    (void)state;
    for (unsigned c = 0; c < 0x80; c++) {
        size_t n;

        if (c < 0x20 && letters[c])
            n = (size_t)snprintf(text, sizeof(text), "%s", letters[c]);
        else if (c < 0x20 || c == 0x7f)
            n = (size_t)snprintf(text, sizeof(text), "\\u%04x", c);
        else
            n = (size_t)snprintf(text, sizeof(text), c == '"' || c == '\\' ? "\\%c" : "%c", (int)c);
        memset(bytes, (int)c, sizeof(bytes));
        out.len = 0;
        json_quote(&out, (struct str){ bytes, sizeof(bytes) });
        assert_int_equal(out.len, 2 + n * sizeof(bytes));
        for (size_t i = 0; i < sizeof(bytes); i++)
            assert_memory_equal(out.ptr + 1 + i * n, text, n);
    }
}

static void a_string_is_quoted_within_a_limit_or_not_at_all(void **state)
{
    char bytes[2000];

    (void)state;
    memset(bytes, '\n', sizeof(bytes));
    out.len = 0;
    buf_text(&out, "x");
    assert_true(json_quote_within(&out, (struct str){ bytes, sizeof(bytes) }, 4000));
    assert_int_equal(out.len, 4003);
    assert_false(json_quote_within(&out, (struct str){ bytes, sizeof(bytes) }, 3999));
    assert_int_equal(out.len, 4003);
    assert_true(json_quote_within(&out, (struct str){ bytes, sizeof(bytes) }, SIZE_MAX));
    assert_int_equal(out.len, 8005);
}

/* The length of a character by the table of Unicode (3.9, table 3-7). */
static size_t length_by_table(const unsigned char *p)
{
    static const unsigned char rows[][5] = {
        { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const unsigned char *r = rows[i];
        bool fits = p[0] >= r[0] && p[0] <= r[1] && (r[4] == 1 || (p[1] >= r[2] && p[1] <= r[3]));

        for (size_t k = 2; k < r[4]; k++)
            fits = fits && p[k] >= 0x80 && p[k] <= 0xbf;
        if (fits)
            return r[4];
    }
    return 0;
}

static void utf8_is_what_the_table_of_unicode_says(void **state)
{
    static const unsigned char tails[] = { 0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0 };
    enum { TAILS = sizeof(tails) };

    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned t = 0; t < TAILS * TAILS * TAILS; t++) {
            unsigned char p[16] = { (unsigned char)first, tails[t % TAILS],
                                    tails[t / TAILS % TAILS], tails[t / TAILS / TAILS] };
            size_t n = length_by_table(p);
            uint32_t code;

            assert_int_equal(utf8_decode((struct str){ (char *)p, 4 }, &code), n);
            assert_int_equal(utf8_valid((struct str){ (char *)p, n }), true);
            if (n == 0)
                assert_int_equal(utf8_span((struct str){ (char *)p, 16 }), 0);
            for (size_t cut = 1; cut < n; cut++)
                assert_int_equal(utf8_span((struct str){ (char *)p, cut }), 0);
        }
    }
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
        cmocka_unit_test_teardown(a_value_is_not_read_beyond_its_limit, reset),
        cmocka_unit_test_teardown(nesting_has_a_limit, reset),
        cmocka_unit_test_teardown(a_string_says_what_its_escapes_mean, reset),
        cmocka_unit_test_teardown(what_is_quoted_is_read_as_the_same, reset),
        cmocka_unit_test_teardown(bytes_that_are_no_text_are_quoted_as_the_replacement_character,
                                  reset),
        cmocka_unit_test_teardown(each_byte_has_its_escape, reset),
        cmocka_unit_test_teardown(a_string_is_quoted_within_a_limit_or_not_at_all, reset),
        cmocka_unit_test_teardown(utf8_is_what_the_table_of_unicode_says, reset),
        cmocka_unit_test_teardown(base64_goes_both_ways_and_is_strict, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
