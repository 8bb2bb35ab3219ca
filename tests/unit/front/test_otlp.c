/* SPDX-License-Identifier: MIT */
/* The structure as a receiver reads it is looked at in tests/e2e/test_otlp.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "front/json.h"
#include "front/otlp.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static struct buf out;

static int teardown(void **state)
{
    (void)state;
    buf_fini(&out);
    return 0;
}

static void a_traceparent_is_read_strictly(void **state)
{
    static const char *const bad[] = {
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0101",
        "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "0x-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.x",
    };
    struct trace_context c;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (trace_parse(str_of(bad[i]), &c))
            fail_msg("%s", bad[i]);
    assert_true(trace_parse(STR(PARENT), &c));
    assert_true(c.sampled && c.trace[0] == 0x0a && c.trace[15] == 0x9c && c.parent[7] == 0x31);
    assert_true(trace_parse(STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02"), &c));
    assert_false(c.sampled);
    assert_true(trace_parse(STR("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x"), &c));
}

static struct job_event event(enum event_cause cause, int outcome)
{
    return (struct job_event){ .id = { 0x010203, 4, 5 },
                               .cause = cause,
                               .state = cause == CAUSE_ENDED ? JOB_DEAD : JOB_SCHEDULED,
                               .from = -1,
                               .outcome = outcome,
                               .now_ms = 2000,
                               .start_ms = outcome < 0 ? -1 : 1500,
                               .late_ms = 7,
                               .token = 99,
                               .tenant = STR("acme"),
                               .queue = STR("q"),
                               .error = STR("bo\"om\n\xff") };
}

static unsigned spans(struct job_event ev, const char *trace)
{
    out.len = 0;
    ev.trace = str_of(trace);

    unsigned n = otlp_spans(&ev, true, &out);

    buf_append(&out, "", 1);
    out.len--;
    return n;
}

/* The id of the i-th span of the last ones. */
static void span_id_of(int i, char ret[17])
{
    const char *p = out.ptr;

    for (; i >= 0; i--) {
        p = strstr(p, "\"spanId\":\"");
        assert_non_null(p);
        p += 10;
    }
    memcpy(ret, p, 16);
    ret[16] = '\0';
}

static void has(const char *format, const char *id)
{
    char text[100];

    snprintf(text, sizeof(text), "%s%s\"", format, id);
    if (!strstr(out.ptr, text))
        fail_msg("no %s in %s", text, out.ptr);
}

static void spans_are_in_one_trace_and_know_their_parents(void **state)
{
    char schedule[17], deliver[17], other[17];

    (void)state;
    assert_int_equal(spans(event(CAUSE_CREATED, -1), PARENT), 1);
    span_id_of(0, schedule);
    has("\"traceId\":\"", "0af7651916cd43dd8448eb211c80319c");
    has("\"parentSpanId\":\"", "b7ad6b7169203331");
    has("\"name\":\"", "schedule q");
    has("\"startTimeUnixNano\":\"", "2000000000");

    assert_int_equal(spans(event(CAUSE_RETRIED, ATTEMPT_FAILED), PARENT), 1);
    span_id_of(0, deliver);
    has("\"parentSpanId\":\"", schedule);
    has("\"startTimeUnixNano\":\"", "1500000000");
    has("\"status\":{\"code\":2,\"message\":\"", "(bytes)");

    assert_int_equal(spans(event(CAUSE_ENDED, ATTEMPT_FAILED), PARENT), 2);
    span_id_of(0, other);
    assert_string_equal(other, deliver); /* the same lease */
    has("\"parentSpanId\":\"", schedule);
    has("\"parentSpanId\":\"", deliver);
    has("\"name\":\"", "finish q");

    assert_int_equal(spans(event(CAUSE_ENDED, -1), PARENT), 1);
    has("\"parentSpanId\":\"", schedule);

    struct job_event again = event(CAUSE_RETRIED, ATTEMPT_FAILED);
    again.token = 100;
    assert_int_equal(spans(again, PARENT), 1);
    span_id_of(0, other);
    assert_string_not_equal(other, deliver);
}

static void without_a_traceparent_the_id_is_the_trace(void **state)
{
    (void)state;
    assert_int_equal(spans(event(CAUSE_CREATED, -1), "nonsense"), 1);
    has("\"traceId\":\"", "00000001020300040000000000000005");
    assert_null(strstr(out.ptr, "parentSpanId"));
}

static void what_is_not_sampled_or_no_span_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(
        spans(event(CAUSE_CREATED, -1), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"),
        0);
    assert_int_equal(spans(event(CAUSE_LEASED, -1), PARENT), 0);
    assert_int_equal(spans(event(CAUSE_RESCHEDULED, -1), PARENT), 0);
    assert_int_equal(out.len, 0);
    assert_int_equal(spans(event(CAUSE_RELEASED, ATTEMPT_RELEASED), PARENT), 1);
    assert_null(strstr(out.ptr, "status"));
}

static void a_request_is_json(void **state)
{
    struct buf all = { 0 }, request = { 0 }, text = { 0 };
    struct job_event ev = event(CAUSE_ENDED, ATTEMPT_STALLED);
    struct json j;

    (void)state;
    assert_int_equal(otlp_spans(&ev, true, &all), 2);
    ev.worker = STR("\xff");
    assert_int_equal(otlp_spans(&ev, false, &all), 2);
    otlp_request(STR("a \"name\""), buf_view(&all), &request);
    json_begin(&j, buf_view(&request));
    assert_true(json_take(&j, &text) && json_done(&j));
    buf_fini(&all);
    buf_fini(&request);
    buf_fini(&text);
}

#define OTLP(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OTLP(a_traceparent_is_read_strictly),
        OTLP(spans_are_in_one_trace_and_know_their_parents),
        OTLP(without_a_traceparent_the_id_is_the_trace),
        OTLP(what_is_not_sampled_or_no_span_is_left_out),
        OTLP(a_request_is_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
