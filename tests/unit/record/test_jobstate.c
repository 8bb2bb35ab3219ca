/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/jobstate.h"

static void a_state_is_ahead_leased_or_ended(void **state)
{
    (void)state;
    for (unsigned s = 0; s < JOB_STATE_COUNT; s++) {
        bool ended = s == JOB_DONE || s == JOB_DEAD || s == JOB_CANCELLED || s == JOB_EXPIRED;

        assert_int_equal(state_is_ended(s), ended);
        assert_int_equal(state_is_ahead(s), !ended && s != JOB_LEASED);
    }
}

static void an_ended_job_stays_as_it_is_unless_it_is_dead(void **state)
{
    (void)state;
    for (unsigned from = 0; from < JOB_STATE_COUNT; from++) {
        assert_true(state_may_follow(from, from));
        for (unsigned to = 0; to < JOB_STATE_COUNT; to++)
            if (state_is_ended(from) && from != to)
                assert_int_equal(state_may_follow(from, to),
                                 from == JOB_DEAD && to == JOB_SCHEDULED);
    }
}

static void a_job_is_leased_when_it_is_due_and_dead_after_a_lease(void **state)
{
    (void)state;
    assert_true(state_may_follow(JOB_READY, JOB_LEASED));
    assert_true(state_may_follow(JOB_LEASED, JOB_DEAD));
    assert_false(state_may_follow(JOB_WAITING, JOB_LEASED));
    assert_false(state_may_follow(JOB_READY, JOB_DEAD));
    assert_false(state_may_follow(JOB_LEASED, JOB_EXPIRED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_is_ahead_leased_or_ended),
        cmocka_unit_test(an_ended_job_stays_as_it_is_unless_it_is_dead),
        cmocka_unit_test(a_job_is_leased_when_it_is_due_and_dead_after_a_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
