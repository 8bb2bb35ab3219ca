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

static void begin(const char *name, const char *item)
{
    buf_fini(&out);
    out = (struct buf){ 0 };
    json_reply_init(&r, &out, name, item);
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
    begin("unused", NULL);
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
    begin(NULL, NULL);
    reply_map(b, 0);
    assert_body("{}");
}

static void what_is_no_map_stands_in_a_field(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin("id", NULL);
    reply_text(b, "x");
    assert_body("{\"id\":\"x\"}");
    begin("count", NULL);
    reply_integer(b, 3);
    assert_body("{\"count\":3}");
    begin("jobs", NULL);
    reply_array(b, 0);
    assert_body("{\"jobs\":[]}");
    begin("jobs", NULL);
    reply_array(b, 2);
    for (int i = 0; i < 2; i++) {
        reply_map(b, 1);
        reply_text(b, "i");
        reply_integer(b, i);
    }
    assert_body("{\"jobs\":[{\"i\":0},{\"i\":1}]}");
    begin("outcome", NULL);
    reply_status(b, "cancelled");
    assert_body("{\"outcome\":\"cancelled\"}");
}

static void elements_get_a_field_of_their_own_where_errors_stand_among_them(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin("results", "id");
    reply_array(b, 2);
    reply_text(b, "x");
    b->ops->error(b, "STALE", STR("old"));
    assert_body(
        "{\"results\":[{\"id\":\"x\"},{\"error\":{\"type\":\"urn:belfry:error:STALE\",\"title\":"
        "\"lease no longer held\",\"status\":409,\"code\":\"STALE\",\"detail\":\"old\"}}]}");
    assert_int_equal(r.errors, 1);
}

static void bytes_that_are_no_utf8_change_their_name(void **state)
{
    struct reply *b = &r.base;

    (void)state;
    begin(NULL, NULL);
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
    begin("id", NULL);
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
    begin(NULL, NULL);
    reply_map(b, 1);
    reply_text(b, "payload");
    reply_bytes(b, (struct str){ text, sizeof(text) });
    assert_int_equal(out.len, strlen("{\"payload\":\"\"}") + 200);
    text[20] = 1;
    begin(NULL, NULL);
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
    begin(NULL, NULL);
    reply_status(b, "OK");
    assert_int_equal(r.outcome, JSON_OUTCOME_OK);
    begin(NULL, NULL);
    reply_null(b);
    assert_int_equal(r.outcome, JSON_OUTCOME_NULL);
    begin("outcome", NULL);
    reply_status(b, "notfound");
    assert_int_equal(r.outcome, JSON_OUTCOME_NULL);
    begin(NULL, NULL);
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
        cmocka_unit_test_teardown(elements_get_a_field_of_their_own_where_errors_stand_among_them,
                                  end),
        cmocka_unit_test_teardown(bytes_that_are_no_utf8_change_their_name, end),
        cmocka_unit_test_teardown(text_that_escapes_would_make_long_is_base64, end),
        cmocka_unit_test_teardown(nothing_to_say_not_there_and_errors_are_no_bodies, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
