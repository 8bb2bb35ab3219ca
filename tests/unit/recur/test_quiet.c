/* SPDX-License-Identifier: MIT */
#include "support/recurs.h"

#include "recur/quiet.h"

static struct zone *zone;

static struct quiet parse(const char *text)
{
    struct quiet q = { 0 };
    struct rule_error error;

    if (quiet_parse(str_of(text), &q, &error) != 0)
        fail_msg("%s: %s", text, error.text);
    return q;
}

static void refused(const char *text, const char *words)
{
    struct quiet q = { .n = 77 };
    struct rule_error error;

    assert_int_equal(quiet_parse(str_of(text), &q, &error), BELFRY_INVALID);
    if (!strstr(error.text, words) || !strstr(error.text, "expected"))
        fail_msg("'%s': %s", text, error.text);
    assert_int_equal(q.n, 77);
}

/* At this moment it is quiet until that one; NULL: it is not. */
static void until(const char *windows, const char *at, const char *end)
{
    struct quiet q = parse(windows);
    int64_t is = quiet_until(&q, zone, moment_of(at));

    if (end ? is != moment_of(end) : is != -1)
        fail_msg("%s at %s: %lld, expected %s", windows, at, (long long)is, end ? end : "nothing");
    if (end) /* and then it is over */
        assert_int_equal(quiet_until(&q, zone, is), -1);
}

static void in_zone(const char *name)
{
    zone_free(zone);
    zone = zone_named(name);
}

static int teardown(void **state)
{
    (void)state;
    zone_free(zone);
    zone = NULL;
    return 0;
}

/* 2026-06-15 is a Monday. */
static void test_a_window_is_quiet_from_its_start_to_before_its_end(void **state)
{
    (void)state;
    in_zone("UTC");
    until("12:00-13:30", "2026-06-15T11:59:59.999Z", NULL);
    until("12:00-13:30", "2026-06-15T12:00:00Z", "2026-06-15T13:30:00Z");
    until("12:00-13:30", "2026-06-15T13:29:59.999Z", "2026-06-15T13:30:00Z");
    until("12:00-13:30", "2026-06-15T13:30:00Z", NULL);
}

static void test_windows_over_midnight_belong_to_the_day_on_which_they_begin(void **state)
{
    (void)state;
    in_zone("UTC");
    until("fri 22:00-07:00", "2026-06-19T21:59:00Z", NULL);
    until("fri 22:00-07:00", "2026-06-19T23:00:00Z", "2026-06-20T07:00:00Z");
    until("fri 22:00-07:00", "2026-06-20T06:59:00Z", "2026-06-20T07:00:00Z");
    until("fri 22:00-07:00", "2026-06-20T23:00:00Z", NULL);
    until("fri 22:00-07:00", "2026-06-19T06:00:00Z", NULL);
    until("sun 22:00-07:00", "2026-06-22T06:59:00Z", "2026-06-22T07:00:00Z");
    until("22:00-00:00", "2026-06-19T23:00:00Z", "2026-06-20T00:00:00Z");
    until("22:00-24:00", "2026-06-19T23:00:00Z", "2026-06-20T00:00:00Z");
}

static void test_windows_that_touch_or_overlap_are_one(void **state)
{
    (void)state;
    in_zone("UTC");
    until("22:00-07:00;sat,sun 00:00-24:00", "2026-06-19T22:30:00Z", "2026-06-22T07:00:00Z");
    until("22:00-07:00;sat,sun 00:00-24:00", "2026-06-18T22:30:00Z", "2026-06-19T07:00:00Z");
    until("08:00-09:00;09:00-10:00", "2026-06-15T08:30:00Z", "2026-06-15T10:00:00Z");
    until("08:00-09:30;09:00-10:00;09:59-11:00", "2026-06-15T08:00:00Z", "2026-06-15T11:00:00Z");
    until("mon-sat 00:00-24:00;sun 00:00-23:59", "2026-06-15T00:00:00Z", "2026-06-21T23:59:00Z");
    until("sat-tue 00:00-24:00", "2026-06-20T00:00:00Z", "2026-06-24T00:00:00Z");
    until(" SAT,Sun 00:00-24:00 ; fri 23:00-24:00 ", "2026-06-19T23:00:00Z",
          "2026-06-22T00:00:00Z");
}

static void test_what_cannot_be_read_is_refused_with_what_is_expected(void **state)
{
    (void)state;
    refused("", "nothing is there");
    refused(";", "no window at offset 0");
    refused("22:00-07:00;", "no window at offset 12");
    refused("22:00", "no end of the window at offset 5");
    refused("22:00-", "no time of day");
    refused("22:00-7", "no time of day: 7 at offset 6");
    refused("22:00-07:60", "07:60");
    refused("25:00-07:00", "25:00 at offset 0");
    refused("24:01-07:00", "24:01");
    refused("22:0-07:00", "22:0 ");
    refused("022:00-07:00", "022:00");
    refused("24:00-07:00", "no time is in this window");
    refused("07:00-07:00", "no time is in this window at offset 0");
    refused("fry 22:00-07:00", "no day of the week: fry at offset 0");
    refused("fri,22:00-07:00", "no day of the week: 22:00 at offset 4");
    refused("fri22:00-07:00", "no time at offset 3");
    refused("22:00-07:00 sat", "more than a window: sat at offset 12");
    refused("22:00-07:00,23:00-01:00", "more than a window");
    refused("00:00-24:00", "whole week");
    refused("12:00-11:59;11:59-12:00", "whole week");
    refused("\xff", "no time of day");
}

static void test_there_may_be_many_windows_but_not_any_number(void **state)
{
    char text[QUIET_TEXT_MAX + 40];
    struct quiet q;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 9; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02d:00-%02d:30", i ? ";" : "", i, i);
    q = parse(text);
    assert_int_equal(q.n, 63);
    snprintf(text + n, sizeof(text) - n, ";09:00-09:01");
    refused(text, "too many windows");
    memset(text, ' ', QUIET_TEXT_MAX);
    memcpy(text, "1:00-2:00", 9);
    text[QUIET_TEXT_MAX] = '\0';
    q = parse(text);
    assert_int_equal(q.n, 7);
    text[QUIET_TEXT_MAX] = ' ';
    text[QUIET_TEXT_MAX + 1] = '\0';
    refused(text, "too long");
}

/* 2026-03-29, 01:00 GMT is 02:00 BST. 2026-10-25, 02:00 BST is 01:00 GMT. */
static void test_london(void **state)
{
    (void)state;
    in_zone("Europe/London");
    until("22:00-07:00", "2026-03-28T23:00:00Z", "2026-03-29T06:00:00Z");
    until("22:00-07:00", "2026-10-24T22:00:00Z", "2026-10-25T07:00:00Z");
    /* A window that ends in the gap is over at the end of the gap. */
    until("22:00-01:30", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z");
    /* A window that starts in the gap starts at the end of the gap. */
    until("01:30-03:00", "2026-03-29T00:59:59Z", NULL);
    until("01:30-03:00", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z");
    /* A window within the gap is not shown that day. */
    until("01:10-01:50", "2026-03-29T00:59:59Z", NULL);
    until("01:10-01:50", "2026-03-29T01:00:00Z", NULL);
    /* Two windows that only the gap keeps apart are one. */
    until("00:00-01:15;01:45-03:00", "2026-03-29T00:30:00Z", "2026-03-29T02:00:00Z");
    until("00:00-01:15;01:45-03:00", "2026-03-30T00:20:00Z", NULL);
    /* If the end of a window is shown twice, the second showing is the end. */
    until("22:00-01:30", "2026-10-24T22:00:00Z", "2026-10-25T01:30:00Z");
    until("22:00-01:30", "2026-10-25T00:29:59Z", "2026-10-25T01:30:00Z");
    until("22:00-01:30", "2026-10-25T00:30:00Z", NULL); /* 01:30 BST: what the clock shows */
    until("22:00-01:30", "2026-10-25T00:59:59Z", NULL);
    until("22:00-01:30", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z");
    /* If the start of a window is shown twice, the window starts each time. */
    until("01:30-03:00", "2026-10-25T00:29:59Z", NULL);
    until("01:30-03:00", "2026-10-25T00:30:00Z", "2026-10-25T03:00:00Z");
    until("01:30-03:00", "2026-10-25T01:29:59Z", NULL);
    until("01:30-03:00", "2026-10-25T01:30:00Z", "2026-10-25T03:00:00Z");
    /* A window that ends where the clock is set back ends with the second showing. */
    until("01:00-02:00", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z");
    until("00:00-01:00", "2026-10-24T23:30:00Z", "2026-10-25T00:00:00Z");
    until("00:00-01:00", "2026-10-25T01:00:00Z", NULL);
}

/* 2026-03-08, 02:00 EST is 03:00 EDT. 2026-11-01, 02:00 EDT is 01:00 EST. */
static void test_new_york(void **state)
{
    (void)state;
    in_zone("America/New_York");
    until("21:00-08:00", "2026-03-08T03:00:00Z", "2026-03-08T12:00:00Z");
    until("21:00-02:30", "2026-03-08T03:00:00Z", "2026-03-08T07:00:00Z");
    until("sun 02:15-04:00", "2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z");
    until("21:00-01:15", "2026-11-01T02:00:00Z", "2026-11-01T06:15:00Z");
    until("21:00-01:15", "2026-11-01T05:15:00Z", NULL);
    until("sun 01:45-02:30", "2026-11-01T05:50:00Z", "2026-11-01T07:30:00Z");
    until("sat 20:00-08:00", "2026-11-01T00:30:00Z", "2026-11-01T13:00:00Z");
}

/* By half an hour: 2026-04-05, 02:00 is 01:30 again. 2026-10-04, 02:00 is 02:30. */
static void test_lord_howe(void **state)
{
    (void)state;
    in_zone("Australia/Lord_Howe");
    until("22:00-01:45", "2026-04-04T14:00:00Z", "2026-04-04T15:15:00Z");
    until("22:00-01:45", "2026-04-04T14:50:00Z", NULL);
    until("22:00-01:45", "2026-04-04T15:00:00Z", "2026-04-04T15:15:00Z");
    until("22:00-01:20", "2026-04-04T14:00:00Z", "2026-04-04T14:20:00Z");
    until("22:00-06:00", "2026-04-04T14:00:00Z", "2026-04-04T19:30:00Z");
    until("22:00-02:10", "2026-10-03T14:00:00Z", "2026-10-03T15:30:00Z");
    until("02:20-03:00", "2026-10-03T15:29:59Z", NULL);
    until("02:20-03:00", "2026-10-03T15:30:00Z", "2026-10-03T16:00:00Z");
}

/* A clock that leaves a day out: there is no 2011-12-30 in Samoa. */
static void test_a_day_that_is_left_out(void **state)
{
    (void)state;
    in_zone("Pacific/Apia");
    until("fri 00:00-24:00", "2011-12-30T09:59:59Z", NULL);
    until("fri 00:00-24:00", "2011-12-30T10:00:00Z", NULL);
    until("thu,sat 00:00-24:00", "2011-12-29T20:00:00Z", "2011-12-31T10:00:00Z");
}

/* The one minute that is left falls into the gap: then it is the next week's. */
static void test_a_week_with_one_minute(void **state)
{
    (void)state;
    in_zone("Europe/London");
    until("mon-sat 00:00-24:00;sun 00:00-01:30;sun 01:31-24:00", "2026-03-25T00:00:00Z",
          "2026-04-05T00:30:00Z");
    until("mon-sat 00:00-24:00;sun 00:00-01:30;sun 01:31-24:00", "2026-06-01T00:00:00Z",
          "2026-06-07T00:30:00Z");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_window_is_quiet_from_its_start_to_before_its_end),
        cmocka_unit_test(test_windows_over_midnight_belong_to_the_day_on_which_they_begin),
        cmocka_unit_test(test_windows_that_touch_or_overlap_are_one),
        cmocka_unit_test(test_what_cannot_be_read_is_refused_with_what_is_expected),
        cmocka_unit_test(test_there_may_be_many_windows_but_not_any_number),
        cmocka_unit_test(test_london),
        cmocka_unit_test(test_new_york),
        cmocka_unit_test(test_lord_howe),
        cmocka_unit_test(test_a_day_that_is_left_out),
        cmocka_unit_test(test_a_week_with_one_minute),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
