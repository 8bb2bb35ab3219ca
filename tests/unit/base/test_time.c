/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

#include "base/error.h"
#include "base/time.h"

typedef int (*parse_fn)(struct str text, int64_t *ret_ms, const char **why);

static void assert_parses(parse_fn parse, const char *text, int64_t expected)
{
    int64_t ms = -1;
    const char *why = "none";
    if (parse(str_of(text), &ms, &why) != 0)
        fail_msg("%s: %s", text, why);
    if (ms != expected)
        fail_msg("%s: %jd is not %jd", text, (intmax_t)ms, (intmax_t)expected);
}

/* The reason must contain `hint`, and the output stay untouched. */
static void assert_refused(parse_fn parse, struct str text, const char *hint)
{
    int64_t ms = -77;
    const char *why = NULL;
    if (parse(text, &ms, &why) != BELFRY_INVALID)
        fail_msg("%.*s was accepted as %jd", STR_ARG(text), (intmax_t)ms);
    assert_int_equal(ms, -77);
    assert_non_null(why);
    if (!strstr(why, hint))
        fail_msg("%.*s: \"%s\" does not mention \"%s\"", STR_ARG(text), why, hint);
}

static void durations_of_each_unit_and_their_sums_are_read(void **state)
{
    (void)state;
    assert_parses(time_parse_duration, "0", 0);
    assert_parses(time_parse_duration, "0ms", 0);
    assert_parses(time_parse_duration, "250", 250);
    assert_parses(time_parse_duration, "007", 7);
    assert_parses(time_parse_duration, "250ms", 250);
    assert_parses(time_parse_duration, "10s", 10000);
    assert_parses(time_parse_duration, "5m", 300000);
    assert_parses(time_parse_duration, "1h30m", 5400000);
    assert_parses(time_parse_duration, "90m", 5400000);
    assert_parses(time_parse_duration, "2d", 172800000);
    assert_parses(time_parse_duration, "1w", 604800000);
    assert_parses(time_parse_duration, "1w1d1h1m1s1ms", 694861001);
    assert_parses(time_parse_duration, "1m1ms", 60001);
    assert_parses(time_parse_duration, "1h90m", 9000000);
}

static void the_last_part_may_have_a_fraction(void **state)
{
    (void)state;
    assert_parses(time_parse_duration, "1.5s", 1500);
    assert_parses(time_parse_duration, "0.001s", 1);
    assert_parses(time_parse_duration, "0.0009s", 0);
    assert_parses(time_parse_duration, "1.9999s", 1999);
    assert_parses(time_parse_duration, "1m1.25s", 61250);
    assert_parses(time_parse_duration, "0.5w", 302400000);
    assert_parses(time_parse_duration, "0.1h", 360000);
    assert_parses(time_parse_duration, "1.99999999999999999999999999999w", 1209599999);
    assert_refused(time_parse_duration, STR("1.5h30m"), "last part");
    assert_refused(time_parse_duration, STR("1.s"), "digits must follow");
    assert_refused(time_parse_duration, STR("1."), "digits must follow");
    assert_refused(time_parse_duration, STR("1.5"), "unit is missing");
    assert_refused(time_parse_duration, STR(".5s"), "such as");
    assert_refused(time_parse_duration, STR("1.5.5s"), "such as");
}

static void what_is_no_duration_is_refused_with_the_reason(void **state)
{
    (void)state;
    assert_refused(time_parse_duration, (struct str){ NULL, 0 }, "such as");
    assert_refused(time_parse_duration, STR("s"), "such as");
    assert_refused(time_parse_duration, STR(" 1s"), "such as");
    assert_refused(time_parse_duration, STR("1s "), "such as");
    assert_refused(time_parse_duration, STR("1h 30m"), "such as");
    assert_refused(time_parse_duration, STR("1S"), "such as");
    assert_refused(time_parse_duration, STR("1y"), "such as");
    assert_refused(time_parse_duration, STR("1s\0"), "such as");
    assert_refused(time_parse_duration, STR("+1s"), "such as");
    assert_refused(time_parse_duration, STR("-1s"), "negative");
    assert_refused(time_parse_duration, STR("-1"), "negative");
    assert_refused(time_parse_duration, STR("1h30"), "unit is missing");
    assert_refused(time_parse_duration, STR("1m1h"), "larger ones first");
    assert_refused(time_parse_duration, STR("1s1s"), "once");
    assert_refused(time_parse_duration, STR("1ms1s"), "larger ones first");
}

static void durations_are_bounded_and_never_clamped(void **state)
{
    (void)state;
    assert_parses(time_parse_duration, "253402300799999", TIME_DURATION_MAX);
    assert_parses(time_parse_duration, "253402300799s999ms", TIME_DURATION_MAX);
    assert_refused(time_parse_duration, STR("253402300800000"), "too long");
    assert_refused(time_parse_duration, STR("253402300800s"), "too long");
    assert_refused(time_parse_duration, STR("253402300799s1000ms"), "too long");
    assert_refused(time_parse_duration, STR("418985w418985d253402300799999ms"), "too long");
    assert_refused(time_parse_duration, STR("9223372036854775807"), "too long");
    assert_refused(time_parse_duration, STR("9223372036854775808"), "too long");
    assert_refused(time_parse_duration, STR("99999999999999999999999999w"), "too long");
    assert_refused(time_parse_duration, STR("18446744073709551616ms"), "too long");
}

static void formatted_durations_parse_back(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        { 0, "0ms" },
        { 1, "1ms" },
        { 1500, "1s500ms" },
        { 5400000, "1h30m" },
        { 604800000, "1w" },
        { 2592000000, "30d" },
        { TIME_DURATION_MAX, "2932896d23h59m59s999ms" },
    };
    char text[TIME_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(time_format_duration(rows[i].ms, text), strlen(rows[i].text));
        assert_string_equal(text, rows[i].text);
        assert_parses(time_parse_duration, text, rows[i].ms);
    }
    for (int64_t ms = 1; ms < TIME_DURATION_MAX; ms = ms * 3 + 7) {
        time_format_duration(ms, text);
        assert_parses(time_parse_duration, text, ms);
    }
    assert_true(time_format_duration(INT64_MIN, text) < TIME_TEXT);
    time_format_duration(-1500, text);
    assert_string_equal(text, "-1s500ms");
}

static void moments_are_read_with_their_zone(void **state)
{
    (void)state;
    assert_parses(time_parse_moment, "0", 0);
    assert_parses(time_parse_moment, "1700000000123", 1700000000123);
    assert_parses(time_parse_moment, "1970-01-01T00:00:00Z", 0);
    assert_parses(time_parse_moment, "2026-11-15T20:43:00Z", 1794775380000);
    assert_parses(time_parse_moment, "2026-11-15t20:43:00z", 1794775380000);
    assert_parses(time_parse_moment, "2026-11-15T21:43:00+01:00", 1794775380000);
    assert_parses(time_parse_moment, "2026-11-15T15:13:00-05:30", 1794775380000);
    assert_parses(time_parse_moment, "2026-11-15T20:43:00-00:00", 1794775380000);
    assert_parses(time_parse_moment, "1969-12-31T23:00:00-01:00", 0);
    assert_parses(time_parse_moment, "2000-02-29T12:00:00Z", 951825600000);
    assert_parses(time_parse_moment, "9999-12-31T23:59:59.999Z", TIME_MOMENT_MAX);
}

static void fractions_of_seconds_are_cut_to_milliseconds(void **state)
{
    (void)state;
    assert_parses(time_parse_moment, "1970-01-01T00:00:00.5Z", 500);
    assert_parses(time_parse_moment, "1970-01-01T00:00:00.001Z", 1);
    assert_parses(time_parse_moment, "1970-01-01T00:00:00.0019999Z", 1);
    assert_parses(time_parse_moment, "1970-01-01T00:00:00.99999999999999999999Z", 999);
    assert_refused(time_parse_moment, STR("1970-01-01T00:00:00.Z"), "such as");
    assert_refused(time_parse_moment, STR("1970-01-01T00:00:00,5Z"), "such as");
}

static void dates_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    assert_refused(time_parse_moment, STR("2026-00-15T20:43:00Z"), "month");
    assert_refused(time_parse_moment, STR("2026-13-15T20:43:00Z"), "month");
    assert_refused(time_parse_moment, STR("2026-11-00T20:43:00Z"), "day");
    assert_refused(time_parse_moment, STR("2026-11-31T20:43:00Z"), "day");
    assert_refused(time_parse_moment, STR("2026-02-29T20:43:00Z"), "day");
    assert_refused(time_parse_moment, STR("2100-02-29T20:43:00Z"), "day");
    assert_refused(time_parse_moment, STR("2026-11-15T24:00:00Z"), "time of day");
    assert_refused(time_parse_moment, STR("2026-11-15T20:60:00Z"), "time of day");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:61Z"), "second");
    assert_refused(time_parse_moment, STR("2026-12-31T23:59:60Z"), "leap second");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:00+24:00"), "offset");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:00+01:60"), "offset");
    assert_parses(time_parse_moment, "2096-02-29T00:00:00Z", 3981312000000);
    assert_parses(time_parse_moment, "2400-02-29T00:00:00Z", 13574563200000);
}

static void what_is_no_moment_is_refused_with_the_reason(void **state)
{
    static const char whole[] = "2026-11-15T20:43:00.5+01:00";
    (void)state;
    assert_refused(time_parse_moment, (struct str){ NULL, 0 }, "such as");
    assert_refused(time_parse_moment, STR("tomorrow"), "such as");
    assert_refused(time_parse_moment, STR("12a"), "such as");
    assert_refused(time_parse_moment, STR("1.5"), "such as");
    assert_refused(time_parse_moment, STR("-"), "such as");
    assert_refused(time_parse_moment, STR("2026-11-15 20:43:00Z"), "such as");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:00"), "zone is missing");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:00.5"), "zone is missing");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:00ZZ"), "such as");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:00+0100"), "such as");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43:00+01:00x"), "such as");
    assert_refused(time_parse_moment, STR("2026-11-15T20:43Z"), "such as");
    assert_refused(time_parse_moment, STR("20261115T204300Z"), "such as");
    for (size_t n = 5; n < sizeof whole - 1; n++)
        assert_refused(time_parse_moment, (struct str){ whole, n }, "2026-11-15T");
}

static void moments_are_bounded_and_never_clamped(void **state)
{
    (void)state;
    assert_parses(time_parse_moment, "253402300799999", TIME_MOMENT_MAX);
    assert_refused(time_parse_moment, STR("253402300800000"), "out of range");
    assert_refused(time_parse_moment, STR("99999999999999999999"), "out of range");
    assert_refused(time_parse_moment, STR("-1"), "out of range");
    assert_refused(time_parse_moment, STR("1969-12-31T23:59:59.999Z"), "out of range");
    assert_refused(time_parse_moment, STR("1970-01-01T00:00:00+00:01"), "out of range");
    assert_refused(time_parse_moment, STR("9999-12-31T23:59:59-00:01"), "out of range");
    assert_refused(time_parse_moment, STR("0000-01-01T00:00:00Z"), "out of range");
}

/* The system's calendar is the oracle, on every day from 1970 to 9999. */
static void every_day_is_formatted_as_the_system_does_and_parses_back(void **state)
{
    char text[TIME_TEXT], expected[TIME_TEXT];
    (void)state;
    for (int64_t ms = 86399999; ms <= TIME_MOMENT_MAX; ms += 86400000) {
        time_t seconds = ms / 1000;
        struct tm tm;
        gmtime_r(&seconds, &tm);
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.999Z", &tm);
        assert_int_equal(time_format_moment(ms, text), 24);
        assert_string_equal(text, expected);
        assert_parses(time_parse_moment, text, ms);
    }
    time_format_moment(-1, text);
    assert_string_equal(text, "1969-12-31T23:59:59.999Z");
    assert_true(time_format_moment(INT64_MAX, text) < TIME_TEXT);
    assert_true(time_format_moment(INT64_MIN, text) < TIME_TEXT);
}

static void clocks_tell_plausible_times(void **state)
{
    int64_t before = time_mono_us();
    (void)state;
    assert_true(time_wall_ms() > 1700000000000 && time_wall_ms() < TIME_MOMENT_MAX);
    assert_true(time_mono_us() >= before);
}

/* Every microsecond of a millisecond on both clocks: a span of 20 ms has 20 on each. */
static void the_monotonic_clock_stands_still_in_a_stall(void **state)
{
    struct clocks c = { 0 };
    int64_t wall, before, after, rings;

    (void)state;
    clocks_join(&c, 1794859623000500, 7000900, &wall, &before);
    rings = clocks_mono_us(&c, before + 20);
    clocks_join(&c, 1794859623000500 + 3000000, 7000900 + 3000000, &wall, &after);
    assert_int_equal(after, before + 3000);
    clocks_stall(&c, 3000);
    clocks_join(&c, 1794859623000500 + 3000000, 7000900 + 3000000, &wall, &after);
    assert_int_equal(after, before);
    assert_int_equal(wall, 1794859623000 + 3000);
    assert_int_equal(clocks_mono_us(&c, before + 20), rings + 3000000);
}

static void both_clocks_turn_together(void **state)
{
    int64_t wall, mono, at, until, end;
    (void)state;
    for (int64_t phase = 0; phase < 1000; phase += 37) {
        struct clocks c = { 0 };
        const int64_t boot = INT64_C(1794859623000000) - 5000000 + phase;

        for (int64_t us = 0; us < 3000; us += 7) {
            clocks_join(&c, boot + us + 5000000, us + 5000000 + us % 2, &wall, &mono);
            assert_true(mono <= (us + 5000001) / 1000);
            until = wall + 20;
            end = clocks_mono_us(&c, mono + 20);
            clocks_join(&c, boot + end, end, &wall, &mono);
            assert_int_equal(wall, until);
            clocks_join(&c, boot + end - 1, end - 1, &at, &mono);
            assert_int_equal(at, until - 1);
        }
    }
}

static void a_clock_that_is_set_moves_no_other(void **state)
{
    struct clocks c = { 0 };
    int64_t wall, mono, was;
    (void)state;
    clocks_join(&c, 1794859623000500, 7000900, &wall, &was);
    clocks_join(&c, 1794859623000500 + 3600000000, 7001900, &wall, &mono);
    assert_int_equal(wall, 1794859623000 + 3600000);
    assert_in_range(mono - was, 0, 2);
    clocks_join(&c, 1794859623000500 - 3600000000, 7002900, &wall, &mono);
    assert_int_equal(wall, 1794859623000 - 3600000);
    assert_in_range(mono - was, 0, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_of_each_unit_and_their_sums_are_read),
        cmocka_unit_test(the_last_part_may_have_a_fraction),
        cmocka_unit_test(what_is_no_duration_is_refused_with_the_reason),
        cmocka_unit_test(durations_are_bounded_and_never_clamped),
        cmocka_unit_test(formatted_durations_parse_back),
        cmocka_unit_test(moments_are_read_with_their_zone),
        cmocka_unit_test(fractions_of_seconds_are_cut_to_milliseconds),
        cmocka_unit_test(dates_that_do_not_exist_are_refused),
        cmocka_unit_test(what_is_no_moment_is_refused_with_the_reason),
        cmocka_unit_test(moments_are_bounded_and_never_clamped),
        cmocka_unit_test(every_day_is_formatted_as_the_system_does_and_parses_back),
        cmocka_unit_test(clocks_tell_plausible_times),
        cmocka_unit_test(the_monotonic_clock_stands_still_in_a_stall),
        cmocka_unit_test(both_clocks_turn_together),
        cmocka_unit_test(a_clock_that_is_set_moves_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
