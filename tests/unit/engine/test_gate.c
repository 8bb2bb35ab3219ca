/* SPDX-License-Identifier: MIT */
/* Quiet hours, jobs that pass all gates, slow start, and how long workers waited. */
#include "support/tenants.h"

#include "engine/cold.h"
#include "record/record.h"

static struct job_id schedule_as(struct job_spec spec)
{
    struct schedule_result r;

    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

static struct job_id schedule_notify(const char *queue)
{
    struct job_spec spec = spec_of(queue);

    spec.notify = true;
    return schedule_as(spec);
}

static struct job_id schedule_pass(const char *queue, int priority)
{
    struct job_spec spec = spec_of(queue);

    spec.notify = spec.passing = true;
    spec.priority = priority;
    return schedule_as(spec);
}

static void maintain(const char *name, bool maintenance)
{
    set_tenant(name, TENANT_MAINTENANCE, (struct tenant_settings){ .maintenance = maintenance });
}

static struct job_view get(struct job_id id)
{
    struct job_view v;

    assert_int_equal(engine_get(e, id, &v), 0);
    return v;
}

static struct explanation explain(struct job_id id)
{
    struct explanation x;

    assert_int_equal(engine_explain(e, id, &x), 0);
    return x;
}

static uint64_t deferred(const char *queue)
{
    struct queue_view v;

    assert_int_equal(engine_queue_get(e, str_of(queue), &v), 0);
    return v.counters->deferred;
}

/* ---- Quiet hours ---- */

static void quiet_hours_put_a_notify_job_off_to_their_end(void **state)
{
    struct job_id id, other;
    struct engine_stats s;
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    id = schedule_notify("a@q");
    other = schedule("a@q");
    assert_int_equal(explain(id).reason, REASON_QUIET_HOURS);
    assert_int_equal(explain(id).until_ms, quiet_end_ms);
    assert_int_equal(get(id).state, JOB_READY);
    assert_true(lease("a@q", &v)); /* the other one, which nobody minds */
    assert_int_equal(v.id.seq, other.seq);
    v = get(id);
    assert_int_equal(v.state, JOB_SCHEDULED);
    assert_int_equal(v.at_ms, quiet_end_ms);
    assert_int_equal(v.deferred_ms, quiet_end_ms);
    assert_int_equal(v.deferrals, 1);
    assert_int_equal(v.attempt, 0);
    assert_int_equal(v.due_ms, quiet_end_ms - 10 * MINUTE);
    assert_int_equal(explain(id).reason, REASON_QUIET_HOURS);
    assert_int_equal(explain(id).deferred_ms, quiet_end_ms);
    assert_int_equal(explain(id).deferrals, 1);
    assert_int_equal(deferred("a@q"), 1);
    engine_stats(e, &s);
    assert_int_equal(s.counters.deferred, 1);
    pass(10 * MINUTE - 1);
    assert_false(lease("a@q", &v));
    pass(1);
    assert_true(lease("a@q", &v));
    assert_int_equal(v.id.seq, id.seq);
    assert_int_equal(v.attempt, 1);
    v = get(id);
    assert_int_equal(v.deferred_ms, -1);
    assert_int_equal(v.deferrals, 1);
}

static void only_notify_jobs_of_that_tenant_are_put_off(void **state)
{
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    schedule_notify("b@q");
    schedule_notify("q");
    schedule("a@q");
    assert_true(lease("b@q", &v));
    assert_true(lease("q", &v));
    assert_true(lease("a@q", &v));
    schedule_pass("a@q", 3);
    assert_true(lease("a@q", &v));
    assert_int_equal(deferred("a@q"), 0);
}

static void a_parked_worker_gets_it_at_the_end(void **state)
{
    struct job_id id;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    wait_at("*@q", 1);
    id = schedule_notify("a@q");
    dispatch();
    assert_int_equal(delivered.calls, 0);
    assert_int_equal(get(id).deferrals, 1);
    pass(10 * MINUTE);
    assert_int_equal(delivered.jobs, 1);
    assert_int_equal(delivered.id.seq, id.seq);
}

static void a_spread_keeps_the_end_from_being_a_herd(void **state)
{
    int64_t first = INT64_MAX, last = 0;
    struct job_id ids[100];
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, MINUTE);
    for (int i = 0; i < 100; i++)
        ids[i] = schedule_notify("a@q");
    assert_false(lease("a@q", &v));
    for (int i = 0; i < 100; i++) {
        int64_t at = get(ids[i]).deferred_ms;

        assert_in_range(at, quiet_end_ms, quiet_end_ms + MINUTE);
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    assert_true(last - first > MINUTE / 2);
    assert_int_equal(zones_asked, 1); /* once in a moment is enough */
}

static void it_is_put_off_again_if_it_is_quiet_again(void **state)
{
    struct job_id id;
    struct job_view v;

    (void)state;
    be_quiet("a", MINUTE, 0);
    id = schedule_notify("a@q");
    assert_false(lease("a@q", &v));
    pass(MINUTE);
    be_quiet("a", MINUTE, 0);
    assert_false(lease("a@q", &v));
    assert_int_equal(get(id).deferrals, 2);
    pass(MINUTE);
    assert_true(lease("a@q", &v));
    assert_int_equal(v.attempt, 1);
}

static void what_is_put_off_stays_so_until_it_is_rescheduled(void **state)
{
    struct job_id id, moved;
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    id = schedule_notify("a@q");
    moved = schedule_notify("a@q");
    assert_false(lease("a@q", &v));
    set_tenant("a", TENANT_QUIET, (struct tenant_settings){ .quiet = "" });
    assert_false(lease("a@q", &v));
    assert_int_equal(engine_reschedule(e, moved, wall), 0);
    assert_int_equal(get(moved).deferred_ms, -1);
    assert_int_equal(get(moved).deferrals, 1);
    assert_true(lease("a@q", &v));
    assert_int_equal(v.id.seq, moved.seq);
    assert_false(lease("a@q", &v));
    assert_int_equal(get(id).deferred_ms, quiet_end_ms);
    schedule_notify("a@q"); /* a new one is not put off */
    assert_true(lease("a@q", &v));
}

static void replacing_ends_a_deferral(void **state)
{
    struct job_spec spec = spec_of("a@q");
    struct job_id id;
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    spec.notify = true;
    spec.key = STR("k");
    spec.if_exists = IFEXISTS_REPLACE;
    id = schedule_as(spec);
    assert_false(lease("a@q", &v));
    schedule_as(spec);
    assert_int_equal(get(id).state, JOB_READY);
    assert_int_equal(get(id).deferred_ms, -1);
    assert_false(lease("a@q", &v));
    assert_int_equal(get(id).deferrals, 2);
}

static void a_job_that_is_put_off_still_expires(void **state)
{
    struct job_spec spec = spec_of("a@q");
    struct job_id id;
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    spec.notify = true;
    spec.expire_ms = MINUTE;
    id = schedule_as(spec);
    assert_false(lease("a@q", &v));
    assert_int_equal(get(id).deferred_ms, quiet_end_ms);
    pass(MINUTE - 1);
    assert_int_equal(get(id).state, JOB_SCHEDULED);
    pass(1);
    assert_int_equal(get(id).state, JOB_EXPIRED);
    assert_int_equal(get(id).deferred_ms, -1);
}

/* Of a night's work a request puts off no more than a bounded part. */
static void one_request_puts_off_a_bounded_number(void **state)
{
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    for (int i = 0; i < 3000; i++)
        schedule_notify("a@q");
    schedule("a@q");
    assert_false(lease("a@q", &v));
    assert_int_equal(deferred("a@q"), 2500);
    assert_true(lease("a@q", &v));
    assert_int_equal(deferred("a@q"), 3000);
}

/* In one turn, serving all parked requests puts off no more jobs than one request does, however
 * many queues there are. Other requests do not wait for that, and the engine asks for the next
 * turn. */
static void one_turn_puts_off_a_bounded_number(void **state)
{
    enum { QUEUES = 8, JOBS = 1000 };
    char names[QUEUES][8];
    int64_t wall_ms, mono_ms;
    uint64_t before = 0;
    int turns = 0;

    (void)state;
    be_quiet("a", 10 * MINUTE, 0);
    for (int i = 0; i < QUEUES; i++) {
        snprintf(names[i], sizeof(names[i]), "a@q%d", i);
        for (int k = 0; k < JOBS; k++)
            schedule_notify(names[i]);
        wait_at(names[i], 1);
    }
    wait_at("b@q", 1);
    schedule("b@q");
    while (before < (uint64_t)QUEUES * JOBS) {
        struct engine_stats s;

        dispatch();
        assert_int_equal(delivered.calls, 1); /* b, in the first turn */
        engine_stats(e, &s);
        assert_in_range(s.counters.deferred, before + 1, before + 2500);
        before = s.counters.deferred;
        engine_next_wake(e, &wall_ms, &mono_ms);
        if (before < (uint64_t)QUEUES * JOBS)
            assert_true(mono_ms <= mono);
        turns++;
        advance();
    }
    assert_int_equal(turns, 4);
    dispatch();
    engine_next_wake(e, &wall_ms, &mono_ms);
    assert_true(mono_ms > mono);
}

static void the_last_moment_there_is_is_not_passed(void **state)
{
    struct job_id id;
    struct job_view v;

    (void)state;
    pass(INT64_C(253402300799999) - 10 * MINUTE - wall);
    be_quiet("a", 10 * MINUTE, DAY);
    id = schedule_notify("a@q");
    assert_false(lease("a@q", &v));
    assert_int_equal(get(id).deferred_ms, INT64_C(253402300799999));
}

/* The record says when: replaying it needs no zone, and no random number. */
static void a_replay_knows_what_was_put_off(void **state)
{
    struct engine_options o = { .epoch = 2, .memory_bytes = UINT64_C(4) << 30 };
    struct engine *again = engine_new(&o);
    struct job_id id, passing;
    struct job_view v;

    (void)state;
    be_quiet("a", 10 * MINUTE, MINUTE);
    maintain("a", true);
    id = schedule_notify("a@q");
    passing = schedule_pass("a@q", 5);
    maintain("a", false);
    pass(1);
    assert_true(lease("a@q", &v));
    assert_int_equal(engine_replay(again, buf_view(&journal), 1), 0);
    assert_int_equal(engine_hash(again), engine_hash(e));
    assert_int_equal(engine_get(again, id, &v), 0);
    assert_int_equal(v.deferred_ms, get(id).deferred_ms);
    assert_int_equal(v.deferrals, 1);
    assert_true(v.notify && !v.passing);
    assert_int_equal(engine_get(again, passing, &v), 0);
    assert_true(v.notify && v.passing);
    engine_free(again);
}

#define LIMIT_BYTES(name, kind, member) +1 /* all of them are 0 */

/* What a version before this wrote: shorter bodies. */
static void older_records_are_read(void **state)
{
    struct move_record move = { .seq = 7, .due_ms = 5, .at_ms = 6, .deferred = true }, got;
    struct tenant_record tenant_r = { .name = STR("a"), .settings = { .weight = 3 } }, back;
    struct buf b = { 0 };
    struct str body;

    (void)state;
    record_put_move(&b, &move);
    body = (struct str){ b.ptr + 5, b.len - 5 };
    assert_true(record_get_move(body, &got) && got.deferred && got.at_ms == 6);
    body.len--;
    assert_true(record_get_move(body, &got) && !got.deferred && got.at_ms == 6);
    b.len = 0;
    record_put_tenant(&b, &tenant_r);
    size_t limits = 0 TENANT_LIMIT_FIELDS(LIMIT_BYTES) TENANT_STOP_FIELDS(LIMIT_BYTES);
    limits++;                                                 /* no job that a rate counted */
    body = (struct str){ b.ptr + 5, b.len - 5 - 3 - limits }; /* two empty texts and a zero */
    assert_true(record_get_tenant(body, &back));
    assert_int_equal(back.settings.weight, 3);
    assert_int_equal(back.settings.max_queues, tenant_defaults.max_queues);
    assert_int_equal(back.settings.quiet[0], 0);
    b.len = 0;
    snprintf(tenant_r.settings.quiet, sizeof(tenant_r.settings.quiet), "22:00-07:00");
    tenant_r.settings.spread_ms = 1000;
    record_put_tenant(&b, &tenant_r);
    assert_true(record_get_tenant((struct str){ b.ptr + 5, b.len - 5 }, &back));
    assert_string_equal(back.settings.quiet, "22:00-07:00");
    assert_int_equal(back.settings.spread_ms, 1000);
    buf_fini(&b);
}

/* ---- GATES pass ---- */

static void a_passing_job_is_given_in_maintenance(void **state)
{
    struct job_id id, held;
    struct job_view v;

    (void)state;
    maintain("a", true);
    held = schedule("a@q");
    wait_at("*@q", 1); /* parks the queue */
    assert_int_equal(explain(held).reason, REASON_MAINTENANCE);
    id = schedule_pass("a@q", 3);
    assert_int_not_equal(explain(id).reason, REASON_MAINTENANCE);
    dispatch();
    assert_int_equal(delivered.jobs, 1);
    assert_int_equal(delivered.id.seq, id.seq);
    assert_int_equal(get(held).state, JOB_READY);
    assert_false(lease("a@q", &v));
    id = schedule_pass("a@q", 3); /* by name as well */
    assert_true(lease("a@q", &v));
    assert_int_equal(v.id.seq, id.seq);
    assert_false(lease("a@q", &v));
    maintain("a", false);
    assert_true(lease("a@q", &v));
    assert_int_equal(v.id.seq, held.seq);
}

static void a_passing_job_that_becomes_due_wakes_a_parked_queue(void **state)
{
    struct job_spec spec = spec_of("a@q");
    struct job_id id;

    (void)state;
    maintain("a", true);
    schedule_many("a@q", 3);
    wait_at("*@q", 1);
    spec.passing = true;
    spec.due_ms = wall + 500;
    id = schedule_as(spec);
    pass(499);
    assert_int_equal(delivered.jobs, 0);
    pass(1);
    assert_int_equal(delivered.jobs, 1);
    assert_int_equal(delivered.id.seq, id.seq);
}

/* By the rank of the first of them, which is the one that was ready first. */
static void passing_jobs_are_in_the_order_of_time(void **state)
{
    struct job_id slow, quick, between, late;
    struct job_view v;

    (void)state;
    slow = schedule_pass("a@q", 5);
    pass(1);
    quick = schedule_pass("a@q", 1);
    between = schedule("a@q"); /* priority 3 */
    pass(70000);
    late = schedule("a@q");
    assert_true(lease("a@q", &v) && v.id.seq == between.seq);
    assert_true(lease("a@q", &v) && v.id.seq == slow.seq);
    assert_true(lease("a@q", &v) && v.id.seq == quick.seq);
    assert_true(lease("a@q", &v) && v.id.seq == late.seq);
}

static void pauses_limits_and_rates_hold_passing_jobs(void **state)
{
    struct job_view v;

    (void)state;
    maintain("a", true);
    for (int i = 0; i < 5; i++)
        schedule_pass("a@q", 3);
    set_queue("a@q", QUEUE_PAUSED, (struct queue_settings){ .paused = true });
    assert_false(lease("a@q", &v));
    set_queue("a@q", QUEUE_PAUSED, (struct queue_settings){ .paused = false });
    set_tenant("a", TENANT_MAX_RUNNING, (struct tenant_settings){ .max_running = 1 });
    assert_true(lease("*@q", &v));
    wait_at("*@q", 1);
    assert_int_equal(delivered.jobs, 0);
    complete(v.id, v.token);
    assert_int_equal(delivered.jobs, 1);
    set_tenant("a", TENANT_MAX_RUNNING, (struct tenant_settings){ .max_running = 0 });
    set_queue("a@q", QUEUE_RATE, (struct queue_settings){ .rate = { 1, 1000 } });
    while (lease("a@q", &v))
        ;
    wait_at("*@q", 1);
    assert_int_equal(delivered.jobs, 1);
    pass(1000);
    assert_int_equal(delivered.jobs, 2);
}

/* ---- Slow start ---- */

static int slow_setup(void **state)
{
    (void)state;
    slow_start_ms = 9000;
    start(10);
    slow_start_ms = 0;
    return 0;
}

static int slow_unlimited_setup(void **state)
{
    (void)state;
    slow_start_ms = 9000;
    start(0);
    slow_start_ms = 0;
    return 0;
}

static int take_all(const char *queue)
{
    struct job *jobs[1000];

    return lease_some(queue, 1000, jobs);
}

static void what_may_run_grows_after_a_start(void **state)
{
    struct job_id id;

    (void)state;
    schedule_many("q", 20);
    id = schedule("q");
    assert_int_equal(take_all("q"), 1); /* a tenth of ten, */
    assert_int_equal(hold_of("q"), HOLD_SLOW_START);
    assert_int_equal(explain(id).reason, REASON_SLOW_START);
    assert_int_equal(explain(id).until_ms, wall + 1000);
    pass(999);
    assert_int_equal(take_all("q"), 0);
    pass(1);
    assert_int_equal(take_all("q"), 1);
    pass(3000);
    assert_int_equal(take_all("q"), 3);
    pass(4999);
    assert_int_equal(take_all("q"), 4);
    assert_int_equal(hold_of("q"), HOLD_SLOW_START);
    pass(1);
    assert_int_equal(take_all("q"), 1); /* and then all of it */
    assert_int_equal(hold_of("q"), HOLD_SERVER_RUNNING);
    pass(MINUTE);
    assert_int_equal(take_all("q"), 0);
}

static void who_waits_is_woken_as_more_may_run(void **state)
{
    int64_t wall_ms, mono_ms, began = mono;

    (void)state;
    schedule_many("q", 20);
    assert_int_equal(take_all("q"), 1);
    for (int i = 1; i < 10; i++) {
        wait_at("q", 1);
        engine_next_wake(e, &wall_ms, &mono_ms);
        assert_int_equal(mono_ms, began + i * 1000);
        pass(mono_ms - mono);
        assert_int_equal(delivered.jobs, i);
    }
    wait_at("q", 1);
    engine_next_wake(e, &wall_ms, &mono_ms);
    assert_true(mono_ms > mono + MINUTE); /* not before a lease ends, or nearly so */
}

static void without_a_limit_it_is_a_thousand_and_then_any_number(void **state)
{
    int64_t wall_ms, mono_ms, began = mono;

    (void)state;
    schedule_many("q", 2000);
    assert_int_equal(take_all("q"), 100);
    pass(4500);
    assert_int_equal(take_all("q"), 450);
    pass(4499);
    assert_int_equal(take_all("q"), 449);
    wait_at("q", 1000);
    engine_next_wake(e, &wall_ms, &mono_ms);
    assert_int_equal(mono_ms, began + 9000);
    pass(1);
    assert_int_equal(delivered.jobs, 1000);
    assert_int_equal(take_all("q"), 1);
}

/* ---- How long workers waited ---- */

static void the_wait_of_each_lease_is_counted(void **state)
{
    struct engine_stats s;
    struct queue_view q;
    struct job *jobs[4];
    struct str names[] = { STR("q"), STR("r") };
    struct lease_request r = { .queues = names, .queue_count = 2, .count = 4, .for_ms = -1 };

    (void)state;
    assert_int_equal(engine_lease(e, &r, jobs), 0); /* got nothing: not counted */
    schedule_many("q", 2);
    schedule_many("r", 1);
    assert_int_equal(engine_lease(e, &r, jobs), 3); /* one of two queues, at once */
    wait_at("q", 1);
    pass(2000);
    schedule("q");
    dispatch();
    assert_int_equal(delivered.jobs, 1);
    engine_stats(e, &s);
    assert_int_equal(s.wait->count, 2);
    assert_in_range(s.wait->max, 2000, 2100);
    assert_int_equal(engine_queue_get(e, STR("q"), &q), 0);
    assert_int_equal(q.wait->count, 2);
    assert_in_range(q.wait->max, 2000, 2100);
    assert_int_equal(engine_queue_get(e, STR("r"), &q), 0);
    assert_int_equal(q.wait->count, 1);
    assert_int_equal(q.wait->max, 0);
}

#define SLOW(name, how) cmocka_unit_test_setup_teardown(name, how, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(quiet_hours_put_a_notify_job_off_to_their_end),
        TEST(only_notify_jobs_of_that_tenant_are_put_off),
        TEST(a_parked_worker_gets_it_at_the_end),
        TEST(a_spread_keeps_the_end_from_being_a_herd),
        TEST(it_is_put_off_again_if_it_is_quiet_again),
        TEST(what_is_put_off_stays_so_until_it_is_rescheduled),
        TEST(replacing_ends_a_deferral),
        TEST(a_job_that_is_put_off_still_expires),
        TEST(one_request_puts_off_a_bounded_number),
        TEST(one_turn_puts_off_a_bounded_number),
        TEST(the_last_moment_there_is_is_not_passed),
        TEST(a_replay_knows_what_was_put_off),
        TEST(older_records_are_read),
        TEST(a_passing_job_is_given_in_maintenance),
        TEST(a_passing_job_that_becomes_due_wakes_a_parked_queue),
        TEST(passing_jobs_are_in_the_order_of_time),
        TEST(pauses_limits_and_rates_hold_passing_jobs),
        SLOW(what_may_run_grows_after_a_start, slow_setup),
        SLOW(who_waits_is_woken_as_more_may_run, slow_setup),
        SLOW(without_a_limit_it_is_a_thousand_and_then_any_number, slow_unlimited_setup),
        TEST(the_wait_of_each_lease_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
