/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "front/event_stream.h"

static struct event_ring ring;
static struct event_texts texts;
static struct event_stream stream;
static struct buf out;
static char why[256];

static int setup(void **state)
{
    (void)state;
    ring = (struct event_ring){ 0 };
    texts = (struct event_texts){ 0 };
    return event_ring_open(&ring, EVENT_RING_MIN);
}

static int teardown(void **state)
{
    (void)state;
    event_ring_close(&ring);
    event_texts_fini(&texts);
    buf_fini(&out);
    return 0;
}

/* By words as http_translate makes them, NULL at the end. */
static int ask(const char *last_id, const char *const *options)
{
    struct str words[16] = { STR("EVENTS") };
    size_t n = 1;

    for (; *options; options++)
        words[n++] = str_of(*options);
    why[0] = '\0';
    int err = event_stream_init(&stream, words, n, why, sizeof(why));
    return err ? err : event_stream_place(&stream, &ring, 7, last_id, why, sizeof(why));
}

#define ASK(last_id, ...) ask(last_id, (const char *const[]){ __VA_ARGS__ })

static struct job_event event(const char *tenant, const char *queue, enum job_state state)
{
    return (struct job_event){ .id = { 1, 0, 2 },
                               .cause = CAUSE_CREATED,
                               .tenant = str_of(tenant),
                               .queue = str_of(queue),
                               .state = state,
                               .from = -1,
                               .outcome = -1,
                               .start_ms = -1,
                               .late_ms = -1,
                               .at_ms = -1 };
}

static bool wants(const char *tenant, const char *queue, enum job_state state)
{
    struct job_event ev = event(tenant, queue, state);

    return event_stream_wants(&stream, &ev);
}

static void filters_let_through_what_they_name(void **state)
{
    (void)state;
    assert_int_equal(ASK(NULL, NULL), 0);
    assert_true(wants("default", "q", JOB_DONE) && !wants("acme", "q", JOB_DONE));
    assert_int_equal(ASK(NULL, "tenant", "*", NULL), 0);
    assert_true(wants("default", "q", JOB_DONE) && wants("acme", "q", JOB_DONE));
    assert_int_equal(ASK(NULL, "tenant", "acme", "queue", "a/b", NULL), 0);
    assert_true(wants("acme", "a/b", JOB_DONE) && !wants("acme", "a", JOB_DONE));
    assert_true(!wants("default", "a/b", JOB_DONE));
    assert_int_equal(ASK(NULL, "state", "done", "state", "waiting", NULL), 0);
    assert_true(wants("default", "q", JOB_DONE) && wants("default", "q", JOB_WAITING));
    assert_true(!wants("default", "q", JOB_SCHEDULED) && !wants("default", "q", JOB_DEAD));
    event_stream_confine(&stream, NULL, STR("acme"));
    assert_true(wants("acme", "q", JOB_DONE) && !wants("default", "q", JOB_DONE));
}

static void what_is_no_filter_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ASK(NULL, "state", "ready", NULL), BELFRY_INVALID);
    assert_non_null(strstr(why, "state: expected one of scheduled"));
    assert_int_equal(ASK(NULL, "queue", "a b", NULL), BELFRY_INVALID);
    assert_int_equal(ASK(NULL, "tenant", "", NULL), BELFRY_INVALID);
    assert_int_equal(ASK(NULL, "after", "17", NULL), BELFRY_INVALID);
    assert_string_equal(why, "after: expected the id of an event, such as 3-17");
    assert_int_equal(ASK("3-", "after", "7-1", NULL), BELFRY_INVALID);
    assert_string_equal(why, "Last-Event-ID: expected the id of an event, such as 3-17");
    assert_int_equal(ASK("18446744073709551616-1", NULL), BELFRY_INVALID);
    assert_int_equal(ASK("1-1 ", NULL), BELFRY_INVALID);
}

static const char *next(void)
{
    out.len = 0;
    if (!event_stream_next(&stream, &ring, &texts, 7, &out))
        return "";
    buf_append(&out, "", 1);
    return out.ptr;
}

static void put(const char *tenant, uint64_t lsn)
{
    struct job_event ev = event(tenant, "q", JOB_SCHEDULED);

    ev.lsn = lsn;
    event_ring_put(&ring, &ev);
}

static void events_are_written_with_their_id(void **state)
{
    (void)state;
    assert_int_equal(ASK(NULL, NULL), 0);
    put("default", 1);
    put("acme", 2);
    put("default", 3);
    assert_string_equal(next(), "");
    event_ring_settle(&ring, 3);
    assert_string_equal(
        next(), "id: 7-1\nevent: scheduled\ndata: {\"id\":\"00000000010000000000000002\","
                "\"tenant\":\"default\",\"queue\":\"q\",\"state\":\"scheduled\",\"from\":null,"
                "\"cause\":\"created\",\"attempt\":0,\"happened_ms\":0,\"due_ms\":0,\"at_ms\":null,"
                "\"outcome\":null,\"lateness_ms\":null,\"duration_ms\":null,\"worker\":null,"
                "\"error\":null}\n\n");
    assert_memory_equal(next(), "id: 7-3\n", 8);
    assert_string_equal(next(), "");
}

static void what_it_passed_over_counts_as_seen(void **state)
{
    (void)state;
    assert_int_equal(ASK(NULL, NULL), 0);
    event_stream_hello(&stream, 7, &out);
    assert_true(str_eq(buf_view(&out), STR("retry: 1000\nid: 7-0\n\n")));
    put("acme", 1);
    event_ring_settle(&ring, 1);
    assert_string_equal(next(), "");
    out.len = 0;
    event_stream_beat(&stream, 7, &out);
    assert_true(str_eq(buf_view(&out), STR(": alive\nid: 7-1\n\n")));
    assert_int_equal(ASK("7-1", NULL), 0);
    assert_string_equal(next(), "");
}

static void a_gap_says_how_many_and_goes_on(void **state)
{
    char wanted[64];

    (void)state;
    assert_int_equal(ASK(NULL, NULL), 0);
    for (uint64_t n = 1; n <= 2000; n++)
        put("default", n);
    event_ring_settle(&ring, 2000);
    snprintf(wanted, sizeof(wanted), "id: 7-%d\nevent: gap\ndata: {\"missed\":%d}\n\n",
             (int)ring.first - 1, (int)ring.first - 1);
    assert_string_equal(next(), wanted);
    snprintf(wanted, sizeof(wanted), "id: 7-%d\n", (int)ring.first);
    assert_memory_equal(next(), wanted, strlen(wanted));
    assert_int_equal(ASK("6-17", NULL), 0); /* of before a restart */
    assert_non_null(strstr(next(), "event: gap\ndata: {\"missed\":null}\n\n"));
    assert_memory_equal(next(), wanted, strlen(wanted));
}

static void bytes_that_are_no_text_come_as_base64(void **state)
{
    struct job_event ev = event("default", "q", JOB_DEAD);

    (void)state;
    ev.error = STR("\xff\"\n");
    ev.worker = STR("a\"b\n");
    ev.from = JOB_LEASED;
    ev.cause = CAUSE_ENDED;
    ev.outcome = ATTEMPT_STALLED;
    ev.now_ms = 500;
    ev.start_ms = 200;
    ev.late_ms = 3;
    event_json(&ev, &out);
    buf_append(&out, "", 1);
    assert_non_null(strstr(out.ptr, "\"state\":\"dead\",\"from\":\"leased\",\"cause\":\"ended\""));
    assert_non_null(strstr(out.ptr, "\"outcome\":\"stalled\",\"lateness_ms\":3,\"duration_ms\":300,"
                                    "\"worker\":\"a\\\"b\\n\",\"error_base64\":\"/yIK\"}"));
    assert_null(strchr(out.ptr, '\n'));
}

#define STREAM(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void the_text_of_an_event_is_made_once_for_all_readers(void **state)
{
    enum { READERS = 5, EVENTS = 100 };
    struct event_stream readers[READERS], late;
    struct buf texts_of[READERS] = { { 0 } };

    (void)state;
    assert_int_equal(ASK(NULL, NULL), 0);
    late = stream;
    for (int i = 0; i < READERS; i++)
        readers[i] = stream;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < EVENTS; i++)
            put("default", 1);
        event_ring_settle(&ring, 1);
        for (int i = 0; i < READERS; i++)
            while (event_stream_next(&readers[i], &ring, &texts, 7, &texts_of[i]))
                ;
    }
    assert_int_equal(texts.made, 10 * EVENTS);
    for (int i = 1; i < READERS; i++) {
        assert_int_equal(texts_of[i].len, texts_of[0].len);
        assert_memory_equal(texts_of[i].ptr, texts_of[0].ptr, texts_of[0].len);
    }
    out.len = 0;
    late.cursor = event_ring_behind(&ring, ring.first); /* far behind: the texts are gone */
    while (event_stream_next(&late, &ring, &texts, 7, &out))
        ;
    assert_true(out.len > 1000 && out.len < texts_of[0].len);
    assert_memory_equal(out.ptr, texts_of[0].ptr + texts_of[0].len - out.len, out.len);
    for (int i = 0; i < READERS; i++)
        buf_fini(&texts_of[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STREAM(filters_let_through_what_they_name),
        STREAM(what_is_no_filter_is_refused),
        STREAM(the_text_of_an_event_is_made_once_for_all_readers),
        STREAM(what_is_no_filter_is_refused),
        STREAM(events_are_written_with_their_id),
        STREAM(what_it_passed_over_counts_as_seen),
        STREAM(a_gap_says_how_many_and_goes_on),
        STREAM(bytes_that_are_no_text_come_as_base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
