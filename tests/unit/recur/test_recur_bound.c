/* SPDX-License-Identifier: MIT */
/* Searches end, COUNT is exact however it is asked for, and a start ten years back costs nothing.
 */
#include <time.h>

#include "support/recurs.h"

/* Of this thread: other programs run, too. */
static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static const char *const hostile[] = {
    "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30;BYSECOND=7",
    "FREQ=SECONDLY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=30;BYHOUR=3",
    "FREQ=MINUTELY;INTERVAL=7;BYMONTH=4;BYMONTHDAY=31;BYSECOND=1,2;BYSETPOS=1",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=30;BYSETPOS=1",
    "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=4,6,9,11",
    "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=29;BYMONTH=2", /* from January */
    "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
    "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
    "FREQ=DAILY;BYHOUR=9;BYSETPOS=2",
    "FREQ=DAILY;INTERVAL=7;BYDAY=TU", /* from a Thursday */
    "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
    "FREQ=SECONDLY;INTERVAL=86400;BYHOUR=5",
    "FREQ=SECONDLY;INTERVAL=86400;BYSECOND=5",
    "FREQ=HOURLY;INTERVAL=168;BYDAY=MO",
    "FREQ=MINUTELY;INTERVAL=1442;BYMINUTE=1",
    "FREQ=SECONDLY;INTERVAL=7200;BYMINUTE=1",
    "FREQ=YEARLY;BYWEEKNO=53;BYMONTH=6",
    "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1",
    "FREQ=SECONDLY;INTERVAL=2147483647;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;INTERVAL=2147483647;BYYEARDAY=366",
    "FREQ=HOURLY;INTERVAL=4368;BYDAY=MO",                /* 26 weeks, through all DST to 9999 */
    "FREQ=SECONDLY;INTERVAL=604800;BYDAY=MO;BYSECOND=0", /* from a Thursday */
    "FREQ=SECONDLY;INTERVAL=7;BYDAY=MO;BYHOUR=9;BYMINUTE=0;BYSECOND=2",
    "FREQ=DAILY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
    "FREQ=WEEKLY;BYDAY=MO,TU;BYMONTH=2;BYSETPOS=3",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYSETPOS=2",
};

static void hostile_rules_end_within_their_steps(void **state)
{
    static const char *const zones[] = { "UTC", "Europe/London", "Australia/Lord_Howe" };
    int64_t worst_us = 0;
    uint32_t most = 0;
    (void)state;
    for (size_t i = 0; i < 3 * sizeof hostile / sizeof *hostile; i++) {
        const char *rule = hostile[i / 3];
        struct zone *z = zone_named(zones[i % 3]);
        struct recur *r = recur_of(RECUR_RRULE, rule, z, "2026-01-01T00:00:00Z");
        struct recur_state with = { 0 };
        struct recur_occurrence o;
        int64_t start = cpu_us(), took;
        if (recur_next(r, 0, &with, &o) != 0)
            fail_msg("%s is at %jd", rule, (intmax_t)o.at_ms);
        took = cpu_us() - start;
        assert_true(with.steps <= RECUR_STEPS_MAX);
        worst_us = took > worst_us ? took : worst_us;
        most = with.steps > most ? with.steps : most;
        recur_free(r);
        zone_free(z);
    }
    printf("worst: %jd us, %u steps\n", (intmax_t)worst_us, most);
}

static void the_searches_of_a_preview_share_one_budget(void **state)
{
    const char *rule =
        "FREQ=SECONDLY;INTERVAL=104729;BYMONTHDAY=-25;BYMINUTE=14,53,58;COUNT=1000000";
    static struct recur_occurrence o[1000];
    struct zone *z = zone_named("Pacific/Apia");
    struct recur *r = recur_of(RECUR_RRULE, rule, z, "2024-02-29T12:34:56Z");
    struct recur_state one = { .most = RECUR_COST_MAX };
    int found = -1;
    (void)state;
    assert_int_equal(recur_preview(r, 0, 1000, o, &found), BELFRY_INVALID);
    assert_in_range(found, 1, 999);
    assert_int_equal(recur_preview(r, 0, (size_t)found, o, NULL), found);
    /* Eight thousand years of days would be counted. */
    assert_int_equal(recur_preview(r, INT64_C(253100000000000), 1, o, &found), BELFRY_INVALID);
    assert_int_equal(found, 0);
    assert_int_equal(recur_next(r, INT64_C(253100000000000), &one, o), BELFRY_INVALID);
    assert_in_range(one.cost, RECUR_COST_MAX, RECUR_COST_MAX + 10);
    one.most = 0; /* as a recurrence that exists */
    assert_int_equal(recur_next(r, INT64_C(253100000000000), &one, o), 1);
    recur_free(r);
    zone_free(z);
}

/* A jump computes how far away each admitted run of the day is. Here each hour has three runs. */
static void a_jump_costs_by_the_runs_that_it_asks(void **state)
{
    struct zone *z = zone_named("UTC");
    struct recur *r = recur_of(
        RECUR_RRULE,
        "FREQ=SECONDLY;INTERVAL=104729;BYMONTH=2;BYMONTHDAY=29;BYMINUTE=14,53,58;BYSECOND=7", z,
        "2024-02-29T12:34:56Z");
    struct recur_state with = { 0 };
    struct recur_occurrence o;
    const uint32_t patient = 32; /* steps without a jump */
    (void)state;
    assert_int_equal(recur_next(r, INT64_C(1774700000007), &with, &o), 1);
    assert_in_range(with.steps, 3 * patient, RECUR_STEPS_MAX);
    assert_in_range(with.cost, (with.steps - patient) * (1 + 4 + 72 / 6),
                    with.steps * (1 + 4 + 72 / 6) + 1);
    recur_free(r);
    zone_free(z);
}

static void rare_times_are_found(void **state)
{
    static const struct {
        const char *rule, *at;
    } rows[] = {
        { "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", "2044-02-29T00:00:00Z" },
        { "FREQ=YEARLY;INTERVAL=99;BYMONTH=2;BYMONTHDAY=29", "2224-02-29T00:00:00Z" },
        { "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=SU;BYHOUR=23;BYMINUTE=59;BYSECOND=59",
          "2032-02-29T23:59:59Z" },
        { "FREQ=HOURLY;INTERVAL=25;BYHOUR=0;BYMONTH=2;BYMONTHDAY=29", "2032-02-29T00:00:00Z" },
        { "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=9;BYMINUTE=0;BYSECOND=0", "2173-11-05T09:00:00Z" },
        { "FREQ=YEARLY;BYWEEKNO=53;BYDAY=SA;BYMONTH=1;BYMONTHDAY=1", "2033-01-01T00:00:00Z" },
        { "FREQ=DAILY;INTERVAL=1000;BYMONTHDAY=1;BYMONTH=1", "2026-01-01T00:00:00Z" },
        /* Was "never": years without such a day were added up over those with one. */
        { "FREQ=DAILY;INTERVAL=97;BYHOUR=9,10;BYSETPOS=2;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
          "3644-02-29T10:00:00Z" },
    };
    struct zone *z = zone_named("UTC");
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct recur *r = recur_of(RECUR_RRULE, rows[i].rule, z, "2026-01-01T00:00:00Z");
        struct recur_occurrence o = { 0 };
        char got[TIME_TEXT];
        int found = recur_next(r, 0, NULL, &o);
        time_format_moment(o.at_ms, got);
        if (!found || o.at_ms != moment_of(rows[i].at))
            fail_msg("%s: %s, not %s", rows[i].rule, found ? got : "never", rows[i].at);
        recur_free(r);
    }
    zone_free(z);
}

/* What fuzz_recur found: the half-years of London's clock were gone through one by one, up to the
 * year 4350, for each occurrence and again for COUNT. */
static void long_intervals_do_not_walk_through_changes_of_the_clock(void **state)
{
    static const char exdate[] = "20260406T120000Z";
    struct zone *z = zone_named("Europe/London");
    struct recur_spec spec = { RECUR_RRULE, STR("FREQ=HOURLY;INTERVAL=2046404;BYDAY=MO;COUNT=9"),
                               z,           INT64_C(1774700000007),
                               7,           STR(exdate),
                               { 0 } };
    struct recur_state with = { 0 };
    struct recur_occurrence o;
    struct rule_error error;
    struct recur *r;
    int64_t after = 0;
    unsigned n = 0;
    (void)state;
    assert_int_equal(recur_new(&spec, &r, &error), 0);
    while (recur_next(r, after, &with, &o) == 1) {
        assert_true(with.steps < 200);
        assert_int_equal((o.at_ms - spec.start_ms) % (INT64_C(2046404) * 3600000), 0);
        assert_int_equal(civil_weekday(civil_div(o.nominal_ms, CIVIL_DAY * 1000)), 0);
        after = o.at_ms;
        n++;
    }
    assert_true(with.steps < 200);
    assert_int_equal(n, 6); /* by the calendar, up to 9999 */
    ;
    recur_free(r);
    zone_free(z);
}

/* What it found then: a weekday that was only ever met with an offset of long ago. */
static void offsets_that_are_gone_are_not_waited_for(void **state)
{
    struct zone *z = zone_named("Australia/Lord_Howe");
    struct recur *r =
        recur_of(RECUR_RRULE, "FREQ=HOURLY;INTERVAL=4144;BYDAY=MO", z, "2068-01-23T13:54:12.091Z");
    struct recur_state with = { 0 };
    struct recur_occurrence o;
    (void)state;
    assert_int_equal(recur_next(r, 0, &with, &o), 0);
    assert_true(with.steps < 100);
    recur_free(r);
    zone_free(z);
}

/* And then: that none is counted up to the first was counted day by day. */
static void count_does_not_go_where_the_search_has_been(void **state)
{
    struct zone *z = zone_named("Australia/Lord_Howe");
    struct recur *r = recur_of(RECUR_RRULE,
                               "FREQ=SECONDLY;INTERVAL=36463;BYHOUR=5,15;BYMINUTE=5;BYSECOND=15;"
                               "BYMONTHDAY=-13;COUNT=51159",
                               z, "2059-07-13T11:48:15Z");
    struct recur_state with = { 0 };
    struct recur_occurrence o;
    (void)state;
    assert_int_equal(recur_next(r, 0, &with, &o), 1);
    assert_int_equal(o.at_ms, moment_of("7415-01-19T04:05:15Z"));
    assert_int_equal(with.n, 1);
    assert_true(with.steps < RECUR_STEPS_MAX / 2);
    /* Without the state it has to be counted for 5,356 years, and that is said. */
    assert_int_equal(recur_next(r, o.at_ms, NULL, &o), BELFRY_INVALID);
    recur_free(r);
    zone_free(z);
}

static const char *const counted[] = {
    "FREQ=YEARLY;BYMONTH=1,7",
    "FREQ=YEARLY;INTERVAL=3;BYDAY=1MO,-1SU",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1",
    "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=1,15,31",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;WKST=SU",
    "FREQ=WEEKLY;BYDAY=MO,SU;BYHOUR=1,2;BYSETPOS=-1",
    "FREQ=DAILY;BYHOUR=0,1,2,3;BYMINUTE=0,30",
    "FREQ=DAILY;INTERVAL=3;BYMONTH=3,10",
    "FREQ=HOURLY",
    "FREQ=HOURLY;INTERVAL=5;BYDAY=SA,SU",
    "FREQ=HOURLY;BYMINUTE=0,20,40",
    "FREQ=HOURLY;INTERVAL=5;BYHOUR=1,2,3",
    "FREQ=HOURLY;INTERVAL=7;BYMINUTE=0,20,40;BYSETPOS=-1",
    "FREQ=MINUTELY;INTERVAL=7;BYHOUR=1",
    "FREQ=MINUTELY;INTERVAL=90",
    "FREQ=SECONDLY;INTERVAL=1000;BYMONTHDAY=1,-1",
    "FREQ=SECONDLY;INTERVAL=45;BYHOUR=1;BYMONTHDAY=29,25",
    "FREQ=SECONDLY;INTERVAL=7;BYMINUTE=5;BYSECOND=1,2,3",
    "FREQ=SECONDLY;INTERVAL=3601;BYMINUTE=0,1,2,3,4,5,6,7,8,9",
    "FREQ=SECONDLY;INTERVAL=90001;BYHOUR=1,2,3,4,5,6,7,8,9",
    "FREQ=MINUTELY;INTERVAL=11;BYSECOND=0,10,20;BYSETPOS=1,-1;BYDAY=SU",
    "FREQ=MINUTELY;INTERVAL=61;BYMINUTE=1,2,3,4,5,6,7,8,9,10;BYHOUR=1,3,5,7",
};

/* All occurrences of a rule with COUNT are the first ones of the rule without, whether a state is
 * carried along, lost, or old. In London, over a gap and a repeated hour; COUNT is of nominal
 * times, so it is compared where none are merged. */
static void check_counted(const struct zone *z, const char *rule, unsigned count)
{
    char text[200];
    struct recur *all = recur_of(RECUR_RRULE, rule, z, "2026-03-29T03:00:00Z");
    struct recur_state with = { 0 }, old = { 0 };
    struct recur_occurrence a, b;
    struct recur *some;
    int64_t after = 0;
    snprintf(text, sizeof text, "%s;COUNT=%u", rule, count);
    some = recur_of(RECUR_RRULE, text, z, "2026-03-29T03:00:00Z");
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(recur_next(all, after, NULL, &a), 1);
        if (!recur_next(some, after, &with, &b) || a.at_ms != b.at_ms || with.n != i + 1)
            fail_msg("%s: number %u is wrong, %ju", text, i + 1, (uintmax_t)with.n);
        if (i % 50 == 0 || i + 1 == count) {
            assert_int_equal(recur_next(some, after, NULL, &b), 1);
            assert_int_equal(a.at_ms, b.at_ms);
            assert_int_equal(recur_next(some, after, &old, &b), 1);
            assert_int_equal(a.at_ms, b.at_ms);
        }
        after = a.at_ms;
    }
    assert_int_equal(recur_next(some, after, &with, &b), 0);
    assert_int_equal(recur_next(some, after, NULL, &b), 0);
    assert_int_equal(recur_next(some, after, &old, &b), 0);
    assert_int_equal(recur_next(some, 0, &with, &b), 1); /* back again */
    assert_int_equal(with.n, 1);
    recur_free(all);
    recur_free(some);
}

static void count_is_exact_however_it_is_asked_for(void **state)
{
    struct zone *z = zone_named("Europe/London");
    (void)state;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        check_counted(z, counted[i], 1);
        check_counted(z, counted[i], i < 2 ? 40 : 333);
        if (i >= 11)
            check_counted(z, counted[i], 1500);
    }
    zone_free(z);
}

/* The year 9999 and rules that are rare, so that COUNT is never reached on the way. */
static void counting_ends_as_well(void **state)
{
    static const char *const rules[] = {
        "FREQ=HOURLY;INTERVAL=2046404;BYDAY=MO",
        "FREQ=HOURLY;INTERVAL=168;BYDAY=MO",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
        "FREQ=SECONDLY;INTERVAL=3601;BYMINUTE=0;BYSECOND=0",
        "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=9;BYMINUTE=0;BYSECOND=0",
        "FREQ=MINUTELY;INTERVAL=1441;BYSECOND=0,1;BYSETPOS=-1",
        "FREQ=DAILY;INTERVAL=2;BYMONTH=2",
        "FREQ=DAILY;BYHOUR=9,10;BYMONTH=2;BYSETPOS=1",
        "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=-1",
        "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1",
        "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO",
    };
    struct zone *z = zone_named("Australia/Lord_Howe");
    int64_t worst_us = 0;
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char text[200];
        struct recur_occurrence o;
        struct recur *r;
        int64_t start, took;
        snprintf(text, sizeof text, "%s;COUNT=1000000", rules[i]);
        r = recur_of(RECUR_RRULE, text, z, "2026-01-01T00:00:00Z");
        start = cpu_us();
        recur_next(r, moment_of("9990-01-01T00:00:00Z"), NULL, &o);
        took = cpu_us() - start;
        worst_us = took > worst_us ? took : worst_us;
        recur_free(r);
    }
    printf("worst: %jd us\n", (intmax_t)worst_us);
    assert_true(worst_us < 5000000); /* with sanitizers, too: bounded is what matters */
    zone_free(z);
}

static void whole_days_left_out_are_not_walked_through(void **state)
{
    static char days[RULE_TEXT_MAX];
    struct zone *z = zone_named("Europe/London");
    size_t len = 0;
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct civil_date d = civil_date(20454 + i); /* from 2026-01-01 on */
        len += (size_t)snprintf(days + len, sizeof days - len, "%s%04d%02d%02d", i ? "," : "",
                                (int)d.year, d.month, d.day);
    }
    for (int kind = 0; kind < 3; kind++) {
        static const char *const texts[] = { "FREQ=SECONDLY", "* * * * *", "1ms" };
        struct recur_spec spec = { (enum recur_kind)kind,
                                   str_of(texts[kind]),
                                   z,
                                   moment_of("2026-01-01T00:00:00Z"),
                                   0,
                                   { days, len },
                                   { 0 } };
        struct recur_state with = { 0 };
        struct recur_occurrence o;
        struct rule_error error;
        struct recur *r;
        assert_int_equal(recur_new(&spec, &r, &error), 0);
        assert_int_equal(recur_next(r, 0, &with, &o), 1);
        assert_int_equal(o.at_ms, moment_of("2027-02-05T00:00:00Z"));
        assert_true(with.steps < 5000);
        recur_free(r);
    }
    zone_free(z);
}

#define BATCH 200

static const struct {
    enum recur_kind kind;
    const char *text;
} measured[] = {
    { RECUR_EVERY, "90s" },
    { RECUR_CRON, "*/5 * * * *" },
    { RECUR_CRON, "30 9 * * MON-FRI" },
    { RECUR_CRON, "0 0 29 2 *" },
    { RECUR_RRULE, "FREQ=SECONDLY" },
    { RECUR_RRULE, "FREQ=SECONDLY;INTERVAL=7;BYDAY=MO" },
    { RECUR_RRULE, "FREQ=SECONDLY;INTERVAL=7;BYHOUR=9;BYMONTH=2" },
    { RECUR_RRULE, "FREQ=MINUTELY;INTERVAL=13;BYSECOND=0,30" },
    { RECUR_RRULE, "FREQ=HOURLY;INTERVAL=5;BYHOUR=9" },
    { RECUR_RRULE, "FREQ=DAILY;BYHOUR=9" },
    { RECUR_RRULE, "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR" },
    { RECUR_RRULE, "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1" },
    { RECUR_RRULE, "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO" },
    { RECUR_RRULE, "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO" },
    { RECUR_RRULE, "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=9;BYMINUTE=0;BYSECOND=0" },
    { RECUR_RRULE, "FREQ=SECONDLY;INTERVAL=86399;BYMINUTE=0;BYSECOND=0" },
    { RECUR_RRULE, "FREQ=SECONDLY;INTERVAL=61;BYHOUR=9;BYMINUTE=0;BYSECOND=0;BYDAY=MO" },
    { RECUR_RRULE, "FREQ=MINUTELY;INTERVAL=1439;BYHOUR=9;BYMINUTE=1" },
    { RECUR_RRULE, "FREQ=HOURLY;INTERVAL=100003;BYDAY=SU" },
};

/* The best of some batches. */
static double ns_per_next(const struct recur *r, int64_t after_ms)
{
    double best = 1e18;
    for (int batch = 0; batch < 5; batch++) {
        int64_t start = cpu_us();
        double ns;
        for (int i = 0; i < BATCH; i++) {
            struct recur_occurrence o;
            if (recur_next(r, after_ms + i, NULL, &o) < 0)
                fail();
        }
        ns = (double)(cpu_us() - start) * 1000 / BATCH;
        best = ns < best ? ns : best;
    }
    return best;
}

static void a_start_ten_years_back_answers_in_microseconds(void **state)
{
    static const char *const zones[] = { "America/New_York", "UTC" };
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        double ns[4];
        for (int zone = 0; zone < 2; zone++) {
            static const char *const ends[] = { "2026-06-15T12:00:00Z", "2066-06-15T12:00:00Z" };
            static const char *const starts[] = { "2016-06-15T12:00:00Z", "2056-06-15T12:00:00Z" };
            struct zone *z = zone_named(zones[zone]);
            for (int era = 0; era < 2; era++) {
                struct recur *r = recur_of(measured[i].kind, measured[i].text, z, starts[era]);
                ns[zone * 2 + era] = ns_per_next(r, moment_of(ends[era]));
                recur_free(r);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
                assert_true(ns[zone * 2 + era] < 50000);
#endif
            }
            zone_free(z);
        }
        printf("%-60s %6.0f ns in New York, %6.0f after its table; %6.0f in UTC\n",
               measured[i].text, ns[0], ns[1], ns[2]);
    }
}

/* Whatever the machine: a handful of steps, of which none takes a microsecond. */
static void a_start_ten_years_back_takes_few_steps(void **state)
{
    static const char *const zones[] = { "America/New_York", "Australia/Lord_Howe", "UTC" };
    (void)state;
    for (size_t i = 0; i < 3 * sizeof measured / sizeof *measured; i++) {
        struct zone *z = zone_named(zones[i % 3]);
        struct recur *r =
            recur_of(measured[i / 3].kind, measured[i / 3].text, z, "2016-06-15T12:00:00Z");
        int64_t after = moment_of("2026-06-15T12:00:00Z");
        for (int n = 0; n < 100; n++) {
            struct recur_state with = { 0 };
            struct recur_occurrence o;
            int found = recur_next(r, after, &with, &o);
            if (with.steps > 100)
                fail_msg("%s takes %u steps", measured[i / 3].text, with.steps);
            if (!found && n > 0)
                break; /* the year 9999 */
            assert_int_equal(found, 1);
            after = o.at_ms;
        }
        recur_free(r);
        zone_free(z);
    }
}

static void count_from_a_start_ten_years_back_is_bounded(void **state)
{
    static const char *const rules[] = {
        "FREQ=SECONDLY;INTERVAL=400;COUNT=1000000",
        "FREQ=HOURLY;COUNT=1000000",
        "FREQ=HOURLY;BYDAY=MO,TU;COUNT=1000000",
        "FREQ=MINUTELY;BYHOUR=9;COUNT=1000000",
        "FREQ=MINUTELY;INTERVAL=7;BYHOUR=9;COUNT=1000000",
        "FREQ=SECONDLY;INTERVAL=700;BYHOUR=9,10,11;COUNT=1000000",
        "FREQ=SECONDLY;INTERVAL=7;BYHOUR=9,10,11;BYSECOND=1,2,3,4;COUNT=1000000",
        "FREQ=DAILY;BYHOUR=9;COUNT=10000",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR;COUNT=10000",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;COUNT=1000",
    };
    struct zone *z = zone_named("America/New_York");
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct recur *r = recur_of(RECUR_RRULE, rules[i], z, "2016-06-15T12:00:00Z");
        int64_t after = moment_of("2026-06-15T12:00:00Z"), start = cpu_us(), took;
        struct recur_state with = { 0 };
        struct recur_occurrence o;
        int found = recur_next(r, after, &with, &o);
        took = cpu_us() - start;
        start = cpu_us();
        for (int n = 0; n < BATCH && found; n++)
            found = recur_next(r, o.at_ms, &with, &o);
        printf("%-60s %7jd us from START, %6jd ns with its state\n", rules[i], (intmax_t)took,
               (intmax_t)(cpu_us() - start) * 1000 / BATCH);
        assert_true(with.steps <= 64);
        recur_free(r);
    }
    zone_free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_rules_end_within_their_steps),
        cmocka_unit_test(the_searches_of_a_preview_share_one_budget),
        cmocka_unit_test(a_jump_costs_by_the_runs_that_it_asks),
        cmocka_unit_test(rare_times_are_found),
        cmocka_unit_test(long_intervals_do_not_walk_through_changes_of_the_clock),
        cmocka_unit_test(offsets_that_are_gone_are_not_waited_for),
        cmocka_unit_test(count_does_not_go_where_the_search_has_been),
        cmocka_unit_test(count_is_exact_however_it_is_asked_for),
        cmocka_unit_test(counting_ends_as_well),
        cmocka_unit_test(whole_days_left_out_are_not_walked_through),
        cmocka_unit_test(a_start_ten_years_back_answers_in_microseconds),
        cmocka_unit_test(a_start_ten_years_back_takes_few_steps),
        cmocka_unit_test(count_from_a_start_ten_years_back_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
