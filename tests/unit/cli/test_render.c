/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "cli/json.h"
#include "cli/render.h"
#include "cli/text.h"
#include "support/utc.h"

#define NOW INT64_C(1794778337307) /* 2026-11-15T21:32:17.307Z */

/* A reply as it comes from the server. */
static struct resp_values reply_of(struct str bytes)
{
    struct resp_values v = { 0 };
    size_t used;
    assert_int_equal(resp_read_value(&v, bytes, &used), RESP_OK);
    assert_int_equal(used, bytes.len);
    return v;
}

static void assert_json(struct str bytes, const char *expected)
{
    struct resp_values v = reply_of(bytes);
    struct buf out = { 0 };
    json_put(&out, &v, 0);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, expected);
    buf_fini(&out);
    resp_values_fini(&v);
}

static void assert_text(struct str bytes, size_t width, const char *expected)
{
    struct resp_values v = reply_of(bytes);
    struct render r = { .width = width, .now_ms = NOW };
    struct buf out = { 0 };
    render_value(&out, &v, 0, &r);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, expected);
    buf_fini(&out);
    resp_values_fini(&v);
}

static void assert_cut(const char *text, size_t most, const char *expected, size_t columns)
{
    struct buf out = { 0 };
    assert_int_equal(text_put(&out, str_of(text), most), columns);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, expected);
    buf_fini(&out);
}

static void numbers_booleans_and_null_are_exact_in_json(void **state)
{
    (void)state;
    assert_json(STR(":9223372036854775807\r\n"), "9223372036854775807");
    assert_json(STR(":-9223372036854775808\r\n"), "-9223372036854775808");
    assert_json(STR(":0\r\n"), "0");
    assert_json(STR("#t\r\n"), "true");
    assert_json(STR("#f\r\n"), "false");
    assert_json(STR("_\r\n"), "null");
    assert_json(STR("$-1\r\n"), "null");
    assert_json(STR(",1.5\r\n"), "1.5");
    assert_json(STR(",inf\r\n"), "\"inf\"");
}

static void strings_are_escaped_in_json(void **state)
{
    (void)state;
    assert_json(STR("+OK\r\n"), "\"OK\"");
    assert_json(STR("$0\r\n\r\n"), "\"\"");
    assert_json(STR("$9\r\n\"\\\b\t\n\f\r\0\x1f\r\n"), "\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f\"");
    assert_json(STR("$9\r\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94\r\n"),
                "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94\"");
}

static void bytes_that_are_not_utf8_are_base64_in_json(void **state)
{
    (void)state;
    assert_json(STR("$1\r\n\xff\r\n"), "{\"base64\":\"/w==\"}");
    assert_json(STR("$2\r\n\xff\xfe\r\n"), "{\"base64\":\"//4=\"}");
    assert_json(STR("$3\r\n\xff\xfe\xfd\r\n"), "{\"base64\":\"//79\"}");
    assert_json(STR("$3\r\na\xc3!\r\n"), "{\"base64\":\"YcMh\"}");               /* cut short */
    assert_json(STR("$2\r\n\xc0\xaf\r\n"), "{\"base64\":\"wK8=\"}");             /* overlong */
    assert_json(STR("$3\r\n\xed\xa0\x80\r\n"), "{\"base64\":\"7aCA\"}");         /* a surrogate */
    assert_json(STR("$4\r\n\xf4\x90\x80\x80\r\n"), "{\"base64\":\"9JCAgA==\"}"); /* too large */
}

static void maps_and_arrays_nest_in_json(void **state)
{
    (void)state;
    assert_json(STR("*0\r\n"), "[]");
    assert_json(STR("%0\r\n"), "{}");
    assert_json(
        STR("%2\r\n$4\r\njobs\r\n*2\r\n%1\r\n$1\r\na\r\n:1\r\n*1\r\n_\r\n$6\r\ncursor\r\n_\r\n"),
        "{\"jobs\":[{\"a\":1},[null]],\"cursor\":null}");
    assert_json(STR("*1\r\n-STALE gone\r\n"), "[{\"error\":\"STALE gone\"}]");
}

static void a_map_is_aligned_lines_without_those_that_say_nothing(void **state)
{
    (void)state;
    assert_text(STR("%4\r\n$2\r\nid\r\n$2\r\n01\r\n$7\r\npayload\r\n$2\r\nhi\r\n$4\r\nnote\r\n_\r\n"
                    "$9\r\ncancelled\r\n#t\r\n"),
                0,
                "id         01\n"
                "payload    hi\n"
                "cancelled  yes\n");
}

static void moments_durations_and_sizes_are_for_people(void **state)
{
    (void)state;
    assert_text(STR("%6\r\n$6\r\ndue_ms\r\n:1794778517307\r\n$8\r\nuntil_ms\r\n:1794778335000\r\n"
                    "$8\r\nstart_ms\r\n:1794778337307\r\n$8\r\nlease_ms\r\n:90000\r\n"
                    "$9\r\nrss_bytes\r\n:2621440\r\n$7\r\nattempt\r\n:3\r\n"),
                0,
                "due        2026-11-15T21:35:17.307+00:00 (in 3m)\n"
                "until      2026-11-15T21:32:15+00:00 (2s ago)\n"
                "start      2026-11-15T21:32:17.307+00:00 (now)\n"
                "lease      1m 30s\n"
                "rss_bytes  2.50 MiB\n"
                "attempt    3\n");
}

static void moments_of_all_replies_are_known(void **state)
{
    (void)state;
    assert_text(STR("%4\r\n$7\r\nnext_ms\r\n:1794778517307\r\n$9\r\nedited_ms\r\n:1794778335000\r\n"
                    "$17\r\ndeferred_until_ms\r\n:1794778337307\r\n$9\r\nspread_ms\r\n:60000\r\n"),
                0,
                "next            2026-11-15T21:35:17.307+00:00 (in 3m)\n"
                "edited          2026-11-15T21:32:15+00:00 (2s ago)\n"
                "deferred_until  2026-11-15T21:32:17.307+00:00 (now)\n"
                "spread          1m\n");
}

static void durations_are_short(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        { 0, "0ms" },
        { 999, "999ms" },
        { 1000, "1s" },
        { 1985, "1.99s" },
        { 2500, "2.5s" },
        { 59994, "59.99s" },
        { 59995, "1m" },
        { 242118, "4m 2s" },
        { 5400000, "1h 30m" },
        { 2592000000, "30d" },
        { 694861000, "8d 1h 1m 1s" },
        { -1500, "-1.5s" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(field_duration(rows[i].ms).text, rows[i].text);
    assert_true(strlen(field_duration(INT64_MIN).text) > 0);
}

static void microseconds_and_limits_of_bytes_are_known_by_their_fields(void **state)
{
    (void)state;
    assert_text(STR("%5\r\n$12\r\nfetch_p50_us\r\n:640\r\n$12\r\nfetch_p99_us\r\n:1985\r\n"
                    "$12\r\nfetch_max_us\r\n:2500000\r\n$10\r\nmax_leased\r\n:1048576\r\n"
                    "$18\r\nkept_bytes_refused\r\n:2048\r\n"),
                0,
                "fetch_p50_us        640µs\n"
                "fetch_p99_us        1.99ms\n"
                "fetch_max_us        2.5s\n"
                "max_leased          1.00 MiB\n"
                "kept_bytes_refused  2048\n");
}

/* Two jobs, with the fields of a list. */
#define JOBS                                                                              \
    "*2\r\n%4\r\n$2\r\nid\r\n$1\r\n1\r\n$5\r\nqueue\r\n$1\r\nq\r\n$6\r\ndue_ms\r\n"       \
    ":1794778335000\r\n$5\r\nerror\r\n_\r\n%4\r\n$2\r\nid\r\n$1\r\n2\r\n$5\r\nqueue\r\n$" \
    "1\r\nr\r\n"                                                                          \
    "$6\r\ndue_ms\r\n:1794778338307\r\n$5\r\nerror\r\n$3\r\nbad\r\n"

static void assert_shown(struct render r, const char *expected)
{
    struct resp_values v = reply_of(STR(JOBS));
    struct buf out = { 0 };
    r.now_ms = NOW;
    render_value(&out, &v, 0, &r);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, expected);
    buf_fini(&out);
    resp_values_fini(&v);
}

static void a_table_shows_the_columns_that_are_asked_for(void **state)
{
    (void)state;
    assert_shown((struct render){ .columns = "id,due,nonsense" },
                 "id  due\n1   2026-11-15T21:32:15+00:00\n2   2026-11-15T21:32:18.307+00:00\n");
    assert_shown((struct render){ .columns = "id", .fields = "queue,id" },
                 "queue  id\nq      1\nr      2\n");
    assert_shown((struct render){ .fields = "due_ms,error", .no_header = true, .width = 80 },
                 "2026-11-15T21:32:15+00:00 (2s ago)     -\n"
                 "2026-11-15T21:32:18.307+00:00 (in 1s)  bad\n");
    assert_shown((struct render){ .columns = "id", .width = 80 },
                 "id\n1\n2\n(3 more fields: --wide shows all, --fields a,b some)\n");
}

static void json_has_the_fields_that_are_asked_for(void **state)
{
    struct resp_values v = reply_of(STR(JOBS));
    struct buf out = { 0 };
    (void)state;
    json_put_fields(&out, &v, 0, "due,id");
    assert_true(str_eq(buf_view(&out), STR("[{\"id\":\"1\",\"due_ms\":1794778335000},"
                                           "{\"id\":\"2\",\"due_ms\":1794778338307}]")));
    buf_fini(&out);
    resp_values_fini(&v);
}

static void moments_are_shown_in_the_local_zone(void **state)
{
    (void)state;
    setenv("TZ", "XXX-5:30", 1); /* POSIX: east of Greenwich is negative */
    tzset();
    assert_text(STR("%1\r\n$6\r\ndue_ms\r\n:1794778335000\r\n"), 0,
                "due  2026-11-16T03:02:15+05:30 (2s ago)\n");
    setenv("TZ", "XXX3", 1);
    tzset();
    assert_text(STR("%1\r\n$6\r\ndue_ms\r\n:1794778335000\r\n"), 0,
                "due  2026-11-15T18:32:15-03:00 (2s ago)\n");
    setenv("TZ", "UTC0", 1);
    tzset();
}

static void an_array_of_maps_is_a_table(void **state)
{
    (void)state;
    assert_text(
        STR("*2\r\n%3\r\n$2\r\nid\r\n$3\r\nabc\r\n$7\r\nattempt\r\n:7\r\n$3\r\nkey\r\n_\r\n"
            "%3\r\n$2\r\nid\r\n$1\r\nd\r\n$7\r\nattempt\r\n:12345678\r\n$3\r\nkey\r\n$1\r\nk\r\n"),
        0,
        "id    attempt  key\n"
        "abc         7  -\n"
        "d    12345678  k\n");
    assert_text(STR("*0\r\n"), 0, "");
}

static void whose_it_is_stands_there_if_it_is_not_all_the_default_tenants(void **state)
{
#define OF(tenant, len)                                                \
    "%3\r\n$2\r\nid\r\n$1\r\n7\r\n$6\r\ntenant\r\n$" len "\r\n" tenant \
    "\r\n$5\r\nqueue\r\n$1\r\nq\r\n"
    struct render all = { .tenants = true, .now_ms = NOW };
    struct resp_values v = reply_of(STR("*1\r\n" OF("default", "7")));
    struct buf out = { 0 };
    (void)state;
    assert_text(STR("*1\r\n" OF("default", "7")), 0, "id  queue\n7   q\n");
    assert_text(STR("*2\r\n" OF("default", "7") OF("acme", "4")), 0,
                "id  tenant   queue\n7   default  q\n7   acme     q\n");
    assert_text(STR(OF("default", "7")), 0, "id     7\nqueue  q\n");
    assert_text(STR(OF("acme", "4")), 0, "id      7\ntenant  acme\nqueue   q\n");
    assert_text(STR("%2\r\n$6\r\ntenant\r\n$7\r\ndefault\r\n$6\r\nweight\r\n:1\r\n"), 0,
                "tenant  default\nweight  1\n"); /* there it is what is shown */
    render_value(&out, &v, 0, &all);             /* later pages may have others */
    assert_true(str_eq(buf_view(&out), STR("id  tenant   queue\n7   default  q\n")));
    buf_fini(&out);
    resp_values_fini(&v);
#undef OF
}

static void a_map_inside_a_map_is_indented(void **state)
{
    (void)state;
    assert_text(
        STR("%3\r\n$5\r\nstate\r\n$4\r\ndone\r\n$7\r\nhistory\r\n*1\r\n%2\r\n$7\r\nattempt\r\n"
            ":1\r\n$7\r\noutcome\r\n$4\r\ndone\r\n$4\r\ntags\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        0,
        "state    done\n"
        "history\n"
        "  attempt  outcome\n"
        "        1  done\n"
        "tags     a, b\n");
}

static void odd_bytes_are_escaped_so_that_a_terminal_is_safe(void **state)
{
    (void)state;
    assert_text(STR("%1\r\n$7\r\npayload\r\n$10\r\n\x1b[0m\0\xff\n\t\x7f\\\r\n"), 0,
                "payload  \\x1b[0m\\x00\\xff\\n\\t\\x7f\\\n");
    assert_text(STR("$6\r\n\xc2\x9b\xe2\x80\xae!\r\n"), 0, "\\u009b\\u202e!\n");
}

static void long_text_is_cut_to_the_columns_there_are(void **state)
{
    (void)state;
    assert_cut("hello", 0, "hello", 5);
    assert_cut("hello", 5, "hello", 5);
    assert_cut("hello", 4, "hel…", 4);
    assert_cut("hello", 1, "…", 1);
    assert_cut("h\xc3\xa9llo", 4, "h\xc3\xa9l…", 4);
    assert_cut("ab\n\n", 5, "ab\\n…", 5);
    assert_cut("", 3, "", 0);
}

static void a_table_is_cut_to_the_width_but_ids_stay_whole(void **state)
{
    (void)state;
    struct str jobs = STR("*1\r\n%2\r\n$2\r\nid\r\n$26\r\n01M7GJ040V0000000000000003\r\n"
                          "$7\r\npayload\r\n$40\r\naaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb\r\n");
    assert_text(jobs, 40,
                "id                          payload\n"
                "01M7GJ040V0000000000000003  aaaaaaaaaaa…\n");
    assert_text(jobs, 0,
                "id                          payload\n"
                "01M7GJ040V0000000000000003  aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbb\n");
}

static void a_table_that_is_too_wide_leaves_out_what_says_least(void **state)
{
    (void)state;
    assert_text(
        STR("*2\r\n%4\r\n$5\r\nqueue\r\n$8\r\naaaaaaaa\r\n$4\r\ndead\r\n:0\r\n$8\r\nattempts\r\n"
            ":5\r\n$5\r\nready\r\n:1\r\n%4\r\n$5\r\nqueue\r\n$8\r\nbbbbbbbb\r\n$4\r\ndead\r\n:0\r\n"
            "$8\r\nattempts\r\n:5\r\n$5\r\nready\r\n:2\r\n"),
        20,
        "queue     ready\n"
        "aaaaaaaa      1\n"
        "bbbbbbbb      2\n"
        "(2 more fields: --wide shows all, --fields a,b some)\n");
}

static void later_pages_keep_the_layout_of_the_first(void **state)
{
    struct resp_values first =
        reply_of(STR("*1\r\n%2\r\n$3\r\nkey\r\n$2\r\naa\r\n$1\r\nn\r\n:1\r\n"));
    struct resp_values second =
        reply_of(STR("*1\r\n%2\r\n$3\r\nkey\r\n$5\r\nbbbbb\r\n$1\r\nn\r\n:22\r\n"));
    struct render r = { .now_ms = NOW };
    struct render_pages pages = { 0 };
    struct buf out = { 0 };
    (void)state;
    render_page(&pages, &out, &first, 0, &r, 0);
    render_page(&pages, &out, &second, 0, &r, 0);
    buf_append(&out, "", 1);
    assert_string_equal(out.ptr, "key  n\naa   1\nbbbbb  22\n"); /* wider, but nothing is lost */
    grid_fini(&pages.grid);
    buf_fini(&out);
    resp_values_fini(&first);
    resp_values_fini(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_booleans_and_null_are_exact_in_json),
        cmocka_unit_test(strings_are_escaped_in_json),
        cmocka_unit_test(bytes_that_are_not_utf8_are_base64_in_json),
        cmocka_unit_test(maps_and_arrays_nest_in_json),
        cmocka_unit_test(a_map_is_aligned_lines_without_those_that_say_nothing),
        cmocka_unit_test(moments_durations_and_sizes_are_for_people),
        cmocka_unit_test(moments_of_all_replies_are_known),
        cmocka_unit_test(durations_are_short),
        cmocka_unit_test(microseconds_and_limits_of_bytes_are_known_by_their_fields),
        cmocka_unit_test(a_table_shows_the_columns_that_are_asked_for),
        cmocka_unit_test(json_has_the_fields_that_are_asked_for),
        cmocka_unit_test(moments_are_shown_in_the_local_zone),
        cmocka_unit_test(an_array_of_maps_is_a_table),
        cmocka_unit_test(whose_it_is_stands_there_if_it_is_not_all_the_default_tenants),
        cmocka_unit_test(a_map_inside_a_map_is_indented),
        cmocka_unit_test(odd_bytes_are_escaped_so_that_a_terminal_is_safe),
        cmocka_unit_test(long_text_is_cut_to_the_columns_there_are),
        cmocka_unit_test(a_table_is_cut_to_the_width_but_ids_stay_whole),
        cmocka_unit_test(a_table_that_is_too_wide_leaves_out_what_says_least),
        cmocka_unit_test(later_pages_keep_the_layout_of_the_first),
    };
    return cmocka_run_group_tests(tests, utc, NULL);
}
