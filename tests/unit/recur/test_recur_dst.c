/* SPDX-License-Identifier: MIT */
/* What happens when the clock is changed. */
#include "support/recurs.h"

#define MOVED  " moved"
#define FIRST  " first"
#define SECOND " second"

struct row {
    const char *zone;
    enum recur_kind kind;
    const char *rule, *start;
    const char *expected[6];
};

static const struct row rows[] = {
    /* The clock is set forward: 01:00 becomes 02:00. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2026-03-28T01:30:00Z",
      { "2026-03-28T01:30:00+00:00", "2026-03-29T02:00:00+01:00" MOVED,
        "2026-03-30T01:30:00+01:00" } },
    /* And back: 02:00 becomes 01:00. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2026-10-24T00:30:00Z",
      { "2026-10-24T01:30:00+01:00", "2026-10-25T01:30:00+01:00" FIRST,
        "2026-10-26T01:30:00+00:00" } },
    /* Times that meet at the end of a gap are one. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=DAILY;BYHOUR=1,2;BYMINUTE=0,30",
      "2026-03-29T00:00:00Z",
      { "2026-03-29T02:00:00+01:00" MOVED, "2026-03-29T02:30:00+01:00",
        "2026-03-30T01:00:00+01:00" } },
    { "America/New_York",
      RECUR_CRON,
      "*/15 2 * * *",
      "2026-03-08T00:00:00Z",
      { "2026-03-08T03:00:00-04:00" MOVED, "2026-03-09T02:00:00-04:00" } },
    { "America/New_York",
      RECUR_CRON,
      "30 2 * * *",
      "2026-03-07T00:00:00Z",
      { "2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00" MOVED,
        "2026-03-09T02:30:00-04:00" } },
    /* Once, if the hour is named; at each, if it is not. */
    { "America/New_York",
      RECUR_CRON,
      "*/30 1 * * *",
      "2026-11-01T04:00:00Z",
      { "2026-11-01T01:00:00-04:00" FIRST, "2026-11-01T01:30:00-04:00" FIRST,
        "2026-11-02T01:00:00-05:00" } },
    { "America/New_York",
      RECUR_CRON,
      "*/30 * * * *",
      "2026-11-01T05:00:00Z",
      { "2026-11-01T01:00:00-04:00" FIRST, "2026-11-01T01:30:00-04:00" FIRST,
        "2026-11-01T01:00:00-05:00" SECOND, "2026-11-01T01:30:00-05:00" SECOND,
        "2026-11-01T02:00:00-05:00" } },
    { "America/New_York",
      RECUR_RRULE,
      "FREQ=HOURLY;BYMINUTE=45",
      "2026-11-01T05:00:00Z",
      { "2026-11-01T01:45:00-04:00" FIRST, "2026-11-01T01:45:00-05:00" SECOND,
        "2026-11-01T02:45:00-05:00" } },
    { "Europe/London",
      RECUR_CRON,
      "30 * * * *",
      "2026-03-29T00:00:00Z",
      { "2026-03-29T00:30:00+00:00", "2026-03-29T02:30:00+01:00" } },
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=HOURLY;BYHOUR=0,1,2,3",
      "2026-03-29T00:30:00Z",
      { "2026-03-29T00:30:00+00:00", "2026-03-29T02:00:00+01:00" MOVED,
        "2026-03-29T02:30:00+01:00" } },
    /* Elapsed time takes no notice. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=HOURLY;INTERVAL=6",
      "2026-10-24T18:00:00Z",
      { "2026-10-24T19:00:00+01:00", "2026-10-25T01:00:00+01:00" FIRST, "2026-10-25T06:00:00+00:00",
        "2026-10-25T12:00:00+00:00" } },
    { "Europe/London",
      RECUR_EVERY,
      "30m",
      "2026-10-25T00:30:00Z",
      { "2026-10-25T01:30:00+01:00" FIRST, "2026-10-25T01:00:00+00:00" SECOND,
        "2026-10-25T01:30:00+00:00" SECOND, "2026-10-25T02:00:00+00:00" } },
    /* Half an hour: 02:00 becomes 01:30 in April, 02:30 in October. */
    { "Australia/Lord_Howe",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2026-10-02T15:45:00Z",
      { "2026-10-03T02:15:00+10:30", "2026-10-04T02:30:00+11:00" MOVED,
        "2026-10-05T02:15:00+11:00" } },
    { "Australia/Lord_Howe",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2026-04-03T14:45:00Z",
      { "2026-04-04T01:45:00+11:00", "2026-04-05T01:45:00+11:00" FIRST,
        "2026-04-06T01:45:00+10:30" } },
    { "Australia/Lord_Howe",
      RECUR_RRULE,
      "FREQ=HOURLY",
      "2026-04-04T14:10:00Z",
      { "2026-04-05T01:10:00+11:00", "2026-04-05T01:40:00+10:30" SECOND,
        "2026-04-05T02:40:00+10:30" } },
    /* A quarter of an hour, for good. */
    { "Asia/Kathmandu",
      RECUR_RRULE,
      "FREQ=DAILY",
      "1985-12-30T18:40:00Z",
      { "1985-12-31T00:10:00+05:30", "1986-01-01T00:15:00+05:45" MOVED,
        "1986-01-02T00:10:00+05:45" } },
    /* An hour back for Ramadan. */
    { "Africa/Casablanca",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2026-02-14T01:30:00Z",
      { "2026-02-14T02:30:00+01:00", "2026-02-15T02:30:00+01:00" FIRST,
        "2026-02-16T02:30:00+00:00" } },
    { "Africa/Casablanca",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2026-03-21T02:30:00Z",
      { "2026-03-21T02:30:00+00:00", "2026-03-22T03:00:00+01:00" MOVED,
        "2026-03-23T02:30:00+01:00" } },
    /* At midnight: a day without 00:30, and 23:00 twice on the day before. */
    { "America/Sao_Paulo",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2017-10-14T03:30:00Z",
      { "2017-10-14T00:30:00-03:00", "2017-10-15T01:00:00-02:00" MOVED,
        "2017-10-16T00:30:00-02:00" } },
    { "America/Sao_Paulo",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2018-02-17T01:30:00Z",
      { "2018-02-16T23:30:00-02:00", "2018-02-17T23:30:00-02:00" FIRST,
        "2018-02-18T23:30:00-03:00" } },
    { "America/Sao_Paulo",
      RECUR_RRULE,
      "FREQ=HOURLY;BYDAY=SA",
      "2018-02-18T00:30:00Z",
      { "2018-02-17T22:30:00-02:00", "2018-02-17T23:30:00-02:00" FIRST,
        "2018-02-17T23:30:00-03:00" SECOND, "2018-02-24T00:30:00-03:00" } },
    /* A day that was not: after December 29 came December 31. */
    { "Pacific/Apia",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2011-12-29T19:00:00Z",
      { "2011-12-29T09:00:00-10:00", "2011-12-31T00:00:00+14:00" MOVED, "2011-12-31T09:00:00+14:00",
        "2012-01-01T09:00:00+14:00" } },
    { "Pacific/Apia",
      RECUR_RRULE,
      "FREQ=WEEKLY;BYDAY=FR",
      "2011-12-23T19:00:00Z",
      { "2011-12-23T09:00:00-10:00", "2011-12-31T00:00:00+14:00" MOVED,
        "2012-01-06T09:00:00+14:00" } },
    /* Far beyond the tables of the zone files. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2440-03-24T01:30:00Z",
      { "2440-03-24T01:30:00+00:00", "2440-03-25T02:00:00+01:00" MOVED,
        "2440-03-26T01:30:00+01:00" } },
    { "America/New_York",
      RECUR_CRON,
      "0 0 29 2 *",
      "2396-01-01T00:00:00Z",
      { "2396-02-29T00:00:00-05:00", "2400-02-29T00:00:00-05:00", "2404-02-29T00:00:00-05:00" } },
    { "Australia/Lord_Howe",
      RECUR_RRULE,
      "FREQ=YEARLY;BYMONTH=10;BYDAY=1SU;BYHOUR=2;BYMINUTE=5",
      "2490-01-01T00:00:00Z",
      { "2490-10-01T02:30:00+11:00" MOVED, "2491-10-07T02:30:00+11:00" MOVED } },
    /* A start within the second of two hours: nothing is before it. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=DAILY",
      "2026-10-25T01:30:00Z",
      { "2026-10-26T01:30:00+00:00", "2026-10-27T01:30:00+00:00" } },
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=HOURLY;BYMINUTE=0,30",
      "2026-10-25T00:45:00Z",
      { "2026-10-25T01:00:00+00:00" SECOND, "2026-10-25T01:30:00+00:00" SECOND,
        "2026-10-25T02:00:00+00:00" } },
    /* A start at the end of a gap: what was within it is before the start. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=DAILY;BYHOUR=1;BYMINUTE=30",
      "2026-03-29T01:00:00Z",
      { "2026-03-30T01:30:00+01:00" } },
    /* UNTIL within a gap, and COUNT of times that meet. */
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=DAILY;UNTIL=20260329T010000Z",
      "2026-03-28T01:30:00Z",
      { "2026-03-28T01:30:00+00:00", "2026-03-29T02:00:00+01:00" MOVED } },
    { "Europe/London",
      RECUR_RRULE,
      "FREQ=MINUTELY;BYHOUR=1;COUNT=62",
      "2026-03-29T00:00:00Z",
      { "2026-03-29T02:00:00+01:00" MOVED, "2026-03-30T01:00:00+01:00",
        "2026-03-30T01:01:00+01:00" } },
};

static bool row_ends(const struct row *row)
{
    return strstr(row->rule, "COUNT=") || strstr(row->rule, "UNTIL=");
}

static void check_row(const struct row *row)
{
    struct zone *z = zone_named(row->zone);
    struct recur *r = recur_of(row->kind, row->rule, z, row->start);
    struct recur_state with = { 0 };
    struct recur_occurrence o, again;
    int64_t after = 0;
    size_t i;
    for (i = 0; i < 6 && row->expected[i]; i++) {
        static const char *const notes[] = { "", MOVED, FIRST, SECOND };
        char text[RECUR_TEXT + 64];
        size_t len;
        assert_int_equal(recur_next(r, after, &with, &o), 1);
        assert_int_equal(recur_next(r, after, NULL, &again), 1);
        assert_int_equal(o.at_ms, again.at_ms);
        len = recur_format(&o, text);
        snprintf(text + len, sizeof text - len, "%s", notes[o.note]);
        if (strcmp(text, row->expected[i]) != 0)
            fail_msg("%s, %s from %s: %s, not %s", row->zone, row->rule, row->start, text,
                     row->expected[i]);
        after = o.at_ms;
    }
    assert_int_equal(recur_next(r, after, &with, &o), !row_ends(row));
    assert_int_equal(recur_next(r, after, NULL, &o), !row_ends(row));
    recur_free(r);
    zone_free(z);
}

static void changes_of_the_clock_move_and_repeat_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
}

static void the_nominal_time_is_the_one_that_was_asked_for(void **state)
{
    struct zone *z = zone_named("Europe/London");
    struct recur *r = recur_of(RECUR_RRULE, "FREQ=DAILY", z, "2026-03-28T01:30:00Z");
    struct recur_occurrence o[2];
    (void)state;
    assert_int_equal(recur_preview(r, 0, 2, o, NULL), 2);
    assert_int_equal(o[1].at_ms, moment_of("2026-03-29T01:00:00Z"));
    assert_int_equal(o[1].nominal_ms, moment_of("2026-03-29T01:30:00Z")); /* local */
    recur_free(r);
    zone_free(z);
}

static void notes_say_what_happens(void **state)
{
    static const struct {
        const char *zone, *rule, *start, *text;
    } notes[] = {
        { "Europe/Berlin", "FREQ=DAILY", "2027-03-27T01:30:00Z",
          "02:30 does not exist on this day: runs at the end of the gap" },
        { "Europe/Berlin", "FREQ=DAILY", "2027-10-30T00:30:15Z",
          "02:30:15 exists twice on this day: this is the first" },
        { "Europe/Berlin", "FREQ=HOURLY", "2027-10-31T00:00:00Z",
          "02:00 exists twice on this day: this is the second" },
        { "Pacific/Apia", "FREQ=DAILY", "2011-12-29T19:00:00Z",
          "2011-12-30 09:00 does not exist: runs at the end of the gap" },
        { "UTC", "FREQ=DAILY", "2027-03-27T01:30:00Z", "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct zone *z = zone_named(notes[i].zone);
        struct recur *r = recur_of(RECUR_RRULE, notes[i].rule, z, notes[i].start);
        struct recur_occurrence o[2];
        char text[RECUR_NOTE];
        assert_int_equal(recur_preview(r, 0, 2, o, NULL), 2);
        assert_int_equal(recur_note(&o[1], text), strlen(notes[i].text));
        assert_string_equal(text, notes[i].text);
        recur_free(r);
        zone_free(z);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_of_the_clock_move_and_repeat_nothing_else),
        cmocka_unit_test(the_nominal_time_is_the_one_that_was_asked_for),
        cmocka_unit_test(notes_say_what_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
