/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "front/json_reply.h"

static struct buf out;
static struct json_reply r;

static void begin(const char *name)
{
    buf_fini(&out);
    out = (struct buf){ 0 };
    json_reply_init(&r, &out, name);
}

static int end(void **state)
{
    (void)state;
    buf_fini(&out);
    out = (struct buf){ 0 };
    return 0;
}

static void assert_body(const char *text)
{
    assert_int_equal(r.outcome, JSON_OUTCOME_BODY);
    assert_int_equal(r.depth, 0);
    if (out.len != strlen(text) || memcmp(out.ptr, text, out.len) != 0)
        fail_msg("%.*s", STR_ARG(buf_view(&out)));
}

static void a_map_is_the_answer_itself(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin("unused");
    reply_map(b, 5);
    reply_text(b, "n");
    reply_integer(b, -7);
    reply_text(b, "none");
    reply_null(b);
    reply_text(b, "yes");
    reply_boolean(b, true);
    reply_text(b, "list");
    reply_array(b, 2);
    reply_text(b, "a\"b");
    reply_map(b, 0);
    reply_text(b, "empty");
    reply_array(b, 0);
    assert_body("{\"n\":-7,\"none\":null,\"yes\":true,\"list\":[\"a\\\"b\",{}],\"empty\":[]}");
    begin(NULL);
    reply_map(b, 0);
    assert_body("{}");
}

static void what_is_no_map_stands_in_a_field(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin("id");
    reply_text(b, "x");
    assert_body("{\"id\":\"x\"}");
    begin("count");
    reply_integer(b, 3);
    assert_body("{\"count\":3}");
    begin("jobs");
    reply_array(b, 0);
    assert_body("{\"jobs\":[]}");
    begin("jobs");
    reply_array(b, 2);
    for (int i = 0; i < 2; i++) {
        reply_map(b, 1);
        reply_text(b, "i");
        reply_integer(b, i);
    }
    assert_body("{\"jobs\":[{\"i\":0},{\"i\":1}]}");
    begin("outcome");
    reply_status(b, "cancelled");
    assert_body("{\"outcome\":\"cancelled\"}");
}

static void errors_stand_among_elements(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin("results");
    reply_array(b, 3);
    for (int i = 0; i < 2; i++) {
        reply_map(b, 1);
        reply_text(b, "created");
        reply_boolean(b, i == 0);
    }
    b->ops->error(b, "STALE", STR("old"));
    assert_body("{\"results\":[{\"created\":true},{\"created\":false},{\"error\":{\"type\":"
                "\"urn:belfry:error:STALE\",\"title\":\"lease no longer held\",\"status\":409,"
                "\"code\":\"STALE\",\"detail\":\"old\"}}]}");
    assert_int_equal(r.errors, 1);
    assert_int_equal(r.created, 1);
    assert_int_equal(r.kept, 1);
}

/* Puts a payload and a result, as they are asked for with payload=json. */
static void put_both(struct str payload, struct str result)
{
    struct reply *b = &r.base;

    begin(NULL);
    r.json = true;
    reply_map(b, 3);
    reply_text(b, "payload");
    reply_bytes(b, payload);
    reply_text(b, "result");
    reply_bytes(b, result);
    reply_text(b, "key");
    reply_bytes(b, STR("1"));
}

static void payloads_that_are_json_come_as_values(void **state)
{
    (void)state;
    put_both(STR(" {\"a\" : [1.50, \"\\u00e9\"]} "), STR("null"));
    assert_body("{\"payload_json\":{\"a\":[1.50,\"\\u00e9\"]},\"result_json\":null,\"key\":\"1\"}");
    put_both(STR("{\"a\":1} x"), STR(""));
    assert_body("{\"payload\":\"{\\\"a\\\":1} x\",\"result\":\"\",\"key\":\"1\"}");
    put_both(STR("[1,"), STR("\"\xff\""));
    assert_body("{\"payload\":\"[1,\",\"result_base64\":\"Iv8i\",\"key\":\"1\"}");
}

static void bytes_that_are_no_utf8_change_their_name(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin(NULL);
    reply_map(b, 3);
    reply_text(b, "payload");
    reply_bytes(b, STR("\xff\0"));
    reply_text(b, "text");
    reply_bytes(b, STR("\xc3\xa9\0"));
    reply_text(b, "list");
    reply_array(b, 1);
    reply_bytes(b, STR("\x80"));
    assert_body("{\"payload_base64\":\"/"
                "wA=\",\"text\":\"\xc3\xa9\\u0000\",\"list\":[{\"base64\":\"gA==\"}]}");
    begin("id");
    reply_bytes(b, STR("\xff"));
    assert_body("{\"id\":{\"base64\":\"/w==\"}}");
}

static void text_that_escapes_would_make_long_is_base64(void **state)
{
    struct reply *b = &r.base;
    char text[100], few[63];

    (void)state;
    memset(text, 'a', sizeof(text));
    memset(text, 1, 20); /* 20 * 6 + 80 bytes */
    memset(few, 1, sizeof(few));
    begin(NULL);
    reply_map(b, 1);
    reply_text(b, "payload");
    reply_bytes(b, (struct str){ text, sizeof(text) });
    assert_int_equal(out.len, strlen("{\"payload\":\"\"}") + 200);
    text[20] = 1;
    begin(NULL);
    reply_map(b, 2);
    reply_text(b, "payload");
    reply_bytes(b, (struct str){ text, sizeof(text) });
    reply_text(b, "key");
    reply_bytes(b, (struct str){ few, sizeof(few) });
    assert_memory_equal(out.ptr, "{\"payload_base64\":\"AQEB", 23);
    assert_int_equal(out.len,
                     strlen("{\"payload_base64\":\"\",\"key\":\"\"}") + 136 + 6 * sizeof(few));
}

static void nothing_to_say_not_there_and_errors_are_no_bodies(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin(NULL);
    reply_status(b, "OK");
    assert_int_equal(r.outcome, JSON_OUTCOME_OK);
    begin(NULL);
    reply_null(b);
    assert_int_equal(r.outcome, JSON_OUTCOME_NULL);
    begin("outcome");
    reply_status(b, "notfound");
    assert_int_equal(r.outcome, JSON_OUTCOME_NULL);
    begin(NULL);
    b->ops->error(b, "INVALID", STR("why"));
    assert_int_equal(r.outcome, JSON_OUTCOME_ERROR);
    assert_string_equal(r.code, "INVALID");
    assert_int_equal(out.len, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_map_is_the_answer_itself, end),
        cmocka_unit_test_teardown(what_is_no_map_stands_in_a_field, end),
        cmocka_unit_test_teardown(errors_stand_among_elements, end),
        cmocka_unit_test_teardown(payloads_that_are_json_come_as_values, end),
        cmocka_unit_test_teardown(bytes_that_are_no_utf8_change_their_name, end),
        cmocka_unit_test_teardown(text_that_escapes_would_make_long_is_base64, end),
        cmocka_unit_test_teardown(nothing_to_say_not_there_and_errors_are_no_bodies, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
