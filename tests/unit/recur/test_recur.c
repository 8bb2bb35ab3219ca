/* SPDX-License-Identifier: MIT */
/* The examples of RFC 5545, 3.8.5.3, but for their misprints. All are in New York, and at 09:00
 * where no time is given. */
#include "support/recurs.h"

struct example {
    const char *rule;
    const char *start;    /* 19970902, or with a time: 19970902T0900 */
    const char *expected; /* as the start; "..." at the end if there are more */
};

static const struct example examples[] = {
    { "FREQ=DAILY;COUNT=10", "19970902",
      "19970902 19970903 19970904 19970905 19970906 19970907 19970908 19970909 19970910 19970911" },
    { "FREQ=DAILY;INTERVAL=2", "19970902", "19970902 19970904 19970906 19970908 19970910 ..." },
    { "FREQ=DAILY;INTERVAL=10;COUNT=5", "19970902",
      "19970902 19970912 19970922 19971002 19971012" },
    { "FREQ=WEEKLY;COUNT=10", "19970902",
      "19970902 19970909 19970916 19970923 19970930 19971007 19971014 19971021 19971028 19971104" },
    { "FREQ=WEEKLY;INTERVAL=2;WKST=SU", "19970902",
      "19970902 19970916 19970930 19971014 19971028 19971111 19971125 19971209 19971223 19980106 "
      "19980120 19980203 19980217 ..." },
    { "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", "19970902",
      "19970902 19970904 19970909 19970911 19970916 19970918 19970923 19970925 19970930 19971002" },
    { "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR", "19970901",
      "19970901 19970903 19970905 19970915 19970917 19970919 19970929 19971001 19971003 19971013 "
      "19971015 19971017 19971027 19971029 19971031 19971110 19971112 19971114 19971124 19971126 "
      "19971128 19971208 19971210 19971212 19971222" },
    { "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "19970902",
      "19970902 19970904 19970916 19970918 19970930 19971002 19971014 19971016" },
    { "FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "19970905",
      "19970905 19971003 19971107 19971205 19980102 19980206 19980306 19980403 19980501 19980605" },
    { "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "19970905",
      "19970905 19971003 19971107 19971205" },
    { "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "19970907",
      "19970907 19970928 19971102 19971130 19980104 19980125 19980301 19980329 19980503 19980531" },
    { "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "19970922",
      "19970922 19971020 19971117 19971222 19980119 19980216" },
    { "FREQ=MONTHLY;BYMONTHDAY=-3", "19970928",
      "19970928 19971029 19971128 19971229 19980129 19980226 ..." },
    { "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15", "19970902",
      "19970902 19970915 19971002 19971015 19971102 19971115 19971202 19971215 19980102 19980115" },
    { "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "19970930",
      "19970930 19971001 19971031 19971101 19971130 19971201 19971231 19980101 19980131 19980201" },
    { "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15", "19970910",
      "19970910 19970911 19970912 19970913 19970914 19970915 19990310 19990311 19990312 19990313" },
    { "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", "19970902",
      "19970902 19970909 19970916 19970923 19970930 19971104 19971111 19971118 19971125 19980106 "
      "19980113 19980120 19980127 19980303 ..." },
    { "FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "19970610",
      "19970610 19970710 19980610 19980710 19990610 19990710 20000610 20000710 20010610 20010710" },
    { "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3", "19970310",
      "19970310 19990110 19990210 19990310 20010110 20010210 20010310 20030110 20030210 20030310" },
    { "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "19970101",
      "19970101 19970410 19970719 20000101 20000409 20000718 20030101 20030410 20030719 20060101" },
    { "FREQ=YEARLY;BYDAY=20MO", "19970519", "19970519 19980518 19990517 ..." },
    { "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "19970512", "19970512 19980511 19990517 ..." },
    { "FREQ=YEARLY;BYWEEKNO=20", "19970512", "19970512 19980511 19990517 ..." },
    { "FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "19970313",
      "19970313 19970320 19970327 19980305 19980312 19980319 19980326 19990304 19990311 19990318 "
      "19990325 ..." },
    { "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8", "19970605",
      "19970605 19970612 19970619 19970626 19970703 19970710 19970717 19970724 19970731 19970807 "
      "19970814 19970821 19970828 19980604 ..." },
    { "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "19970902",
      "19980213 19980313 19981113 19990813 20001013 ..." },
    { "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "19970913",
      "19970913 19971011 19971108 19971213 19980110 19980207 19980307 19980411 19980509 19980613 "
      "..." },
    { "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "19961105",
      "19961105 20001107 20041102 ..." },
    { "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "19970904", "19970904 19971007 19971106" },
    { "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "19970929",
      "19970929 19971030 19971127 19971230 19980129 19980226 19980330 ..." },
    { "FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z", "19970902",
      "19970902 19970902T1200 19970902T1500" },
    { "FREQ=MINUTELY;INTERVAL=15;COUNT=6", "19970902",
      "19970902 19970902T0915 19970902T0930 19970902T0945 19970902T1000 19970902T1015" },
    { "FREQ=MINUTELY;INTERVAL=90;COUNT=4", "19970902",
      "19970902 19970902T1030 19970902T1200 19970902T1330" },
    { "FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0,20,40", "19970902",
      "19970902 19970902T0920 19970902T0940 19970902T1000 19970902T1020 19970902T1040 19970903 "
      "19970903T0920 ..." },
    { "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10", "19970902",
      "19970902 19970902T0920 19970902T0940 19970902T1000 19970902T1020 19970902T1040 19970903 "
      "19970903T0920 ..." },
    { "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "19970805",
      "19970805 19970810 19970819 19970824" },
    { "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "19970805",
      "19970805 19970817 19970819 19970831" },
    { "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "20070115",
      "20070115 20070130 20070215 20070315 20070330" },

    /* Not in the RFC, but of the kind that is asked about. */
    { "FREQ=MONTHLY", "20260131", "20260131 20260331 20260531 20260731 20260831 ..." },
    { "FREQ=YEARLY", "20240229", "20240229 20280229 20320229 ..." },
    { "FREQ=MONTHLY;BYMONTHDAY=31,-1", "20260131", "20260131 20260228 20260331 20260430 ..." },
    { "FREQ=MONTHLY;BYDAY=MO,2TU", "20260101",
      "20260105 20260112 20260113 20260119 20260126 20260202 20260209 20260210 ..." },
    { "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO", "20200101", "20201228 20261228 20321227 ..." },
    { "FREQ=YEARLY;BYWEEKNO=1;BYDAY=MO", "20190102", "20191230 20210104 20220103 20230102 ..." },
    { "FREQ=YEARLY;BYWEEKNO=-52,-53;BYDAY=MO", "20190102", "20191230 20200106 20210104 ..." },
    { "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3,10", "20260101", "20260329 20261025 20270328 ..." },
    { "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=1", "20260107", "20260112 20260119 ..." },
    { "FREQ=WEEKLY;BYDAY=FR,MO;BYSETPOS=-1,1,-2", "20260107", "20260109 20260112 20260116 ..." },
    { "FREQ=DAILY;BYHOUR=17,8;BYMINUTE=30,0;BYSETPOS=-1,2", "20260107T0000",
      "20260107T0830 20260107T1730 20260108T0830 ..." },
    { "FREQ=HOURLY;BYMINUTE=10,20,30;BYSETPOS=2", "20260107T0000",
      "20260107T0020 20260107T0120 20260107T0220 ..." },
    { "FREQ=MINUTELY;INTERVAL=60;BYHOUR=9,10", "20260107", "20260107 20260107T1000 20260108 ..." },
    { "FREQ=MINUTELY;INTERVAL=120;BYHOUR=9,10,11", "20260107",
      "20260107 20260107T1100 20260108 ..." },
    { "FREQ=SECONDLY;INTERVAL=3600;BYHOUR=9,10", "20260107",
      "20260107 20260107T1000 20260108 ..." },
    { "FREQ=SECONDLY;INTERVAL=1800;BYHOUR=9", "20260107", "20260107 20260107T0930 20260108 ..." },
    { "FREQ=SECONDLY;INTERVAL=3600;BYSETPOS=-1;BYMINUTE=0", "20260107T0000",
      "20260107T0000 20260107T0100 20260107T0200 ..." },
    { "FREQ=SECONDLY;BYSETPOS=2;BYMINUTE=0", "20260107T0000", "" },
    { "RRULE:freq=daily;byhour=9;until=20260109", "20260107T0000", "20260107 20260108 20260109" },
    { "FREQ=DAILY;UNTIL=20260109T090000", "20260107", "20260107 20260108 20260109" },
    { "FREQ=DAILY;UNTIL=20260109T085959", "20260107", "20260107 20260108" },
    { "FREQ=DAILY;UNTIL=20260106", "20260107", "" },
    { "FREQ=YEARLY;BYMONTH=1;BYDAY=9MO", "20260107", "" },
};

/* The moment of a local time written as in the examples. */
static int64_t start_of(const struct zone *z, const char *text)
{
    int year = 0, month = 0, day = 0, hour = 9, minute = 0;
    assert_true(sscanf(text, "%4d%2d%2dT%2d%2d", &year, &month, &day, &hour, &minute) >= 3);
    return zone_moment(z,
                       civil_days(year, month, day) * CIVIL_DAY + hour * CIVIL_HOUR +
                           minute * CIVIL_MINUTE,
                       NULL) *
           1000;
}

static void write_occurrence(const struct recur_occurrence *o, struct buf *out)
{
    int64_t day = civil_div(o->nominal_ms, CIVIL_DAY * 1000);
    int64_t minute = (o->nominal_ms - day * CIVIL_DAY * 1000) / 60000;
    struct civil_date d = civil_date(day);
    buf_printf(out, "%s%04d%02d%02d", out->len ? " " : "", (int)d.year, d.month, d.day);
    if (minute != 9 * 60)
        buf_printf(out, "T%02d%02d", (int)minute / 60, (int)minute % 60);
}

static void check_example(const struct zone *z, const struct example *e)
{
    struct recur_spec spec = { RECUR_RRULE, str_of(e->rule), z,    start_of(z, e->start),
                               0,           { 0 },           { 0 } };
    struct recur_occurrence all[32];
    struct rule_error error;
    struct recur *r;
    struct buf out = { 0 };
    size_t words = *e->expected != '\0', n;
    for (const char *p = e->expected; *p; p++)
        words += *p == ' ';
    if (recur_new(&spec, &r, &error) != 0)
        fail_msg("%s: %s", e->rule, error.text);
    n = (size_t)recur_preview(r, 0, words, all, NULL);
    for (size_t i = 0; i < n; i++) {
        if (i + 1 == words && strstr(e->expected, "..."))
            buf_text(&out, " ...");
        else
            write_occurrence(&all[i], &out);
    }
    buf_append(&out, "", 1);
    if (strcmp(out.ptr, e->expected) != 0)
        fail_msg("%s from %s:\n%s, not\n%s", e->rule, e->start, out.ptr, e->expected);
    if (!strstr(e->expected, "..."))
        assert_int_equal(recur_preview(r, 0, 32, all, NULL), words);
    buf_fini(&out);
    recur_free(r);
}

static void rules_give_what_the_rfc_says(void **state)
{
    struct zone *z = zone_named("America/New_York");
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        check_example(z, &examples[i]);
    zone_free(z);
}

static size_t count_all(const struct recur *r, int64_t *ret_last_ms)
{
    struct recur_occurrence o;
    size_t n = 0;
    int64_t after = 0;
    for (; n < 1000 && recur_next(r, after, NULL, &o); n++)
        after = o.at_ms;
    *ret_last_ms = after;
    return n;
}

static void long_examples_have_the_number_the_rfc_says(void **state)
{
    static const struct {
        const char *rule, *start;
        size_t n;
        const char *last;
    } rows[] = {
        { "FREQ=DAILY;UNTIL=19971224T000000Z", "1997-09-02T13:00:00Z", 113,
          "1997-12-23T14:00:00Z" },
        { "FREQ=WEEKLY;UNTIL=19971224T000000Z", "1997-09-02T13:00:00Z", 17,
          "1997-12-23T14:00:00Z" },
        { "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA",
          "1998-01-01T14:00:00Z", 93, "2000-01-31T14:00:00Z" },
        { "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1", "1998-01-01T14:00:00Z", 93,
          "2000-01-31T14:00:00Z" },
        { "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", "1997-09-02T13:00:00Z", 10,
          "1997-10-02T13:00:00Z" },
    };
    struct zone *z = zone_named("America/New_York");
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct recur *r = recur_of(RECUR_RRULE, rows[i].rule, z, rows[i].start);
        int64_t last;
        assert_int_equal(count_all(r, &last), rows[i].n);
        assert_int_equal(last, moment_of(rows[i].last));
        recur_free(r);
    }
    zone_free(z);
}

static void the_fraction_of_the_start_is_kept_but_not_by_cron(void **state)
{
    struct zone *z = zone_named("Europe/London");
    struct recur_occurrence o[2];
    struct recur *r = recur_of(RECUR_RRULE, "FREQ=DAILY;BYHOUR=9", z, "2026-01-01T09:00:00.250Z");
    (void)state;
    assert_int_equal(recur_preview(r, 0, 2, o, NULL), 2);
    assert_int_equal(o[0].at_ms, moment_of("2026-01-01T09:00:00.250Z"));
    assert_int_equal(o[1].at_ms, moment_of("2026-01-02T09:00:00.250Z"));
    assert_int_equal(recur_preview(r, o[0].at_ms + 1, 1, o, NULL), 1);
    assert_int_equal(o[0].at_ms, moment_of("2026-01-02T09:00:00.250Z"));
    recur_free(r);
    r = recur_of(RECUR_CRON, "0 9 * * *", z, "2026-01-01T09:00:00.250Z");
    assert_int_equal(recur_preview(r, 0, 1, o, NULL), 1);
    assert_int_equal(o[0].at_ms, moment_of("2026-01-02T09:00:00Z"));
    recur_free(r);
    zone_free(z);
}

static void nothing_is_before_the_start_or_after_the_year_9999(void **state)
{
    struct zone *z = zone_named("Asia/Tokyo");
    struct recur_occurrence o;
    struct recur *r = recur_of(RECUR_RRULE, "FREQ=HOURLY", z, "2026-01-01T00:00:00Z");
    (void)state;
    assert_int_equal(recur_next(r, INT64_MIN, NULL, &o), 1);
    assert_int_equal(o.at_ms, moment_of("2026-01-01T00:00:00Z"));
    assert_int_equal(recur_next(r, TIME_MOMENT_MAX - 3600000, NULL, &o), 1);
    assert_int_equal(o.at_ms, moment_of("9999-12-31T23:00:00Z"));
    assert_int_equal(recur_next(r, o.at_ms, NULL, &o), 0);
    assert_int_equal(recur_next(r, INT64_MAX, NULL, &o), 0);
    recur_free(r);
    zone_free(z);
}

static void every_counts_from_the_start_in_milliseconds(void **state)
{
    struct zone *z = zone_named("Europe/London");
    struct recur_occurrence o[3];
    struct recur *r = recur_of(RECUR_EVERY, "1h0.5s", z, "2026-03-29T00:00:00.100Z");
    (void)state;
    assert_int_equal(recur_preview(r, 0, 3, o, NULL), 3);
    assert_int_equal(o[0].at_ms, moment_of("2026-03-29T00:00:00.100Z"));
    assert_int_equal(o[1].at_ms, moment_of("2026-03-29T01:00:00.600Z"));
    assert_int_equal(o[1].offset_s, 3600);
    assert_int_equal(o[2].at_ms, moment_of("2026-03-29T02:00:01.100Z"));
    recur_free(r);
    zone_free(z);
}

static void dates_are_left_out_and_added(void **state)
{
    struct zone *z = zone_named("Europe/London");
    struct recur_spec spec = {
        .kind = RECUR_RRULE,
        .text = STR("FREQ=DAILY;COUNT=6"),
        .zone = z,
        .start_ms = moment_of("2026-06-01T08:00:00Z"),
        .exdate = STR("20260602T090000,20260603T080000Z,20260604,20260610"),
        .rdate = STR("20260601T080000Z,20260607,20260605T120000,20260610,20260101"),
    };
    static const char *const expected[] = { "2026-06-01T08:00:00Z", "2026-06-05T08:00:00Z",
                                            "2026-06-05T11:00:00Z", "2026-06-06T08:00:00Z",
                                            "2026-06-07T08:00:00Z" };
    struct recur_occurrence o[8];
    struct rule_error error;
    struct recur *r;
    (void)state;
    assert_int_equal(recur_new(&spec, &r, &error), 0);
    assert_int_equal(recur_preview(r, 0, 8, o, NULL), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(o[i].at_ms, moment_of(expected[i]));
    recur_free(r);
    zone_free(z);
}

/* Also where the search begins on a day that counts but is over. */
static void what_is_left_out_counts(void **state)
{
    static const char *const rules[] = { "FREQ=DAILY;INTERVAL=2;COUNT=3", "FREQ=DAILY;COUNT=5",
                                         "FREQ=HOURLY;INTERVAL=48;COUNT=3",
                                         "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR;COUNT=3" };
    struct zone *z = zone_named("Europe/London");
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct recur_spec spec = { RECUR_RRULE, str_of(rules[i]), z, 0, 0, { 0 }, { 0 } };
        struct recur_occurrence o[8];
        struct rule_error error;
        struct recur *r;
        spec.start_ms = moment_of("2026-06-01T08:00:00Z");
        spec.exdate = STR("20260605");
        assert_int_equal(recur_new(&spec, &r, &error), 0);
        assert_int_equal(recur_preview(r, 0, 8, o, NULL), strstr(rules[i], "=5") ? 4 : 2);
        assert_int_equal(recur_next(r, moment_of("2026-06-03T08:00:00Z"), NULL, o),
                         strstr(rules[i], "=5") ? 1 : 0);
        recur_free(r);
    }
    zone_free(z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_give_what_the_rfc_says),
        cmocka_unit_test(long_examples_have_the_number_the_rfc_says),
        cmocka_unit_test(the_fraction_of_the_start_is_kept_but_not_by_cron),
        cmocka_unit_test(nothing_is_before_the_start_or_after_the_year_9999),
        cmocka_unit_test(every_counts_from_the_start_in_milliseconds),
        cmocka_unit_test(dates_are_left_out_and_added),
        cmocka_unit_test(what_is_left_out_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
