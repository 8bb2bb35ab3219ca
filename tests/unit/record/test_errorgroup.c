/* SPDX-License-Identifier: MIT */
/* The patterns of groups of errors. */
#include "record/errorgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "record/limits.h"

static void patterns_name_what_errors_share(void **state)
{
    static const struct {
        const char *error, *pattern;
    } cases[] = {
        { "", "<none>" },
        { " \n\t", "<none>" },
        { "timeout after 30 s", "timeout after <n> s" },
        { "node17b: 3.5%", "node<n>b: <n>.<n>%" },
        { "id 550e8400-e29b-41d4-a716-446655440000.", "id <id>." },
        { "id 550e8400-e29b-41d4-a716-44665544000x", "id <id>-e<n>b-<n>d<n>-a<n>-<n>x" },
        { "01M7HYNQRQ0000000000000001 gone", "<id> gone" },
        { "at 0x7ffd12", "at <id>" },
        { "deadbeef", "deadbeef" },
        { "deadbee5", "<id>" },
        { "12345678", "<n>" },
        { "no \"x y\" 'z' `q`", "no \"...\" \"...\" \"...\"" },
        { "can't, won't", "can't, won't" },
        { "an open \"quote", "an open \"quote" },
        { "a\t \tb\nsecond", "a b" },
        { "a\x01\xff"
          "b",
          "a??b" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char buf[ERROR_GROUP_MAX];
        struct str p = error_group(str_of(cases[i].error), buf);

        if (!str_eq(p, str_of(cases[i].pattern)))
            fail_msg("%s: %.*s, expected %s", cases[i].error, STR_ARG(p), cases[i].pattern);
    }
}

static void a_pattern_is_short_text_whatever_the_error(void **state)
{
    char error[600], buf[ERROR_GROUP_MAX];
    uint32_t random = 7;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t len = (random >> 8) % sizeof(error);

        for (size_t i = 0; i < len; i++) {
            random = random * 1664525 + 1013904223;
            error[i] =
                round % 2 ? (char)(random >> 24) : "\"'`a9f-\xc3\xa9 \n"[(random >> 24) % 12];
        }
        struct str p = error_group((struct str){ error, len }, buf);
        assert_true(p.len > 0 && p.len <= ERROR_GROUP_MAX && utf8_valid(p));
    }
}

static void what_stands_behind_the_head_of_an_error_is_not_looked_at(void **state)
{
    char error[ERROR_MAX_BYTES], buf[ERROR_GROUP_MAX];

    (void)state;
    memset(error, '7', sizeof(error));
    memcpy(error + ERROR_HEAD_BYTES, " and more", 9);
    assert_true(str_eq(error_group((struct str){ error, sizeof(error) }, buf), STR("<n>")));
    memset(error, ' ', sizeof(error));
    error[sizeof(error) - 1] = 'x';
    assert_true(
        str_eq(error_group((struct str){ error, sizeof(error) }, buf), STR(ERROR_GROUP_NONE)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_name_what_errors_share),
        cmocka_unit_test(a_pattern_is_short_text_whatever_the_error),
        cmocka_unit_test(what_stands_behind_the_head_of_an_error_is_not_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
