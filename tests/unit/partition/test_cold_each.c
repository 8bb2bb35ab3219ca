/* SPDX-License-Identifier: MIT */
/* Items of a batch that are scheduled one by one, after all that they need was fetched. */
#include "support/spilled.h"

static struct schedule_result results[2];
static int errs[2];

/* Schedules two items as BATCH each does: COLD, or 0 with the results. */
static int schedule_each(const struct job_spec specs[2])
{
    int err = engine_schedule_ask(e, specs, 2);

    for (size_t i = 0; i < 2 && !err; i++) {
        errs[i] = engine_schedule_asked(e, &specs[i], &results[i]);
        assert_int_not_equal(errs[i], BELFRY_COLD);
    }
    return err;
}

/* Schedules a job with this key. Returns an item that replaces the job by one that has expired, and
 * so frees the key. */
static struct job_spec freeing(const char *key, int64_t retain_ms)
{
    struct job_spec spec = spec_of("q", HOUR);
    struct schedule_result r;
    int is;

    spec.key = str_of(key);
    spec.expire_ms = HOUR;
    spec.retain_ms = retain_ms;
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, 0);
    spec.if_exists = IFEXISTS_REPLACE;
    spec.due_ms = wall - 2 * HOUR;
    return spec;
}

static void an_item_whose_key_becomes_free_finds_the_job_that_it_waits_for(void **state)
{
    struct job_id parent = schedule("p", 2 * HOUR);
    struct job_spec specs[2];
    struct job_view v;
    int is;

    (void)state;
    push_out(parent);
    specs[0] = freeing("k", -1);
    specs[1] = spec_of("q", HOUR);
    specs[1].key = STR("k");
    specs[1].after = &parent;
    specs[1].after_count = 1;
    EXECUTE(is, schedule_each(specs));
    assert_int_equal(is, 0);
    assert_int_equal(errs[0], 0);
    assert_int_equal(errs[1], 0);
    assert_int_equal(results[1].outcome, SCHEDULE_CREATED);
    assert_int_equal(engine_get(e, results[1].id, &v), 0);
    assert_int_equal(v.state, JOB_WAITING);
}

/* The runs could have it, for all that is known of its id. */
static void an_item_waits_for_no_job_that_the_item_before_ended(void **state)
{
    struct job_spec specs[2];
    struct job_id parent;
    int is;

    (void)state;
    push_out(schedule("p", 2 * HOUR));
    specs[0] = freeing("k", 0);
    EXECUTE(is, engine_find_key(e, STR("q"), STR(""), STR("k"), &parent));
    assert_int_equal(is, 0);
    specs[1] = spec_of("q", HOUR);
    specs[1].after = &parent;
    specs[1].after_count = 1;
    EXECUTE(is, schedule_each(specs));
    assert_int_equal(is, 0);
    assert_int_equal(errs[0], 0);
    assert_int_not_equal(errs[1], BELFRY_COLD);
}

/* The first parent has as many listeners as may be, until the item before ends it. */
static void an_item_whose_first_parent_was_full_finds_the_second_one(void **state)
{
    struct job_spec specs[2], child;
    struct job_id parents[2] = { { 0 }, schedule("p", 2 * HOUR) };
    struct schedule_result r;
    int is;

    (void)state;
    push_out(parents[1]);
    specs[0] = freeing("k", -1);
    EXECUTE(is, engine_find_key(e, STR("q"), STR(""), STR("k"), &parents[0]));
    assert_int_equal(is, 0);
    specs[1] = child = spec_of("q", HOUR);
    child.after = parents;
    child.after_count = 1;
    for (int i = 0; i < LISTENERS_MAX; i++) {
        EXECUTE(is, engine_schedule(e, &child, &r));
        assert_int_equal(is, 0);
    }
    specs[1].after = parents;
    specs[1].after_count = 2;
    specs[1].after_fail = AFTERFAIL_RUN;
    EXECUTE(is, schedule_each(specs));
    assert_int_equal(is, 0);
    assert_int_equal(errs[0], 0);
    assert_int_equal(errs[1], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_item_whose_key_becomes_free_finds_the_job_that_it_waits_for),
        TEST(an_item_waits_for_no_job_that_the_item_before_ended),
        TEST(an_item_whose_first_parent_was_full_finds_the_second_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
