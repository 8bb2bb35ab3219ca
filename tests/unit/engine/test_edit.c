/* SPDX-License-Identifier: MIT */
/* EDIT of jobs that other jobs wait for. */
#include "engine/edit.h"

#include "support/parents.h"

/* The job as its template has it, with another payload if one is given. */
static void edit(struct job_id id, struct str payload)
{
    struct job_edit x = { 0 };
    struct job_template t;

    assert_int_equal(engine_template(e, id, false, &t), 0);
    x.spec = t.spec;
    if (payload.len > 0)
        x.spec.payload = payload;
    assert_int_equal(engine_edit(e, id, &x), 0);
    job_template_fini(&t);
}

static struct job_id keyed_parent(void)
{
    struct job_spec spec = spec_of("p");
    struct str tags[] = { STR("red"), STR("blue") };

    spec.key = STR("key");
    spec.backoff = STR("1s,5s");
    spec.tags = tags;
    spec.tag_count = 2;
    return schedule(&spec);
}

/* A listener stands in front of the options, and an edit puts it behind them. */
static void an_edit_that_changes_nothing_writes_nothing_whoever_waits(void **state)
{
    struct job_id parent = keyed_parent();

    (void)state;
    edit(parent, STR("first"));
    for (int i = 0; i < 5; i++) {
        waits_for(parent);
        uint64_t lsn = engine_lsn(e);
        edit(parent, STR(""));
        assert_int_equal(engine_lsn(e), lsn);
    }
}

/* Listeners that came before an edit, and after it, are all told once. */
static void an_edit_keeps_those_that_wait(void **state)
{
    struct job_id parent = keyed_parent(), first = waits_for(parent), second = waits_for(parent);
    struct job_view v;

    (void)state;
    edit(parent, STR("other"));
    struct job_id third = waits_for(parent);
    uint64_t lsn = engine_lsn(e);
    edit(parent, STR("other"));
    assert_int_equal(engine_lsn(e), lsn);
    edit(parent, STR("another"));
    restart(0);
    v = take("p");
    assert_true(str_eq(v.payload, STR("another")));
    assert_int_equal(state_of(first), JOB_WAITING);
    complete(&v);
    assert_int_equal(state_of(first), JOB_READY);
    assert_int_equal(state_of(second), JOB_READY);
    assert_int_equal(state_of(third), JOB_READY);
    assert_int_equal(run_all("q"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_edit_that_changes_nothing_writes_nothing_whoever_waits),
        TEST(an_edit_keeps_those_that_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
