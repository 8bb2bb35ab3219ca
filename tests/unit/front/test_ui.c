/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "front/ui.h"

static void gzip_is_taken_if_the_client_says_so(void **state)
{
    (void)state;
    assert_true(ui_takes_packed("gzip"));
    assert_true(ui_takes_packed("gzip, deflate, br, zstd"));
    assert_true(ui_takes_packed("br;q=1.0, GZIP ; q=0.5"));
    assert_true(ui_takes_packed("x-gzip"));
    assert_true(ui_takes_packed("deflate, *"));
    assert_true(ui_takes_packed("gzip;q=0.001"));
    assert_false(ui_takes_packed(NULL));
    assert_false(ui_takes_packed(""));
    assert_false(ui_takes_packed("identity"));
    assert_false(ui_takes_packed("gzipped, br"));
    assert_false(ui_takes_packed("gzip;q=0"));
    assert_false(ui_takes_packed("gzip; Q=0.000, *"));
    assert_false(ui_takes_packed("*, gzip;q=0"));
    assert_false(ui_takes_packed("*;q=0"));
    assert_false(ui_takes_packed(",;,;q"));
}

static void a_tag_that_the_client_holds_is_known(void **state)
{
    (void)state;
    assert_true(ui_is_held("\"a\"", "\"a\""));
    assert_true(ui_is_held("\"b\", W/\"a\" ", "\"a\""));
    assert_true(ui_is_held("*", "\"a\""));
    assert_false(ui_is_held(NULL, "\"a\""));
    assert_false(ui_is_held("", "\"a\""));
    assert_false(ui_is_held("a", "\"a\""));
    assert_false(ui_is_held("\"ab\"", "\"a\""));
    assert_false(ui_is_held("W/", "\"a\""));
}

static void each_form_of_a_file_has_a_tag_of_its_own(void **state)
{
    struct ui_file f = { .name = "a.js", .tag = "0123456789abcdef" };
    char plain[UI_ETAG_TEXT], packed[UI_ETAG_TEXT];

    (void)state;
    ui_etag(&f, false, plain);
    ui_etag(&f, true, packed);
    assert_string_equal(plain, "\"0123456789abcdef\"");
    assert_string_equal(packed, "\"0123456789abcdef-gz\"");
}

static void types_follow_from_endings(void **state)
{
    (void)state;
    assert_string_equal(ui_type(&(struct ui_file){ .name = "a.b.js" }),
                        "text/javascript; charset=utf-8");
    assert_string_equal(ui_type(&(struct ui_file){ .name = "x.svg" }), "image/svg+xml");
    assert_string_equal(ui_type(&(struct ui_file){ .name = "js" }), "application/octet-stream");
}

/* gzip begins with two bytes of its own, and ends with the length of the content. */
static void every_file_is_there_in_both_forms(void **state)
{
    const struct ui_file *f;
    size_t n = 0;

    (void)state;
    for (; (f = ui_file(n)); n++) {
        const unsigned char *end = (const unsigned char *)f->packed.ptr + f->packed.len;

        assert_ptr_equal(ui_find(str_of(f->name)), f);
        assert_true(str_starts(f->packed, STR("\x1f\x8b")));
        assert_int_equal(f->plain.len, end[-4] | end[-3] << 8 | end[-2] << 16 | end[-1] << 24);
    }
    assert_true(n >= 3);
    assert_non_null(ui_find(STR(UI_INDEX)));
    assert_null(ui_find(STR("../front/ui.c")));
    assert_null(ui_find(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gzip_is_taken_if_the_client_says_so),
        cmocka_unit_test(a_tag_that_the_client_holds_is_known),
        cmocka_unit_test(each_form_of_a_file_has_a_tag_of_its_own),
        cmocka_unit_test(types_follow_from_endings),
        cmocka_unit_test(every_file_is_there_in_both_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
