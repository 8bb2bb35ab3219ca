/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "verbs/cursor.h"

static void assert_text(const struct list_cursor *c, const char *expected)
{
    struct list_cursor again;
    char text[CURSOR_TEXT + 1];
    size_t len = cursor_format(c, text);

    text[len] = '\0';
    assert_string_equal(text, expected);
    assert_true(cursor_parse((struct str){ text, len }, &again));
    assert_true(again.more);
    assert_int_equal(again.phase, c->phase);
    assert_int_equal(again.stripes_log2, c->stripes_log2);
    assert_int_equal(again.stripe, c->stripe);
    assert_int_equal(again.due_ms, c->due_ms);
    assert_int_equal(again.seq, c->seq);
    assert_int_equal(again.walk, c->walk);
    assert_int_equal(again.since, c->since);
    assert_int_equal(again.epoch, c->epoch);
    assert_int_equal(again.key_len, c->key_len);
    assert_memory_equal(again.key, c->key, c->key_len);
}

static void a_walk_in_memory_has_a_short_cursor(void **state)
{
    (void)state;
    assert_text(
        &(struct list_cursor){
            .stripes_log2 = 3, .stripe = 5, .due_ms = 1794778335000, .seq = UINT64_MAX },
        "3-5-1794778335000-18446744073709551615");
    assert_text(&(struct list_cursor){ 0 }, "0-0-0-0");
}

static void a_walk_on_disk_carries_its_key(void **state)
{
    (void)state;
    assert_text(&(struct list_cursor){ .phase = LIST_DISK,
                                       .walk = 17,
                                       .since = 9,
                                       .epoch = 2,
                                       .key_len = 3,
                                       .key = "D\0\xff" },
                "0-0-0-0-1-17-9-2-4400ff");
    assert_text(&(struct list_cursor){ .phase = LIST_DISK }, "0-0-0-0-1-0-0-0");
    assert_text(&(struct list_cursor){ .phase = LIST_SORTED, .due_ms = 5, .seq = 7 },
                "0-0-5-7-3-0-0-0");
    assert_text(&(struct list_cursor){ .phase = LIST_LOADED, .stripe = 1, .walk = UINT32_MAX },
                "0-1-0-0-2-4294967295-0-0");
}

static void the_longest_cursor_has_room(void **state)
{
    struct list_cursor c = { .phase = LIST_LOADED,
                             .stripes_log2 = UINT8_MAX,
                             .stripe = UINT64_MAX,
                             .due_ms = INT64_MAX,
                             .seq = UINT64_MAX,
                             .walk = UINT32_MAX,
                             .since = UINT32_MAX,
                             .epoch = UINT64_MAX,
                             .key_len = sizeof(c.key) };
    struct list_cursor again;
    char text[CURSOR_TEXT];
    (void)state;
    memset(c.key, 0xab, sizeof(c.key));
    assert_true(cursor_parse((struct str){ text, cursor_format(&c, text) }, &again));
    assert_memory_equal(again.key, c.key, sizeof(c.key));
}

static void what_no_page_gave_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "-",
        "0",
        "0-0-0",
        "0-0-0-",
        "0-0-0-0-",
        "x",
        "0-0-0-0 ",
        " 0-0-0-0",
        "0-0-0-x",
        "+0-0-0-0",
        "00-0-0-0",
        "0-0-0-01", /* one cursor has one text */
        "256-0-0-0",
        "0-18446744073709551616-0-0", /* too large */
        "0-0-9223372036854775808-0",  /* a moment is not negative */
        "0-0-0-0-0-0-0-0",
        "0-0-0-0-1",
        "0-0-0-0-1-0",
        "0-0-0-0-1-0-0",
        "0-0-0-0-4-0-0-0", /* phases */
        "0-0-0-0-1-4294967296-0-0",
        "0-0-0-0-1-0-4294967296-0",
        "0-0-0-0-1-0-0-18446744073709551616",
        "0-0-0-0-1-0-0-0-", /* a walk; a run; an epoch; an empty key */
        "0-0-0-0-1-0-0-0-4",
        "0-0-0-0-1-0-0-0-4G",
        "0-0-0-0-1-0-0-0-4A",
        "0-0-0-0-1-0-0-0-44-",
        "0-0-0-0-1-0-0-0-44-1",
    };
    struct list_cursor c;
    char text[2 * CURSOR_TEXT];
    int n;
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (cursor_parse(str_of(bad[i]), &c))
            fail_msg("accepted: '%s'", bad[i]);
    n = snprintf(text, sizeof(text), "0-0-0-0-1-0-0-0-%0*d", (int)(2 * sizeof(c.key) + 2), 0);
    assert_false(cursor_parse((struct str){ text, (size_t)n }, &c));
    assert_true(cursor_parse((struct str){ text, (size_t)n - 2 }, &c));
    assert_false(cursor_parse((struct str){ "0-0-0-0\0", 8 }, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_in_memory_has_a_short_cursor),
        cmocka_unit_test(a_walk_on_disk_carries_its_key),
        cmocka_unit_test(the_longest_cursor_has_room),
        cmocka_unit_test(what_no_page_gave_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
