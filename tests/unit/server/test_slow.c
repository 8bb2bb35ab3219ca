/* SPDX-License-Identifier: MIT */
/* Slow work is counted, and the log hears of some of it. */
#include "server/slow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "server/server.h"

static struct server server;

static void quick_work_is_not_noted(void **state)
{
    (void)state;
    server = (struct server){ .log = { &server.options } };
    slow_note(&server, "LIST", SLOW_US - 1, 1);
    assert_int_equal(server.slow.count, 0);
    assert_int_equal(server.slow.tell_ms, 0);
}

static void the_log_has_one_line_in_a_while_and_the_count_has_all(void **state)
{
    (void)state;
    server = (struct server){ .log = { &server.options } };
    slow_note(&server, "LIST", SLOW_US, 1);
    assert_true(server.slow.tell_ms > 0);
    server.slow.tell_ms = INT64_MAX; /* not yet */
    for (int i = 0; i < 3; i++)
        slow_note(&server, "PREVIEW", 2 * SLOW_US, 1);
    assert_int_equal(server.slow.count, 4);
    assert_int_equal(server.slow.untold, 3);
    server.slow.tell_ms = 0;
    slow_note(&server, "own work", SLOW_US, 0);
    assert_int_equal(server.slow.count, 5);
    assert_int_equal(server.slow.untold, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_work_is_not_noted),
        cmocka_unit_test(the_log_has_one_line_in_a_while_and_the_count_has_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
