/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/error.h"

#define NAME(name, number, status, detail, text, hint) BELFRY_##name,
static const int all[] = { BELFRY_ERRORS(NAME) };
#undef NAME

#define COUNT (sizeof(all) / sizeof(*all))

static void every_error_is_found_by_number_and_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        const struct error_row *row = error_row(all[i]);

        assert_non_null(row);
        assert_int_equal(row->err, all[i]);
        assert_ptr_equal(error_find(str_of(row->name)), row);
        assert_string_equal(error_name(all[i]), row->name);
        assert_string_equal(error_text(all[i]), row->text);
        assert_true(row->text[0] && row->hint && row->status >= 400);
    }
}

static void no_number_is_used_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(all[i], all[k]);
}

static void what_never_reaches_a_user_is_no_row(void **state)
{
    (void)state;
    assert_null(error_row(BELFRY_COLD));
    assert_null(error_find(STR("COLD")));
    assert_string_equal(error_name(BELFRY_COLD), "COLD"); /* in traces */
    assert_null(error_row(0));
    assert_null(error_find(STR("STAL")));
    assert_string_equal(error_name(-1000), "ERR");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_is_found_by_number_and_by_name),
        cmocka_unit_test(no_number_is_used_twice),
        cmocka_unit_test(what_never_reaches_a_user_is_no_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
