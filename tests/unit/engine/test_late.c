/* SPDX-License-Identifier: MIT */
/* A turn of the loop that has more to do than it may: what is left keeps its order. */
#include "support/tenants.h"
#include "support/verify.h"

/* A turn lets two timers sink, so the earlier jobs become ready after many turns. */
static void a_stalled_job_does_not_overtake_jobs_that_are_due_and_not_ready_yet(void **state)
{
    enum { EARLIER = 20 };
    struct job_spec spec = spec_of("q");
    struct schedule_result stalled, r;
    struct job_view v;

    (void)state;
    spec.backoff = STR("0ms");
    assert_int_equal(engine_schedule(e, &spec, &stalled), 0);
    assert_true(lease("q", &v));
    spec.due_ms = wall + 60 * MINUTE - MINUTE / 2;
    for (int i = 0; i < EARLIER; i++)
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
    pass(60 * MINUTE - MINUTE);
    engine_slice(e, 2);
    pass(MINUTE);
    for (int i = 0; i < 10 * EARLIER; i++)
        pass(1);
    for (int i = 0; i <= EARLIER; i++)
        assert_true(lease("q", &v) && (v.id.seq == stalled.id.seq) == (i == EARLIER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_stalled_job_does_not_overtake_jobs_that_are_due_and_not_ready_yet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
