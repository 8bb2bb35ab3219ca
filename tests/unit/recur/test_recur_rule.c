/* SPDX-License-Identifier: MIT */
/* Rules as text: what is refused, with what is wrong, where, and what is expected; and cron. */
#include "support/recurs.h"

static void assert_refused(enum recur_kind kind, struct str text, size_t offset, const char *hint)
{
    struct zone *z;
    struct rule_error error = { 99999, "" };
    struct recur *r = NULL;
    assert_int_equal(zone_new_utc(&z), 0);
    struct recur_spec spec = { kind, text, z, 0, 1, { 0 }, { 0 } };
    if (recur_new(&spec, &r, &error) != BELFRY_INVALID)
        fail_msg("%.*s was accepted", STR_ARG(text));
    assert_null(r);
    if (!strstr(error.text, hint) || !strstr(error.text, "expected") || error.offset != offset)
        fail_msg("%.*s: \"%s\" at %zu does not say \"%s\" at %zu", STR_ARG(text), error.text,
                 error.offset, hint, offset);
    zone_free(z);
}

static void what_is_no_rrule_is_refused_with_the_reason(void **state)
{
    static const struct {
        const char *text;
        size_t offset;
        const char *hint;
    } rows[] = {
        { "", 0, "nothing is there" },
        { "FREQ", 4, "FREQ has no value" },
        { "FREQ=", 5, "SECONDLY, MINUTELY" },
        { "FREQ=FORTNIGHTLY", 5, "FORTNIGHTLY" },
        { "INTERVAL=2", 10, "FREQ is missing" },
        { "FREQ=DAILY;", 11, "no part" },
        { "FREQ=DAILY;;COUNT=1", 11, "no part" },
        { "FREQ=DAILY COUNT=1", 10, "; or the end" },
        { "FREQ=DAILY;EVERY=2", 11, "EVERY" },
        { "FREQ=DAILY;FREQ=DAILY", 11, "twice" },
        { "FREQ=DAILY;INTERVAL=0", 20, "from 1 to 2147483647" },
        { "FREQ=DAILY;INTERVAL=2147483648", 20, "from 1 to 2147483647" },
        { "FREQ=DAILY;INTERVAL=-1", 20, "no number: -1" },
        { "FREQ=DAILY;COUNT=0", 17, "from 1 to 1000000" },
        { "FREQ=DAILY;COUNT=1000001", 17, "from 1 to 1000000" },
        { "FREQ=DAILY;COUNT=99999999999999999999999", 17, "from 1 to 1000000" },
        { "FREQ=DAILY;COUNT=1;UNTIL=20260101", 17, "both" },
        { "FREQ=DAILY;UNTIL=2026", 21, "20261115T204300Z" },
        { "FREQ=DAILY;UNTIL=20260230", 17, "no such date" },
        { "FREQ=DAILY;UNTIL=20260101T25", 28, "time of day" },
        { "FREQ=DAILY;UNTIL=20260101T250000", 17, "no such time" },
        { "FREQ=DAILY;UNTIL=20260101T000000ZZ", 33, "; or the end" },
        { "FREQ=DAILY;BYHOUR=24", 18, "hours from 0 to 23" },
        { "FREQ=DAILY;BYHOUR=9,,10", 20, "hours from 0 to 23" },
        { "FREQ=DAILY;BYHOUR=9,", 20, "hours from 0 to 23" },
        { "FREQ=DAILY;BYHOUR=-1", 18, "hours from 0 to 23" },
        { "FREQ=DAILY;BYMINUTE=60", 20, "minutes from 0 to 59" },
        { "FREQ=DAILY;BYSECOND=61", 20, "seconds from 0 to 60" },
        { "FREQ=DAILY;BYMONTH=13", 19, "months from 1 to 12" },
        { "FREQ=DAILY;BYMONTH=0", 19, "months from 1 to 12" },
        { "FREQ=MONTHLY;BYMONTHDAY=1,0", 26, "1 to 31" },
        { "FREQ=MONTHLY;BYMONTHDAY=-32", 24, "-32" },
        { "FREQ=YEARLY;BYYEARDAY=367", 22, "1 to 366" },
        { "FREQ=YEARLY;BYWEEKNO=54", 21, "1 to 53" },
        { "FREQ=MONTHLY;BYDAY=MON", 19, "MO, 2TU or -1FR" },
        { "FREQ=MONTHLY;BYDAY=0MO", 19, "0MO" },
        { "FREQ=MONTHLY;BYDAY=54MO", 19, "54MO" },
        { "FREQ=MONTHLY;BYDAY=+MO", 19, "+MO" },
        { "FREQ=MONTHLY;BYDAY=MO-FR", 21, "; or the end" },
        { "FREQ=WEEKLY;WKST=XX", 17, "MO, TU" },
        { "FREQ=MONTHLY;BYWEEKNO=3", 22, "FREQ=YEARLY only" },
        { "FREQ=DAILY;BYYEARDAY=3", 21, "DAILY, WEEKLY or MONTHLY" },
        { "FREQ=WEEKLY;BYMONTHDAY=3", 23, "FREQ=WEEKLY" },
        { "FREQ=WEEKLY;BYDAY=1MO", 18, "MONTHLY or YEARLY only" },
        { "FREQ=YEARLY;BYDAY=1MO;BYWEEKNO=2", 18, "BYWEEKNO" },
        { "FREQ=DAILY;BYSETPOS=1", 20, "nothing to choose from" },
        { "FREQ=DAILY;BYHOUR=1;BYSETPOS=0", 29, "1 to 366" },
        { "FREQ=DAILY;BYHOUR=1;BYSETPOS=367", 29, "1 to 366" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(RECUR_RRULE, str_of(rows[i].text), rows[i].offset, rows[i].hint);
    assert_refused(RECUR_RRULE, STR("FREQ=DAILY\0"), 10, "; or the end");
}

static void what_is_no_cron_is_refused_with_the_reason(void **state)
{
    static const struct {
        const char *text;
        size_t offset;
        const char *hint;
    } rows[] = {
        { "", 0, "five fields" },
        { "   ", 3, "only 0" },
        { "* * * *", 7, "only 4" },
        { "* * * * * *", 10, "five fields, without seconds" },
        { "60 * * * *", 0, "0 to 59" },
        { "* 24 * * *", 2, "0 to 23" },
        { "* * 0 * *", 4, "1 to 31" },
        { "* * 32 * *", 4, "1 to 31" },
        { "* * * 13 *", 6, "JAN to DEC" },
        { "* * * FOO *", 6, "FOO" },
        { "* * * * 8", 8, "SUN to SAT" },
        { "* * * * MONDAY", 8, "MONDAY" },
        { "5-1 * * * *", 0, "5-1" },
        { "*/0 * * * *", 0, "*/0" },
        { "*/60 * * * *", 0, "*/60" },
        { "1,,2 * * * *", 2, "minute" },
        { "1, * * * *", 2, "minute" },
        { "1- * * * *", 0, "minute" },
        { "? * * * *", 0, "minute" },
        { "* * L * *", 4, "day of month" },
        { "* * 15W * *", 4, "day of month" },
        { "* * * * 5#2", 8, "day of week" },
        { "-1 * * * *", 0, "minute" },
        { "H(0-60) * * * *", 0, "minute" },
        { "H(5) * * * *", 0, "minute" },
        { "H(0-5 * * * *", 0, "minute" },
        { "H/0 * * * *", 0, "minute" },
        { "@reboot", 0, "@hourly" },
        { "@", 0, "@hourly" },
        { "@daily x", 0, "@hourly" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(RECUR_CRON, str_of(rows[i].text), rows[i].offset, rows[i].hint);
}

static void long_texts_and_bad_durations_and_dates_are_refused(void **state)
{
    static char text[RULE_TEXT_MAX + 2];
    struct rule_error error;
    struct recur *r;
    struct zone *z;
    (void)state;
    memset(text, '1', sizeof text);
    assert_refused(RECUR_RRULE, (struct str){ text, RULE_TEXT_MAX + 1 }, RULE_TEXT_MAX, "too long");
    assert_refused(RECUR_CRON, (struct str){ text, RULE_TEXT_MAX + 1 }, RULE_TEXT_MAX, "too long");
    assert_refused(RECUR_EVERY, STR("0"), 0, "would never end");
    assert_refused(RECUR_EVERY, STR("soon"), 0, "duration such as");
    assert_int_equal(zone_new_utc(&z), 0);
    struct recur_spec spec = { RECUR_EVERY, STR("1s"), z, 0, 0, STR("20260101,x"), { 0 } };
    assert_int_equal(recur_new(&spec, &r, &error), BELFRY_INVALID);
    assert_int_equal(error.offset, 9);
    assert_non_null(strstr(error.text, "EXDATE: no date at offset 9"));
    spec.exdate = STR("");
    spec.rdate = STR("20260101 20260102");
    assert_int_equal(recur_new(&spec, &r, &error), BELFRY_INVALID);
    assert_non_null(strstr(error.text, "RDATE: "));
    assert_non_null(strstr(error.text, "a comma or the end"));
    zone_free(z);
}

static void cron_fires_at(const char *text, uint64_t seed, const char *from, const char *expected)
{
    struct zone *z;
    struct rule_error error;
    struct recur_occurrence o;
    struct recur *r;
    char got[TIME_TEXT];
    assert_int_equal(zone_new_utc(&z), 0);
    struct recur_spec spec = { RECUR_CRON, str_of(text), z, moment_of(from), seed, { 0 }, { 0 } };
    if (recur_new(&spec, &r, &error) != 0)
        fail_msg("%s: %s", text, error.text);
    if (recur_next(r, spec.start_ms - 1, NULL, &o) == 0)
        snprintf(got, sizeof got, "never");
    else
        time_format_moment(o.at_ms, got);
    if (strncmp(got, expected, strlen(expected)) != 0)
        fail_msg("%s after %s: %s, not %s", text, from, got, expected);
    recur_free(r);
    zone_free(z);
}

static void cron_has_names_ranges_steps_and_lists(void **state)
{
    static const struct {
        const char *text, *from, *expected;
    } rows[] = {
        { "@hourly", "2026-01-01T00:00:01Z", "2026-01-01T01:00" },
        { " @Daily ", "2026-01-01T00:00:01Z", "2026-01-02T00:00" },
        { "@midnight", "2026-01-01T00:00:01Z", "2026-01-02T00:00" },
        { "@weekly", "2026-01-01T00:00:01Z", "2026-01-04T00:00" },
        { "@monthly", "2026-01-01T00:00:01Z", "2026-02-01T00:00" },
        { "@yearly", "2026-01-01T00:00:01Z", "2027-01-01T00:00" },
        { "* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00" },
        { "*/15 * * * *", "2026-01-01T00:46:00Z", "2026-01-01T01:00" },
        { "5/20 * * * *", "2026-01-01T00:26:00Z", "2026-01-01T00:45" },
        { "7-9,30-40/5 * * * *", "2026-01-01T00:10:00Z", "2026-01-01T00:30" },
        { "\t0  9\t* * mon-FRI ", "2026-01-02T10:00:00Z", "2026-01-05T09:00" },
        { "0 9 * * 7", "2026-01-01T00:00:00Z", "2026-01-04T09:00" },
        { "0 9 * * 0", "2026-01-01T00:00:00Z", "2026-01-04T09:00" },
        { "0 9 * * FRI-SUN", "2026-01-03T10:00:00Z", "2026-01-04T09:00" },
        { "0 9 * * 6-7", "2026-01-01T10:00:00Z", "2026-01-03T09:00" },
        { "0 9 1 jan,Jul *", "2026-01-02T00:00:00Z", "2026-07-01T09:00" },
        /* Either day field, unless one begins with a star. */
        { "0 0 13 * FRI", "2026-01-01T00:00:00Z", "2026-01-02T00:00" },
        { "0 0 13 * FRI", "2026-01-10T00:00:00Z", "2026-01-13T00:00" },
        { "0 0 */2 * FRI", "2026-01-01T00:00:00Z", "2026-01-09T00:00" },
        { "0 0 13 * *", "2026-01-01T00:00:00Z", "2026-01-13T00:00" },
        { "0 0 1-31 * MON", "2026-01-01T00:00:00Z", "2026-01-01T00:00" },
        { "0 0 30 2 *", "2026-01-01T00:00:00Z", "never" },
        { "0 0 31 4,6,9,11 *", "2026-01-01T00:00:00Z", "never" },
        { "0 0 29 2 *", "2097-01-01T00:00:00Z", "2104-02-29T00:00" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cron_fires_at(rows[i].text, 1, rows[i].from, rows[i].expected);
}

/* The values of a field that seeds from 0 to n-1 choose, as bits. */
static uint64_t values_of(const char *text, int n, int64_t unit_ms, int64_t values)
{
    uint64_t seen = 0;
    struct zone *z;
    assert_int_equal(zone_new_utc(&z), 0);
    for (int seed = 0; seed < n; seed++) {
        struct recur_spec spec = { RECUR_CRON, str_of(text), z, 0, (uint64_t)seed, { 0 }, { 0 } };
        struct recur_occurrence o;
        struct rule_error error;
        struct recur *r;
        assert_int_equal(recur_new(&spec, &r, &error), 0);
        assert_int_equal(recur_next(r, -1, NULL, &o), 1);
        seen |= UINT64_C(1) << (o.at_ms / unit_ms % values);
        recur_free(r);
    }
    zone_free(z);
    return seen;
}

static void h_spreads_by_the_seed_and_stays_within_its_range(void **state)
{
    (void)state;
    assert_int_equal(values_of("H * * * *", 2000, 60000, 60), (UINT64_C(1) << 60) - 1);
    assert_int_equal(values_of("0 H * * *", 2000, 3600000, 24), 0xffffff);
    assert_int_equal(values_of("H(0-29) * * * *", 1000, 60000, 60), (UINT64_C(1) << 30) - 1);
    assert_int_equal(values_of("H/15 * * * *", 500, 60000, 60), (UINT64_C(1) << 15) - 1);
    assert_int_equal(values_of("H(20-49)/10 * * * *", 500, 60000, 60), ((UINT64_C(1) << 10) - 1)
                                                                           << 20);
    assert_int_equal(values_of("0 0 H * *", 1000, 86400000, 31), 0xfffffff);
    assert_int_equal(values_of("H H * * H", 1, 60000, 60), values_of("H H * * H", 1, 60000, 60));
    cron_fires_at("H/15 * * * *", 3, "2026-01-01T00:00:00Z", "2026-01-01T00:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_rrule_is_refused_with_the_reason),
        cmocka_unit_test(what_is_no_cron_is_refused_with_the_reason),
        cmocka_unit_test(long_texts_and_bad_durations_and_dates_are_refused),
        cmocka_unit_test(cron_has_names_ranges_steps_and_lists),
        cmocka_unit_test(h_spreads_by_the_seed_and_stays_within_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
