/* SPDX-License-Identifier: MIT */
/* Zone files: bytes made by hand, damaged bytes, names, and what holds for every zone. */
#include <glob.h>
#include <unistd.h>

#include "support/recurs.h"

#include "recur/zonecache.h"
#include "recur/tzfile.h"

/* Appends a number of so many bytes, most significant first. */
static void put(struct buf *b, uint64_t v, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        char c = (char)(v >> (i * 8));
        buf_append(b, &c, 1);
    }
}

static void put_header(struct buf *b, char version, uint32_t times, uint32_t types, uint32_t chars)
{
    static const char zeros[15];
    const uint32_t n[] = { 0, 0, 0, times, types, chars };
    buf_text(b, "TZif");
    buf_append(b, &version, 1);
    buf_append(b, zeros, sizeof zeros);
    for (size_t i = 0; i < 6; i++)
        put(b, n[i], 4);
}

/* A zone that was at +1 h until 2000-01-01T00:00Z, then at -5 h, and follows a rule from then on.
 */
static struct buf file_with(char version, const char *rule)
{
    struct buf b = { 0 };
    for (int width = 4; width <= (version > '1' ? 8 : 4); width += 4) {
        put_header(&b, version, 1, 2, 8);
        put(&b, 946684800, width);
        put(&b, 1, 1);
        put(&b, 3600, 4);
        put(&b, 0, 2);
        put(&b, (uint32_t)-18000, 4);
        put(&b, 4, 2);
        buf_append(&b, "OLD\0NEW\0", 8);
    }
    if (version > '1')
        buf_printf(&b, "\n%s\n", rule);
    return b;
}

static struct zone *parse(struct buf *b)
{
    struct zone *z = NULL;
    const char *why = "";
    if (tzfile_parse(buf_view(b), &z, &why) != 0)
        fail_msg("%s", why);
    buf_fini(b);
    return z;
}

static void a_table_without_rule_ends_in_its_last_offset(void **state)
{
    (void)state;
    for (char version = '1'; version <= '4'; version++) {
        struct buf b = file_with(version, "");
        struct zone *z = parse(&b);
        struct zone_stretch s = zone_at(z, 946684799);
        assert_int_equal(s.offset_s, 3600);
        assert_string_equal(s.abbreviation, "OLD");
        s = zone_at(z, 946684800);
        assert_int_equal(s.offset_s, -18000);
        assert_string_equal(s.abbreviation, "NEW");
        assert_int_equal(s.end_s, INT64_MAX);
        assert_int_equal(zone_at(z, INT64_C(1) << 40).offset_s, -18000);
        zone_free(z);
    }
}

static void rules_say_when_the_clock_changes(void **state)
{
    static const struct {
        const char *rule, *moment;
        int32_t before, after;
        const char *abbreviation;
    } rows[] = {
        { "EST5EDT,M3.2.0,M11.1.0", "2026-03-08T07:00:00Z", -18000, -14400, "EDT" },
        { "EST5EDT,M3.2.0,M11.1.0", "2426-11-01T06:00:00Z", -14400, -18000, "EST" },
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00:00Z", 3600, 7200, "CEST" },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00:00Z", -7200, -3600, "-01" },
        { "IST-2IDT,M3.4.4/26,M10.5.0", "2026-03-27T00:00:00Z", 7200, 10800, "IDT" },
        { "AAA0BBB,M4.1.0/-167,M10.1.0/167", "2026-03-29T01:00:00Z", 0, 3600, "BBB" },
        { "AAA0BBB,M4.1.0/-167,M10.1.0/167", "2026-10-10T22:00:00Z", 3600, 0, "AAA" },
        { "AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-04-04T16:00:00Z", 39600, 36000, "AEST" },
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-10-03T15:30:00Z", 37800, 39600, "+11" },
        { "IST-1GMT0,M10.5.0,M3.5.0/1", "2026-10-25T01:00:00Z", 3600, 0, "GMT" },
        /* Day 60 is March 1 in every year with J, February 29 without in a leap year. */
        { "AAA0BBB,J60/0,J300/0", "2028-03-01T00:00:00Z", 0, 3600, "BBB" },
        { "AAA0BBB,J60/0,J300/0", "2027-03-01T00:00:00Z", 0, 3600, "BBB" },
        { "AAA0BBB,59/0,300/0", "2028-02-29T00:00:00Z", 0, 3600, "BBB" },
        { "AAA0BBB,59/0,300/0", "2027-03-01T00:00:00Z", 0, 3600, "BBB" },
        { "AAA-24:59:59BBB-25:59:59,J60/0,J300/0", "2027-02-27T23:00:01Z", 89999, 93599, "BBB" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf b = file_with('3', rows[i].rule);
        struct zone *z = NULL;
        int64_t t = moment_of(rows[i].moment) / 1000;
        if (tzfile_parse(buf_view(&b), &z, NULL) != 0) {
            assert_non_null(strstr(rows[i].rule, "25:59:59")); /* more than a day and an hour */
            buf_fini(&b);
            continue;
        }
        buf_fini(&b);
        if (zone_at(z, t - 1).offset_s != rows[i].before || zone_at(z, t).offset_s != rows[i].after)
            fail_msg("%s: %d, %d at %s", rows[i].rule, zone_at(z, t - 1).offset_s,
                     zone_at(z, t).offset_s, rows[i].moment);
        assert_string_equal(zone_at(z, t).abbreviation, rows[i].abbreviation);
        assert_int_equal(zone_at(z, t).start_s, t);
        assert_int_equal(zone_at(z, t - 1).end_s, t);
        zone_free(z);
    }
}

static void daylight_saving_all_year_round_never_ends(void **state)
{
    struct buf b = file_with('3', "XXX3EDT4,0/0,J365/23");
    struct zone *z = parse(&b);
    (void)state;
    for (int64_t t = 1700000000; t < 2000000000; t += 43201) {
        assert_int_equal(zone_at(z, t).offset_s, -4 * 3600);
        assert_true(zone_at(z, t).is_dst);
    }
    zone_free(z);
}

static void bad_rules_are_corrupt(void **state)
{
    static const char *const rules[] = {
        "E",
        "EST",
        "5",
        "EST5EDT",
        "EST5EDT,M3.2.0",
        "EST5EDT,M13.2.0,M11.1.0",
        "<EST5",
        "EST26",
        "<>",
        "EST5:60",
        "EST5EDT,M3.6.0,M11.1.0",
        "EST5EDT,M3.2.7,M11.1.0",
        "EST5EDT,J0,J300",
        "EST5EDT,J366,J300",
        "EST5EDT,366,1",
        "EST5EDT,M3.2.0/168,M11.1.0",
        "EST5EDT,M3.2.0,M11.1.0x",
        "ABCDEFGHIJKLMNOPQ5",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct buf b = file_with('3', rules[i]);
        struct zone *z = NULL;
        const char *why = "";
        if (tzfile_parse(buf_view(&b), &z, &why) != BELFRY_CORRUPT)
            fail_msg("%s was accepted", rules[i]);
        assert_non_null(strstr(why, "rule"));
        buf_fini(&b);
    }
}

static void every_cut_and_every_wrong_count_is_corrupt(void **state)
{
    struct buf b = file_with('2', "EST5");
    struct zone *z = NULL;
    (void)state;
    for (size_t n = 0; n < b.len; n++) {
        char *copy = malloc(n ? n : 1); /* exactly that long, for AddressSanitizer */
        memcpy(copy, b.ptr, n);
        assert_int_equal(tzfile_parse((struct str){ copy, n }, &z, NULL), BELFRY_CORRUPT);
        free(copy);
    }
    for (size_t i = 20; i < 44; i++) {
        b.ptr[i] ^= 0x40;
        assert_int_equal(tzfile_parse(buf_view(&b), &z, NULL), BELFRY_CORRUPT);
        b.ptr[i] ^= 0x40;
    }
    assert_int_equal(tzfile_parse(buf_view(&b), &z, NULL), 0);
    zone_free(z);
    buf_fini(&b);
}

static void names_are_checked_before_anything_is_opened(void **state)
{
    static const char *const bad[] = { "",
                                       "/etc/localtime",
                                       "../zoneinfo/UTC",
                                       "Europe/../UTC",
                                       "a//b",
                                       "Europe/",
                                       ".hidden",
                                       "a/.b",
                                       "a b",
                                       "\xc3\xa9",
                                       "a%b",
                                       "a\\b" };
    char name[200];
    struct zone *z = NULL;
    const char *why = "";
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(zonedir_load(ZONEDIR_DEFAULT, str_of(bad[i]), &z, &why), BELFRY_INVALID);
        assert_non_null(strstr(why, "expected"));
    }
    assert_false(zonedir_name_ok(STR("UTC\0")));
    memset(name, 'a', sizeof name);
    assert_true(zonedir_name_ok((struct str){ name, 128 }));
    assert_false(zonedir_name_ok((struct str){ name, 129 }));
    assert_true(zonedir_name_ok(STR("Etc/GMT+1")));
    assert_true(zonedir_name_ok(STR("America/Port-au-Prince")));
}

static void what_is_no_zone_is_not_found(void **state)
{
    static const char *const absent[] = { "Europe/Atlantis", "Europe", "zone.tab",
                                          "Europe/London/x" };
    struct zone *z = NULL;
    const char *why = "";
    (void)state;
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_int_equal(zonedir_load(ZONEDIR_DEFAULT, str_of(absent[i]), &z, &why),
                         BELFRY_NOTFOUND);
    assert_int_equal(zonedir_load("/nowhere", STR("Europe/London"), &z, &why), BELFRY_NOTFOUND);
    assert_int_equal(zonedir_load("/nowhere", STR("UTC"), &z, &why), 0);
    assert_int_equal(zone_at(z, 0).offset_s, 0);
    zone_free(z);
    if (access(ZONEDIR_DEFAULT "/right/UTC", R_OK) == 0) {
        assert_int_equal(zonedir_load(ZONEDIR_DEFAULT, STR("right/UTC"), &z, &why), BELFRY_INVALID);
        assert_non_null(strstr(why, "leap seconds"));
    }
}

/* What zone.h says of zone_moment and zone_peak, at moments around each change. */
static void check_laws(const char *name, const struct zone *z, int64_t t)
{
    for (int64_t near = t - 7200; near <= t + 7200; near += 900) {
        struct zone_stretch s = zone_at(z, near);
        int64_t local = near + s.offset_s, peak = zone_peak(z, near);
        enum zone_fit fit;
        int64_t back = zone_moment(z, local, &fit);
        if (s.start_s > near || s.end_s <= near || back > near || peak < local ||
            zone_moment(z, peak, NULL) > near || zone_moment(z, peak + 1, NULL) <= near ||
            (back < near && (fit != ZONE_TWICE || local >= s.reach_s)))
            fail_msg("%s at %jd: %jd comes back as %jd", name, (intmax_t)near, (intmax_t)local,
                     (intmax_t)back);
    }
}

static void local_times_lead_back_in_every_zone(void **state)
{
    static const char *const patterns[] = { "/[A-Z]*", "/[A-Z]*/[A-Z]*", "/[A-Z]*/[A-Z]*/[A-Z]*" };
    size_t zones = 0;
    (void)state;
    for (size_t p = 0; p < 3; p++) {
        char pattern[128];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s", ZONEDIR_DEFAULT, patterns[p]);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const char *name = found.gl_pathv[i] + sizeof ZONEDIR_DEFAULT;
            struct zone *z = NULL;
            int64_t t = 0;
            if (zonedir_load(ZONEDIR_DEFAULT, str_of(name), &z, NULL) != 0)
                continue;
            zones++;
            while (t < INT64_C(4102444800)) { /* 2100 */
                t = zone_at(z, t).end_s;
                if (t < INT64_C(4102444800))
                    check_laws(name, z, t);
            }
            zone_free(z);
        }
        globfree(&found);
    }
    printf("%zu zones\n", zones);
    assert_true(zones > 300);
}

static void the_cache_keeps_what_was_used_last(void **state)
{
    static struct zonecache cache;
    const struct zone *first, *z;
    const char *why = "";
    char name[32];
    (void)state;
    assert_int_equal(zonecache_get(&cache, ZONEDIR_DEFAULT, STR("Europe/London"), &first, &why), 0);
    for (int i = 0; i < 3 * ZONECACHE_MAX; i++) {
        struct str zone = { name, (size_t)snprintf(name, sizeof name, "Etc/GMT%+d", i % 14 - 1) };
        zonecache_get(&cache, ZONEDIR_DEFAULT, zone, &z, &why);
        assert_int_equal(zonecache_get(&cache, ZONEDIR_DEFAULT, STR("Europe/London"), &z, &why), 0);
        assert_ptr_equal(z, first);
    }
    assert_int_equal(zonecache_get(&cache, ZONEDIR_DEFAULT, STR("Europe/Nowhere"), &z, &why),
                     BELFRY_NOTFOUND);
    assert_int_equal(zonecache_get(&cache, ZONEDIR_DEFAULT, STR("../passwd"), &z, &why),
                     BELFRY_INVALID);
    zonecache_fini(&cache);
    assert_int_equal(zonecache_get(&cache, "/nowhere", STR("Europe/London"), &z, &why),
                     BELFRY_NOTFOUND);
    zonecache_fini(&cache);
}

/* More zones than there is room for: the memory is that of ZONECACHE_MAX, which ASan watches. */
static void the_cache_drops_what_was_used_longest_ago(void **state)
{
    static const char *const areas[] = { "Europe", "America", "Asia" };
    static const char *const names[] = {
        "London",    "Berlin",  "Paris",     "Madrid",   "Rome",     "Vienna",    "Zurich",
        "Oslo",      "Lisbon",  "Dublin",    "Athens",   "Sofia",    "Kiev",      "Minsk",
        "Moscow",    "Prague",  "Bogota",    "Caracas",  "Chicago",  "Denver",    "Detroit",
        "Halifax",   "Havana",  "Lima",      "Nassau",   "Panama",   "Phoenix",   "Regina",
        "Santiago",  "Toronto", "Vancouver", "Winnipeg", "Amman",    "Baghdad",   "Bangkok",
        "Beirut",    "Colombo", "Damascus",  "Dhaka",    "Dubai",    "Gaza",      "Jakarta",
        "Jerusalem", "Kabul",   "Karachi",   "Kolkata",  "Kuwait",   "Macau",     "Manila",
        "Muscat",    "Qatar",   "Riyadh",    "Seoul",    "Shanghai", "Singapore", "Taipei",
        "Tehran",    "Tokyo",   "Urumqi",    "Yangon",   "Adak",     "Anchorage", "Aruba",
        "Belize",    "Boise",   "Cancun",    "Cayenne",  "Cuiaba",   "Dawson",    "Edmonton",
        "Fortaleza", "Guyana",
    };
    static struct zonecache cache;
    size_t found = 0;
    (void)state;
    for (size_t i = 0; i < 3 * sizeof names / sizeof *names; i++) {
        char name[40];
        const struct zone *z;
        struct str text;
        snprintf(name, sizeof name, "%s/%s", areas[i % 3], names[i / 3]);
        text = str_of(name);
        if (zonecache_get(&cache, ZONEDIR_DEFAULT, text, &z, NULL) == 0) {
            assert_true(zone_size(z) > 0);
            found++;
        }
    }
    assert_true(found > ZONECACHE_MAX);
    zonecache_fini(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_without_rule_ends_in_its_last_offset),
        cmocka_unit_test(rules_say_when_the_clock_changes),
        cmocka_unit_test(daylight_saving_all_year_round_never_ends),
        cmocka_unit_test(bad_rules_are_corrupt),
        cmocka_unit_test(every_cut_and_every_wrong_count_is_corrupt),
        cmocka_unit_test(names_are_checked_before_anything_is_opened),
        cmocka_unit_test(what_is_no_zone_is_not_found),
        cmocka_unit_test(local_times_lead_back_in_every_zone),
        cmocka_unit_test(the_cache_keeps_what_was_used_last),
        cmocka_unit_test(the_cache_drops_what_was_used_longest_ago),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
