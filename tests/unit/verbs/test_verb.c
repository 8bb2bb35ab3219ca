/* SPDX-License-Identifier: MIT */
/* The rows of verbs, and what is said of errors by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "front/json_reply.h"
#include "verbs/handlers.h"

static struct buf text;

static const char *error_of(const char *verb, int err, const char *detail)
{
    struct json_reply reply;
    struct verb_call call = { .reply = &reply.base, .verb = verb_find(verb_table, str_of(verb)) };

    buf_fini(&text);
    json_reply_init(&reply, &text, NULL);
    verb_error(&call, err, detail);
    assert_true(call.failed);
    assert_int_equal(reply.outcome, JSON_OUTCOME_ERROR);
    assert_string_equal(reply.code, error_name(err));
    buf_append(&text, "", 1);
    return text.ptr;
}

static void an_error_says_what_was_not_found(void **state)
{
    (void)state;
    assert_string_equal(error_of("RECURRUN", BELFRY_NOTFOUND, "there is no recurrence x"),
                        "there is no recurrence x");
    assert_string_equal(error_of("COMPLETE", BELFRY_NOTFOUND, ""), "no such job");
    assert_string_equal(error_of("QUEUE", BELFRY_NOTFOUND, ""), "no such queue");
}

static void a_detail_stands_behind_the_text_or_for_it(void **state)
{
    (void)state;
    assert_string_equal(error_of("GET", BELFRY_STALE, ""), "lease no longer held");
    assert_string_equal(error_of("GET", BELFRY_STALE, "why"), "lease no longer held: why");
    assert_string_equal(error_of("GET", BELFRY_INVALID, ""), "invalid argument");
    assert_string_equal(error_of("GET", BELFRY_INVALID, "why"), "why");
}

static void what_is_cold_is_no_reply(void **state)
{
    struct json_reply reply;
    struct verb_call call = { .reply = &reply.base };

    (void)state;
    json_reply_init(&reply, &text, NULL);
    verb_error(&call, BELFRY_COLD, "");
    assert_true(call.cold);
    assert_false(call.failed);
    assert_int_equal(reply.outcome, JSON_OUTCOME_NONE);
}

static void verbs_say_what_they_are_about(void **state)
{
    static const char *const things[][2] = {
        { "GET", "job" },       { "EXPLAIN", "job" },           { "CANCEL", "job" },
        { "QUEUE", "queue" },   { "RECURRENCE", "recurrence" }, { "RECURDELETE", "recurrence" },
        { "TENANT", "tenant" }, { "TOKENREVOKE", "token" },     { "BULKSTOP", "bulk" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(things) / sizeof(*things); i++)
        assert_string_equal(verb_thing(verb_find(verb_table, str_of(things[i][0]))), things[i][1]);
    assert_string_equal(verb_thing(NULL), "job");
}

/* Whether a value of the argument's type can be stored in such a member. */
static bool fits(const struct arg *a)
{
    switch (a->as) {
    case AS_NONE: return true;
    case AS_I64: return a->type == ARG_INT || a->type == ARG_DURATION || a->type == ARG_MOMENT;
    case AS_INT: return a->type == ARG_WORD || (a->type == ARG_INT && a->max <= INT32_MAX);
    case AS_ENUM: return a->type == ARG_WORD;
    case AS_BOOL: return a->type == ARG_WORD && !strchr(strchr(a->words, '|') + 1, '|');
    case AS_STR:
        return a->type == ARG_NAME || a->type == ARG_BYTES || a->type == ARG_PAYLOAD ||
               a->type == ARG_KEY || a->type == ARG_BACKOFF;
    case AS_CHARS:
        return (a->type == ARG_BYTES && a->max > 0 && (size_t)a->max < a->size) ||
               (a->type == ARG_BACKOFF && BACKOFF_MAX_BYTES < a->size);
    case AS_RATE: return a->type == ARG_RATE;
    case AS_LIST:
        return a->many && (a->type == ARG_NAME || a->type == ARG_META || a->type == ARG_ID);
    }
    return false;
}

static void every_value_fits_its_member(void **state)
{
    (void)state;
    for (const struct verb *v = verb_table; v->name; v++)
        for (const struct arg *a = v->args; a->type != ARG_END; a++)
            if (!fits(a))
                fail_msg("%s: %s cannot be stored where its row says", v->name, a->name);
}

/* What is given with a setting's name is stored in that setting, and all have one. */
static void every_setting_has_an_argument(void **state)
{
    unsigned queue = 0, tenant = 0;

    (void)state;
    for (const struct arg *a = verb_find(verb_table, STR("QUEUE"))->args; a->type; a++) {
        assert_int_equal(queue & a->field, 0);
        queue |= a->field;
    }
    for (const struct arg *a = verb_find(verb_table, STR("TENANT"))->args; a->type; a++) {
        assert_int_equal(tenant & a->field, 0);
        tenant |= a->field;
    }
#define BIT(name, kind, member) | 1u << QUEUE_##name
    assert_int_equal(queue | 1u << QUEUE_PAUSED, 0 QUEUE_FIELDS(BIT)); /* PAUSE sets that one */
#undef BIT
#define BIT(name, kind, member) | 1u << TENANT_##name
    assert_int_equal(tenant, 0 TENANT_FIELDS(BIT));
#undef BIT
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_says_what_was_not_found),
        cmocka_unit_test(a_detail_stands_behind_the_text_or_for_it),
        cmocka_unit_test(what_is_cold_is_no_reply),
        cmocka_unit_test(verbs_say_what_they_are_about),
        cmocka_unit_test(every_value_fits_its_member),
        cmocka_unit_test(every_setting_has_an_argument),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
