/* SPDX-License-Identifier: MIT */
/* Pages of the audit log, while its entries go to disk and the clock is set back. */
#include "support/spilled.h"

#include "engine/audit.h"

#include <stdlib.h>

#define ENTRIES 40

static int made, pages;
static unsigned shown[ENTRIES];

static void add(void)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", made++);
    assert_int_equal(engine_audit(e, &(struct audit_entry){ .tenant = STR("default"),
                                                            .verb = STR("QUEUE"),
                                                            .request = str_of(text) }),
                     0);
}

static uint64_t on_disk(void)
{
    uint64_t disk;

    engine_audit_count(e, &disk);
    return disk;
}

/* Cancels jobs until all entries are on disk, with the history of the jobs. */
static void push_entries_out(void)
{
    for (int i = 0; on_disk() < (uint64_t)made; i++) {
        assert_true(i < 10 * MANY);
        assert_true(engine_cancel(e, schedule("q", 2 * HOUR)) >= 0);
        settle();
    }
}

static void set_back(int64_t ms)
{
    wall -= ms;
    engine_advance(e, wall, mono);
}

static int note(void *arg, const struct audit_entry *a)
{
    char text[16] = "";

    (void)arg;
    memcpy(text, a->request.ptr, a->request.len);
    shown[atoi(text)]++;
    return 0;
}

/* The next page; false: it was the last. */
static bool page(size_t limit, struct list_cursor *cursor)
{
    struct audit_filter f = { STR("*"), 0, INT64_MAX, limit };
    struct list_cursor before = *cursor;
    int is;

    assert_true(pages++ < 1000);
    EXECUTE(is, (*cursor = before, engine_audits(e, &f, note, NULL, cursor)));
    assert_int_equal(is, 0);
    return cursor->more;
}

static int setup_log(void **state)
{
    made = pages = 0;
    memset(shown, 0, sizeof(shown));
    return setup(state);
}

static void all_are_shown_once(void)
{
    for (int i = 0; i < made; i++)
        if (shown[i] != 1)
            fail_msg("entry %d is shown %u times", i, shown[i]);
}

static void entries_are_shown_once_though_those_in_memory_have_earlier_moments(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        add();
        advance(1000);
    }
    push_entries_out();
    set_back(HOUR);
    for (int i = 0; i < 10; i++)
        add();
    assert_int_equal(on_disk(), 10);
    for (size_t limit = 1; limit < 25; limit++) {
        struct list_cursor cursor = { 0 };

        memset(shown, 0, sizeof(shown));
        while (page(limit, &cursor))
            ;
        all_are_shown_once();
    }
}

static void entries_that_go_to_disk_between_two_pages_are_shown_once(void **state)
{
    struct list_cursor cursor = { 0 };

    (void)state;
    for (int i = 0; i < 8; i++) {
        add();
        advance(1000);
    }
    push_entries_out();
    set_back(HOUR);
    for (int i = 0; i < 8; i++)
        add();
    assert_true(page(3, &cursor)); /* of those on disk */
    push_entries_out();
    set_back(HOUR);
    for (int i = 0; i < 8; i++)
        add();
    for (int seen = 0; seen < 20; seen++) /* into those in memory */
        assert_true(page(1, &cursor));
    push_entries_out();
    while (page(3, &cursor))
        ;
    all_are_shown_once();
}

#define TEST_LOG(name) cmocka_unit_test_setup_teardown(name, setup_log, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_LOG(entries_are_shown_once_though_those_in_memory_have_earlier_moments),
        TEST_LOG(entries_that_go_to_disk_between_two_pages_are_shown_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
