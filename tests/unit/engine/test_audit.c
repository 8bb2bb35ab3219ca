/* SPDX-License-Identifier: MIT */
/* The audit log of an engine; what is on disk of it is in tests/e2e/test_audit.py. */
#include "support/tenants.h"

#include "engine/audit.h"

static void add(const char *tenant, const char *request)
{
    assert_int_equal(engine_audit(e, &(struct audit_entry){ .tenant = str_of(tenant),
                                                            .client = STR("me"),
                                                            .address = STR("here:1"),
                                                            .verb = STR("QUEUE"),
                                                            .request = str_of(request),
                                                            .outcome = STR("OK") }),
                     0);
}

static char seen[4096];

static int note(void *arg, const struct audit_entry *a)
{
    size_t n = strlen(seen);

    (void)arg;
    assert_true(str_eq(a->client, STR("me")) && str_eq(a->address, STR("here:1")));
    assert_true(a->user.len == 0);
    snprintf(seen + n, sizeof(seen) - n, "%.*s ", STR_ARG(a->request));
    return 0;
}

/* All pages, as text. */
static const char *log_of(const char *tenant, int64_t from_ms, int64_t to_ms, size_t limit)
{
    struct audit_filter f = { str_of(tenant), from_ms, to_ms, limit };
    struct list_cursor cursor = { 0 };

    seen[0] = '\0';
    do
        assert_int_equal(engine_audits(e, &f, note, NULL, &cursor), 0);
    while (cursor.more);
    return seen;
}

static void entries_come_oldest_first_in_pages_of_any_size(void **state)
{
    (void)state;
    assert_string_equal(log_of("*", 0, INT64_MAX, 10), "");
    for (int i = 0; i < 5; i++) {
        add(i % 2 ? "acme" : "default", (const char *[]){ "a", "b", "c", "d", "e" }[i]);
        pass(i == 2 ? 0 : 1000);
    }
    for (size_t limit = 1; limit < 8; limit++)
        assert_string_equal(log_of("*", 0, INT64_MAX, limit), "a b c d e ");
    assert_string_equal(log_of("acme", 0, INT64_MAX, 1), "b d ");
    assert_string_equal(log_of("nobody", 0, INT64_MAX, 1), "");
    assert_string_equal(log_of("*", START + 1000, START + 2001, 1), "b c d ");
}

static int note_and_stop(void *arg, const struct audit_entry *a)
{
    note(arg, a);
    return 1;
}

static void a_page_that_is_full_goes_on_behind_its_last_entry(void **state)
{
    struct audit_filter f = { STR("*"), 0, INT64_MAX, 10 };
    struct list_cursor cursor = { 0 };

    (void)state;
    for (int i = 0; i < 4; i++)
        add("default", (const char *[]){ "a", "b", "c", "d" }[i]);
    seen[0] = '\0';
    for (int i = 0; i < 4; i++) {
        assert_int_equal(engine_audits(e, &f, note_and_stop, NULL, &cursor), 1);
        assert_int_equal(cursor.more, i < 3);
    }
    assert_string_equal(seen, "a b c d ");
}

static void an_entry_is_kept_for_its_time_and_survives_a_replay(void **state)
{
    (void)state;
    add("default", "a");
    pass(DAY);
    add("default", "b");
    replay();
    assert_string_equal(log_of("*", 0, INT64_MAX, 10), "a b ");
    pass(AUDIT_KEEP_MS - DAY - 1);
    assert_string_equal(log_of("*", 0, INT64_MAX, 10), "a b ");
    pass(1);
    assert_string_equal(log_of("*", 0, INT64_MAX, 10), "b ");
    pass(DAY);
    assert_string_equal(log_of("*", 0, INT64_MAX, 10), "");
}

/* Else it would stand in memory beside younger entries on disk. */
static void an_entry_that_was_over_stays_gone_when_the_clock_is_set_back(void **state)
{
    (void)state;
    add("acme", "a");
    pass(AUDIT_KEEP_MS);
    add("acme", "b");
    assert_string_equal(log_of("*", 0, INT64_MAX, 10), "b ");
    wall -= 1000;
    replay();
    assert_string_equal(log_of("*", 0, INT64_MAX, 10), "b ");
}

static void a_clock_that_is_set_back_hides_none(void **state)
{
    (void)state;
    add("default", "a");
    wall -= 3600000;
    pass(0);
    add("default", "b");
    pass(1);
    add("default", "c");
    for (size_t limit = 1; limit < 5; limit++)
        assert_string_equal(log_of("*", 0, INT64_MAX, limit), "a b c ");
}

static void the_answer_waits_for_its_entry(void **state)
{
    struct queue_settings s = { .paused = true };

    (void)state;
    assert_int_equal(engine_queue_set(e, STR("q"), &s, 1u << QUEUE_PAUSED), 0);
    uint64_t done = engine_visible_lsn(e);
    add("default", "a");
    assert_true(engine_visible_lsn(e) > done);
    assert_int_equal(engine_visible_lsn(e), engine_lsn(e));
}

static void settings_that_change_nothing_have_no_record(void **state)
{
    struct queue_settings s = { .paused = true, .push = { .url = STR("http://a/") } };
    struct tenant_settings t = { .weight = 3, .quiet = "22:00-07:00" };
    unsigned queue = 1u << QUEUE_PAUSED | 1u << QUEUE_PUSH_URL;
    unsigned of_tenant = 1u << TENANT_WEIGHT | 1u << TENANT_QUIET;
    uint64_t lsn = engine_lsn(e);

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine_queue_set(e, STR("q"), &s, queue), 0);
        assert_int_equal(engine_tenant_set(e, STR("acme"), &t, of_tenant), 0);
        assert_int_equal(engine_lsn(e), lsn + 2);
    }
    t.quiet[0] = '1';
    assert_int_equal(engine_tenant_set(e, STR("acme"), &t, of_tenant), 0);
    s.push.url = STR("http://b/");
    assert_int_equal(engine_queue_set(e, STR("q"), &s, queue), 0);
    s.paused = false;
    assert_int_equal(engine_queue_set(e, STR("q"), &s, queue), 0);
    assert_int_equal(engine_lsn(e), lsn + 5);
}

static void it_is_no_job(void **state)
{
    struct engine_stats s;

    (void)state;
    add("default", "a");
    engine_stats(e, &s);
    assert_int_equal(s.jobs[JOB_DONE], 0);
    assert_int_equal(s.queues, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(entries_come_oldest_first_in_pages_of_any_size),
        TEST(a_page_that_is_full_goes_on_behind_its_last_entry),
        TEST(an_entry_is_kept_for_its_time_and_survives_a_replay),
        TEST(an_entry_that_was_over_stays_gone_when_the_clock_is_set_back),
        TEST(a_clock_that_is_set_back_hides_none),
        TEST(the_answer_waits_for_its_entry),
        TEST(settings_that_change_nothing_have_no_record),
        TEST(it_is_no_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
