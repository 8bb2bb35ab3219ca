/* SPDX-License-Identifier: MIT */
/* Slow work is counted, and the log hears of some of it. */
#include "server/slow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "server/server.h"

#define SLOW_US 5000

static struct server server;

static int setup(void **state)
{
    (void)state;
    server = (struct server){ .log = { &server.options },
                              .options = { .slow_work_ms = SLOW_US / 1000 } };
    return 0;
}

static void quick_work_is_not_noted(void **state)
{
    (void)state;
    slow_note(&server, "LIST", SLOW_REQUEST, SLOW_US - 1, 1);
    assert_int_equal(server.slow.count, 0);
    assert_int_equal(server.slow.untold, 0);
    server.options.slow_work_ms = 0; /* everything */
    slow_note(&server, "LIST", SLOW_REQUEST, 0, 1);
    assert_int_equal(server.slow.count, 1);
}

static void the_log_has_some_lines_of_each_kind_and_the_count_has_all(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        slow_note(&server, "LIST", SLOW_FETCHED, SLOW_US, 1);
    assert_int_equal(server.slow.count, 1000);
    assert_true(server.slow.untold > 900);
    slow_note(&server, "own work", SLOW_OWN, SLOW_US, 0); /* many others do not hide it */
    assert_int_equal(server.slow.count, 1001);
    assert_int_equal(server.slow.untold, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(quick_work_is_not_noted, setup),
        cmocka_unit_test_setup(the_log_has_some_lines_of_each_kind_and_the_count_has_all, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
