/* SPDX-License-Identifier: MIT */
/* Ordering keys, with everything in memory. */
#include "support/tenants.h"

static struct job_id put(const char *order, int64_t due_ms, int priority)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;

    spec.order = str_of(order);
    spec.due_ms = due_ms;
    spec.priority = priority;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

/* Leases one, which must be this. */
static uint64_t take(struct job_id id)
{
    struct job_view v;

    assert_true(lease("q", &v));
    assert_int_equal(v.id.seq, id.seq);
    engine_verify(e);
    return v.token;
}

static void take_nothing(void)
{
    struct job_view v;

    assert_false(lease("q", &v));
    engine_verify(e);
}

static void fail_it(struct job_id id, uint64_t token, int64_t retry_ms)
{
    struct fail_result r;

    assert_int_equal(engine_fail(e, id, token, STR("no"), retry_ms, false, &r), 0);
}

static enum job_state state_of(struct job_id id)
{
    struct job_view v;

    assert_int_equal(engine_get(e, id, &v), 0);
    return v.state;
}

static void who_waits_for_a_job_that_is_ready_changes_nothing(void **state)
{
    struct job_id a = put("x", -1, 3);
    struct job_spec child = spec_of("q");
    struct schedule_result r;

    (void)state;
    fail_it(a, take(a), 60000);
    pass(60000);
    assert_int_equal(state_of(a), JOB_READY);
    wall -= 30000; /* what is ready stays so */
    engine_advance(e, wall, mono);
    child.after = &a;
    child.after_count = 1;
    assert_int_equal(engine_schedule(e, &child, &r), 0);
    assert_int_equal(state_of(a), JOB_READY);
    complete(a, take(a));
}

static void one_at_a_time_and_other_keys_go_on(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3), c = put("y", -1, 3);
    uint64_t token = take(a);

    (void)state;
    complete(c, take(c));
    take_nothing();
    complete(a, token);
    complete(b, take(b));
    take_nothing();
}

static void by_due_time_and_then_by_sequence_whatever_the_priority(void **state)
{
    struct job_id late = put("x", wall - 10, 1), early = put("x", wall - 1000, 5),
                  same = put("x", wall - 1000, 1);

    (void)state;
    complete(early, take(early));
    complete(same, take(same));
    complete(late, take(late));
}

static void one_that_is_due_earlier_takes_the_place_of_one_that_waits(void **state)
{
    struct job_id b = put("x", wall, 3), a = put("x", wall - 5, 3), c;
    uint64_t token;

    (void)state;
    token = take(a);
    c = put("x", wall - 500, 3); /* not of one that runs */
    take_nothing();
    complete(a, token);
    complete(c, take(c));
    complete(b, take(b));
}

static void those_of_one_moment_become_ready_in_order(void **state)
{
    struct job_id ids[100];
    int next[2] = { 51, 50 }; /* of x, and of y: the second half is due first */

    (void)state;
    for (int i = 0; i < 100; i++)
        ids[i] = put(i % 2 ? "x" : "y", wall + 60000 - i / 50, 1 + i % 5);
    take_nothing();
    pass(60000);
    for (int i = 0; i < 100; i++) {
        struct job_view v;
        int *expected;

        assert_true(lease("q", &v));
        expected = &next[str_eq(v.order, STR("y"))];
        assert_int_equal(v.id.seq, ids[*expected % 100].seq);
        *expected += 2;
        complete(v.id, v.token);
    }
}

static void one_that_fails_holds_its_key_until_it_has_ended(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3);
    struct fail_result r;

    (void)state;
    fail_it(a, take(a), 60000);
    take_nothing();
    pass(59999);
    take_nothing();
    pass(1);
    fail_it(a, take(a), 0);
    assert_int_equal(engine_fail(e, a, take(a), STR("no"), -1, true, &r), 0);
    complete(b, take(b));
}

static void a_stall_and_a_release_hold_it_too(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3);
    uint64_t token = take(a);

    (void)state;
    assert_int_equal(engine_release(e, a, token, 5000), 0);
    take_nothing();
    pass(5000);
    take(a);
    pass(3600000); /* the lease ends without a word */
    assert_int_equal(state_of(a), JOB_SCHEDULED);
    take_nothing();
    pass(3600000);
    complete(a, take(a));
    complete(b, take(b));
}

static void again_reschedule_and_replace_give_the_key_free(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3), c = put("x", -1, 3);
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    uint64_t token;

    (void)state;
    assert_int_equal(engine_complete(e, a, take(a), (struct str){ 0 }, 1000), 0);
    token = take(b);
    fail_it(b, token, 60000);
    take_nothing();
    assert_int_equal(engine_reschedule(e, b, wall + 2000), 0);
    complete(c, take(c));
    pass(1000);
    fail_it(a, take(a), 60000);
    pass(1000);
    take_nothing(); /* b is due, behind a */
    complete(b, (assert_int_equal(engine_cancel(e, a), CANCEL_CANCELLED), take(b)));

    spec.order = STR("x");
    spec.key = STR("k");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    b = put("x", -1, 3);
    fail_it(r.id, take(r.id), 60000);
    take_nothing();
    spec.if_exists = IFEXISTS_REPLACE;
    spec.due_ms = wall + 100;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(r.outcome, SCHEDULE_REPLACED);
    complete(b, take(b));
}

static void cancelling_moves_the_next_one_up(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3), c = put("x", -1, 3);
    uint64_t token;

    (void)state;
    assert_int_equal(engine_cancel(e, a), CANCEL_CANCELLED);
    token = take(b);
    assert_int_equal(engine_cancel(e, b), CANCEL_RUNNING);
    take_nothing();
    fail_it(b, token, 0);
    assert_int_equal(state_of(b), JOB_CANCELLED);
    complete(c, take(c));
}

static void one_that_expires_just_leaves_and_a_dead_one_comes_back_at_the_end(void **state)
{
    struct job_id a = put("x", -1, 3), b, c;
    struct job_spec spec = spec_of("q");
    struct fail_result f;
    struct schedule_result r;
    uint64_t token;

    (void)state;
    spec.order = STR("x");
    spec.expire_ms = 1000;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    b = r.id;
    c = put("x", -1, 3);
    token = take(a);
    pass(1000);
    assert_int_equal(state_of(b), JOB_EXPIRED);
    assert_int_equal(engine_fail(e, a, token, STR("no"), -1, true, &f), 0);
    assert_int_equal(engine_redrive(e, a), 0);
    complete(c, take(c));
    complete(a, take(a));
}

static void a_key_is_of_its_ordering_key(void **state)
{
    static const char *const orders[] = { "", "x", "y" };
    struct job_id ids[3], found;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct job_spec spec = spec_of("q");
        struct schedule_result r;

        spec.order = str_of(orders[i]);
        spec.key = STR("k");
        spec.if_exists = IFEXISTS_REJECT;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        ids[i] = r.id;
        assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_KEYEXISTS);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine_find_key(e, STR("q"), str_of(orders[i]), STR("k"), &found), 0);
        assert_int_equal(found.seq, ids[i].seq);
    }
    assert_int_equal(engine_find_key(e, STR("q"), STR("z"), STR("k"), &found), BELFRY_NOTFOUND);
}

static void explain_names_who_is_ahead_and_what_it_does(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3);
    struct explanation x;
    char text[ID_TEXT + 1] = { 0 };
    uint64_t token;

    (void)state;
    id_format(a, text);
    assert_int_equal(engine_explain(e, b, &x), 0);
    assert_int_equal(x.reason, REASON_ORDERING_KEY);
    assert_non_null(strstr(x.why, text));
    assert_non_null(strstr(x.why, "is ready"));
    token = take(a);
    assert_int_equal(engine_explain(e, b, &x), 0);
    assert_non_null(strstr(x.why, "runs"));
    fail_it(a, token, 60000);
    assert_int_equal(engine_explain(e, b, &x), 0);
    assert_non_null(strstr(x.why, text));
    assert_non_null(strstr(x.why, "tried again at 2026-11-15T"));
    assert_int_equal(engine_explain(e, a, &x), 0);
    assert_int_equal(x.reason, REASON_BACKOFF);
}

/* What the journal says is what there was: who runs, who holds, who is next. */
static void replay_gives_the_same_lanes(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3), c = put("y", -1, 3),
                  d = put("y", -1, 3);
    uint64_t hash, token = take(a);
    struct job_view v;

    (void)state;
    fail_it(c, take(c), 60000);
    hash = engine_hash(e);
    engine_free(e);
    e = make(2, 0);
    assert_int_equal(engine_replay(e, buf_view(&journal), 1), 0);
    assert_int_equal(engine_hash(e), hash);
    journal.len = 0;
    engine_direct(e, &journal, 2, true, 1);
    engine_start(e, wall, mono, false);
    assert_false(lease("q", &v));
    complete(a, token);
    complete(b, take(b));
    take_nothing();
    pass(60000);
    complete(c, take(c));
    complete(d, take(d));
}

static void a_clock_set_back_does_not_change_the_order(void **state)
{
    struct job_id b = put("x", wall, 3), c = put("x", wall + 100, 3), a;

    (void)state;
    pass(200);
    wall -= 3600000;
    engine_advance(e, wall, mono);
    take_nothing();
    a = put("x", -1, 3);
    complete(a, take(a));
    pass(3600000 - 200);
    complete(b, take(b));
    take_nothing();
    pass(200);
    complete(c, take(c));
}

static void many_that_come_at_once_all_run_in_order(void **state)
{
    int64_t due = wall + 1000;
    uint64_t last[4] = { 0 };
    int done = 0;

    (void)state;
    for (int i = 0; i < 50000; i++) { /* more than are fired by one call */
        static const char *const orders[] = { "a", "b", "c", "d" };

        put(orders[i % 4], due, 1 + i % 5);
    }
    wall += 1000;
    mono += 1000;
    engine_advance(e, wall, mono);
    for (int idle = 0; idle < 30;) {
        struct job *jobs[10];
        struct job_view v;
        int n = lease_some("q", 10, jobs);

        assert_in_range(n, 0, 4);
        for (int i = 0; i < n; i++) {
            engine_view(e, jobs[i], &v);
            assert_true(v.id.seq > last[(v.id.seq - 1) % 4]);
            last[(v.id.seq - 1) % 4] = v.id.seq;
            complete(v.id, v.token);
        }
        done += n;
        idle = n ? 0 : idle + 1;
        if (done % 1000 < 4)
            engine_advance(e, wall, mono);
    }
    assert_int_equal(done, 50000);
}

/* One that waits for others is not due: it holds nobody back, and then takes its place. */
static void one_that_waits_for_another_job_takes_its_place_when_that_is_done(void **state)
{
    struct job_id parent = put("p", -1, 1), b, c;
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    uint64_t token;

    (void)state;
    spec.order = STR("x");
    spec.after = &parent;
    spec.after_count = 1;
    spec.due_ms = wall - 1000;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    b = put("x", wall, 3);
    c = put("x", wall, 3);
    token = take(parent);
    complete(b, take(b));
    complete(parent, token);
    while (engine_task(e) > 0)
        ;
    complete(r.id, take(r.id));
    complete(c, take(c));
}

static void in_maintenance_a_first_one_that_passes_gates_is_given(void **state)
{
    struct job_id plain = put("x", -1, 3), behind, passing;
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    uint64_t token;

    (void)state;
    spec.order = STR("x");
    spec.passing = true;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    behind = r.id;
    spec.order = STR("y");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    passing = r.id;
    set_tenant("default", TENANT_MAINTENANCE, (struct tenant_settings){ .maintenance = true });
    token = take(passing);
    take_nothing();
    fail_it(passing, token, 10);
    pass(10);
    complete(passing, take(passing));
    take_nothing();
    set_tenant("default", TENANT_MAINTENANCE, (struct tenant_settings){ .maintenance = false });
    complete(plain, take(plain));
    complete(behind, take(behind));
}

static void one_that_quiet_hours_put_off_keeps_its_key(void **state)
{
    struct job_id a, b, c;
    struct job_spec spec = spec_of("q");
    struct schedule_result r;

    (void)state;
    spec.order = STR("x");
    spec.notify = true;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    a = r.id;
    b = put("x", -1, 3);
    c = put("y", -1, 3);
    be_quiet("default", MINUTE, 0);
    complete(c, take(c));
    take_nothing();
    pass(60000);
    complete(a, take(a));
    complete(b, take(b));
}

static void a_parked_worker_gets_the_next_one(void **state)
{
    struct job_id a = put("x", -1, 3), b = put("x", -1, 3);
    uint64_t token = take(a);

    (void)state;
    wait_at("q", 5);
    pass(1000);
    assert_int_equal(delivered.calls, 0);
    complete(a, token);
    assert_int_equal(delivered.jobs, 1);
    assert_int_equal(delivered.id.seq, b.seq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_at_a_time_and_other_keys_go_on),
        TEST(who_waits_for_a_job_that_is_ready_changes_nothing),
        TEST(by_due_time_and_then_by_sequence_whatever_the_priority),
        TEST(one_that_is_due_earlier_takes_the_place_of_one_that_waits),
        TEST(those_of_one_moment_become_ready_in_order),
        TEST(one_that_fails_holds_its_key_until_it_has_ended),
        TEST(a_stall_and_a_release_hold_it_too),
        TEST(again_reschedule_and_replace_give_the_key_free),
        TEST(cancelling_moves_the_next_one_up),
        TEST(one_that_expires_just_leaves_and_a_dead_one_comes_back_at_the_end),
        TEST(a_key_is_of_its_ordering_key),
        TEST(explain_names_who_is_ahead_and_what_it_does),
        TEST(replay_gives_the_same_lanes),
        TEST(a_clock_set_back_does_not_change_the_order),
        TEST(many_that_come_at_once_all_run_in_order),
        TEST(one_that_waits_for_another_job_takes_its_place_when_that_is_done),
        TEST(in_maintenance_a_first_one_that_passes_gates_is_given),
        TEST(one_that_quiet_hours_put_off_keeps_its_key),
        TEST(a_parked_worker_gets_the_next_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
