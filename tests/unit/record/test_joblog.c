/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "record/joblog.h"
#include "record/limits.h"

static struct buf logs[2];

static struct str log_now(void)
{
    return buf_view(&logs[0]);
}

static void append(int64_t at_ms, uint32_t attempt, struct str text)
{
    logs[1].len = 0;
    joblog_append(&logs[1], log_now(), &(struct job_line){ at_ms, attempt, text });
    struct buf swap = logs[0];
    logs[0] = logs[1];
    logs[1] = swap;
}

static int empty(void **state)
{
    (void)state;
    buf_fini(&logs[0]);
    buf_fini(&logs[1]);
    return 0;
}

static void lines_come_back_in_their_order(void **state)
{
    struct wire_reader r;
    struct job_line line;

    (void)state;
    assert_int_equal(joblog_count((struct str){ 0 }), 0);
    append(1794778000000, 1, STR("first"));
    append(1794778000005, 70000, STR(""));
    r = joblog_reader(log_now());
    assert_true(joblog_next(&r, &line));
    assert_true(line.at_ms == 1794778000000 && line.attempt == 1 &&
                str_eq(line.text, STR("first")));
    assert_true(joblog_next(&r, &line));
    assert_true(line.at_ms == 1794778000005 && line.attempt == 70000 && line.text.len == 0);
    assert_false(joblog_next(&r, &line));
    assert_int_equal(joblog_left_out(log_now()), 0);
}

static void the_oldest_lines_go_beyond_the_number(void **state)
{
    struct wire_reader r;
    struct job_line line;
    char text[16];

    (void)state;
    for (int i = 0; i < 3 * LINES_MAX; i++) {
        snprintf(text, sizeof(text), "%d", i);
        append(i, 1, str_of(text));
        assert_int_equal(joblog_count(log_now()) + joblog_left_out(log_now()), i + 1);
        assert_true(joblog_count(log_now()) <= LINES_MAX);
    }
    r = joblog_reader(log_now());
    assert_true(joblog_next(&r, &line));
    assert_true(str_eq(line.text, STR("200")));
}

static void the_oldest_lines_go_beyond_the_bytes(void **state)
{
    char text[LINE_MAX_BYTES];

    (void)state;
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 50; i++) {
        append(i, 1, (struct str){ text, sizeof(text) });
        assert_true(log_now().len <= LOG_MAX_BYTES + 8);
    }
    assert_int_equal(joblog_count(log_now()), 15);
    assert_int_equal(joblog_left_out(log_now()), 35);
}

static void a_log_that_is_cut_off_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    append(1, 1, STR("one"));
    append(2, 1, STR("two"));
    for (size_t n = 0; n <= log_now().len; n++)
        assert_true(joblog_count((struct str){ log_now().ptr, n }) <= 2);
    assert_int_equal(joblog_count((struct str){ log_now().ptr, log_now().len - 1 }), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_come_back_in_their_order, NULL, empty),
        cmocka_unit_test_setup_teardown(the_oldest_lines_go_beyond_the_number, NULL, empty),
        cmocka_unit_test_setup_teardown(the_oldest_lines_go_beyond_the_bytes, NULL, empty),
        cmocka_unit_test_setup_teardown(a_log_that_is_cut_off_is_read_as_far_as_it_goes, NULL,
                                        empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
