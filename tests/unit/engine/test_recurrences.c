/* SPDX-License-Identifier: MIT */
/* Requests about recurrences, and who sees what of them. */
#include "support/recurring.h"

/* ---- Requests ---- */

static void a_pause_skips_and_is_in_the_ledger(void **state)
{
    struct recurrence_spec s = every("10s");

    (void)state;
    recur(&s);
    assert_int_equal(run_one(), START);
    set_paused(true);
    set_paused(true);
    for (int i = 0; i < 3; i++)
        pass(10 * SECOND);
    restart(30 * SECOND);
    work();
    assert_int_equal(run_one(), -1);
    assert_int_equal(decided(), 1);
    set_paused(false);
    check_entry(entry(), LEDGER_PAUSED, START + 10 * SECOND, START + 60 * SECOND, 6);
    pass(10 * SECOND);
    assert_int_equal(run_one(), START + 70 * SECOND);
}

static void what_is_queued_outlives_a_pause(void **state)
{
    struct recurrence_spec s = every("10s");
    struct job_view v;

    (void)state;
    s.overlap = OVERLAP_QUEUE;
    recur(&s);
    assert_true(lease("q", &v));
    pass(10 * SECOND);
    pass(10 * SECOND); /* 10 and 20 are queued */
    set_paused(true);
    pass(20 * SECOND); /* 30 and 40 are not */
    set_paused(false);
    pass(10 * SECOND); /* 50 is, behind a gap */
    set_paused(true);
    complete(&v);
    assert_int_equal(run_one(), -1); /* it is paused */
    pass(10 * SECOND);
    set_paused(false);
    assert_int_equal(run_one(), START + 10 * SECOND);
    assert_int_equal(run_one(), START + 20 * SECOND);
    assert_int_equal(run_one(), START + 50 * SECOND);
    assert_int_equal(run_one(), -1);
    assert_int_equal(total(LEDGER_PAUSED), 3);
    pass(10 * SECOND);
    assert_int_equal(run_one(), START + 70 * SECOND);
    assert_int_equal(decided(), 8);
}

static void the_same_definition_is_no_change(void **state)
{
    struct recurrence_spec s = every("10s");
    uint64_t lsn;

    (void)state;
    recur(&s);
    pass(5 * SECOND);
    lsn = engine_lsn(e);
    recur(&s);
    assert_int_equal(engine_lsn(e), lsn);
    assert_int_equal(view()->revision, 1);
    s.job.payload = STR("other");
    recur(&s);
    assert_int_equal(view()->revision, 2);
    assert_int_equal(view()->start_ms, START);
    assert_int_equal(view()->next_ms, START + 10 * SECOND);
}

static void an_edit_makes_nothing_past(void **state)
{
    struct recurrence_spec s = every("10s");

    (void)state;
    recur(&s);
    assert_int_equal(run_one(), START);
    pass(15 * SECOND);
    assert_int_equal(run_one(), START + 10 * SECOND);
    s.rule = STR("2s");
    s.start_ms = START - DAY;
    recur(&s);
    assert_int_equal(run_one(), -1);
    assert_int_equal(view()->next_ms, START + 16 * SECOND);
    assert_int_equal(view()->revision, 2);
    assert_int_equal(decided(), 2);
    /* Nor what was decided about, by a clock that is set back since. */
    wall -= 10 * SECOND;
    engine_advance(e, wall, mono);
    s.rule = STR("5s");
    recur(&s);
    assert_int_equal(view()->next_ms, START + 15 * SECOND);
}

static void an_edit_writes_down_what_it_leaves_out(void **state)
{
    struct recurrence_spec s = every("10s");
    struct job_view v;

    (void)state;
    s.overlap = OVERLAP_QUEUE;
    recur(&s);
    assert_true(lease("q", &v));
    pass(10 * SECOND);
    pass(10 * SECOND);
    assert_int_equal(view()->queued, 2);
    wall += 20 * SECOND; /* two more, but the engine has not come to them */
    mono += 20 * SECOND;
    engine_advance(e, wall, mono);
    s.job.payload = STR("new");
    assert_int_equal(engine_recur(e, &s), 0);
    check_entry(entry(), LEDGER_EDITED, START + 10 * SECOND, START + 40 * SECOND, 4);
    work();
    assert_int_equal(view()->queued, 0);
    assert_int_equal(view()->next_ms, START + 50 * SECOND);
    complete(&v);
    assert_int_equal(run_one(), -1);
    set_paused(true);
    pass(30 * SECOND); /* 50, 60 and 70 */
    s.rule = STR("7s");
    recur(&s);
    check_entry(entry(), LEDGER_PAUSED, START + 50 * SECOND, START + 70 * SECOND, 3);
    assert_true(view()->paused);
    set_paused(false);
    assert_int_equal(decided(), 8);
    pass(7 * SECOND);
    assert_int_equal(run_one(), START + 77 * SECOND);
}

/* The kind of the rule makes no difference, though rules of some kinds cost more to search. */
static void an_edit_counts_up_to_five_thousand_times(void **state)
{
    static const struct {
        int64_t days;
        uint64_t counted;
    } rows[] = { { 4999, 4999 }, { 5001, 5000 }, { 7000, 5000 } };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        struct recurrence_spec s = i % 2 ? every("1d") : rrule("FREQ=DAILY");
        int64_t days = rows[i / 2].days, from = wall;
        uint64_t before = i ? total(LEDGER_PAUSED) : 0;

        s.start_ms = from + SECOND;
        recur(&s);
        set_paused(true);
        pass(days * DAY);
        s.job.payload = STR("new");
        recur(&s);
        assert_int_equal(total(LEDGER_PAUSED) - before, rows[i / 2].counted);
        assert_int_equal(view()->last_ms, days > 5000 ? wall : from + SECOND + (days - 1) * DAY);
        assert_int_equal(view()->next_ms, from + SECOND + days * DAY);
    }
}

static void it_can_be_run_by_hand(void **state)
{
    struct recurrence_spec s = every("10s");
    struct job_id a, b;
    struct job_view v;

    (void)state;
    s.start_ms = START + 10 * SECOND;
    recur(&s);
    pass(SECOND);
    assert_int_equal(engine_recurrence_run(e, STR("default"), STR("r"), &a), 0);
    assert_int_equal(engine_recurrence_run(e, STR("default"), STR("r"), &b), 0);
    assert_true(entry().by_hand);
    assert_int_equal(a.due_ms, START + SECOND);
    assert_int_equal(b.due_ms, START + SECOND + 1);
    pass(1);
    assert_int_equal(view()->next_ms, START + 10 * SECOND);
    pass(9 * SECOND);
    assert_int_equal(entry().outcome, LEDGER_OVERLAP); /* it is one like any other */
    assert_int_equal(run_one(), START + SECOND);
    assert_int_equal(run_one(), START + SECOND + 1);
    set_paused(true);
    assert_int_equal(engine_recurrence_run(e, STR("default"), STR("r"), &a), 0);
    assert_true(lease("q", &v));
    end_dead(&v);
    check_entry(entry(), LEDGER_FAILED, wall, wall, 1);
    assert_int_equal(engine_recurrence_run(e, STR("default"), STR("no"), &a), BELFRY_NOTFOUND);
}

static void deleted_it_is_gone_and_its_jobs_go_on(void **state)
{
    struct recurrence_spec s = every("10s");
    struct recurrence_view v;
    struct job_view job;

    (void)state;
    recur(&s);
    assert_true(lease("q", &job));
    assert_int_equal(engine_recurrence_delete(e, STR("default"), STR("r")), 0);
    assert_int_equal(engine_recurrence_get(e, STR("default"), STR("r"), &v), BELFRY_NOTFOUND);
    pass(MINUTE);
    recur(&s); /* another one of that name hears nothing of it */
    complete(&job);
    assert_int_equal(state_of(job.id), JOB_DONE);
    assert_int_equal(decided(), 1);
    assert_int_equal(total(LEDGER_OPEN), 1);
    assert_int_equal(run_one(), wall);
    assert_int_equal(stats().jobs[JOB_DONE], 2);
}

/* ---- What is hidden ---- */

static int count_queue(void *arg, const struct queue_view *v)
{
    (void)v;
    ++*(int *)arg;
    return 0;
}

static int count_job(void *arg, const struct job_view *v)
{
    (void)v;
    ++*(int *)arg;
    return 0;
}

static int count_recurrence(void *arg, const struct recurrence_view *v)
{
    assert_false(v->damaged);
    ++*(int *)arg;
    return 0;
}

static void it_is_no_job_that_anybody_sees(void **state)
{
    struct recurrence_spec s = every("1h");
    struct list_filter all = { .state = -1, .to_ms = INT64_MAX, .limit = 100 };
    struct list_cursor cursor = { 0 };
    struct explanation x;
    struct tenant_view t;
    struct job_view v;
    struct job_id id, found;
    int n = 0;

    (void)state;
    s.tenant = STR("acme");
    s.job.queue = STR("acme@q");
    s.start_ms = START + HOUR;
    recur(&s);
    id = (struct job_id){ START + HOUR, 0, 1 }; /* what its id must be: it is the first */
    assert_int_equal(engine_get(e, id, &v), BELFRY_NOTFOUND);
    assert_int_equal(engine_cancel(e, id), CANCEL_NOTFOUND);
    assert_int_equal(engine_reschedule(e, id, START), BELFRY_NOTFOUND);
    assert_int_equal(engine_redrive(e, id), BELFRY_NOTFOUND);
    assert_int_equal(engine_explain(e, id, &x), BELFRY_NOTFOUND);
    assert_int_equal(engine_complete(e, id, 1, (struct str){ 0 }, -1), BELFRY_NOTFOUND);
    assert_int_equal(engine_schedule(e,
                                     &(struct job_spec){ .queue = STR("acme@q"),
                                                         .priority = 3,
                                                         .attempts = -1,
                                                         .lease_ms = -1,
                                                         .after = &id,
                                                         .after_count = 1 },
                                     &(struct schedule_result){ 0 }),
                     BELFRY_NOTFOUND);
    assert_int_equal(engine_list(e, &all, count_job, &n, &cursor), 0);
    assert_int_equal(engine_queues(e, STR("*"), STR(""), 100, count_queue, &n), 0);
    assert_int_equal(n, 0);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        assert_int_equal(stats().jobs[i], 0);
    assert_int_equal(stats().hot_jobs + stats().cold_jobs + stats().queues, 0);
    assert_int_equal(engine_tenant_get(e, STR("acme"), &t), 0);
    assert_int_equal(t.pending + t.queues, 0);
    assert_int_equal(engine_find_key(e, STR("q"), STR(""), STR("r"), &found), BELFRY_NOTFOUND);
    /* It is one of its tenant's recurrences, and of nobody else's. */
    memset(&cursor, 0, sizeof(cursor));
    assert_int_equal(engine_recurrences(e, STR("default"), 100, count_recurrence, &n, &cursor), 0);
    assert_int_equal(n, 0);
    memset(&cursor, 0, sizeof(cursor));
    assert_int_equal(engine_recurrences(e, STR("acme"), 100, count_recurrence, &n, &cursor), 0);
    assert_int_equal(n, 1);
    pass(HOUR);
    assert_int_equal(stats().jobs[JOB_READY], 1);
    assert_int_equal(stats().hot_jobs, 1);
}

/* ---- Bytes ---- */

static void it_survives_as_bytes(void **state)
{
    struct recurrence_spec s = every("1s");
    static struct recurrence again;
    struct buf a = { 0 }, b = { 0 };
    struct job_view v;

    (void)state;
    s.overlap = OVERLAP_QUEUE;
    recur(&s);
    assert_true(lease("q", &v));
    pass(3 * SECOND);
    set_paused(true);
    pass(3 * SECOND);
    set_paused(false);
    pass(3 * SECOND);
    recurrence_encode(&a, view());
    assert_true(recurrence_decode(buf_view(&a), 0, &again));
    assert_int_equal(again.range_count, 2);
    recurrence_encode(&b, &again);
    assert_true(str_eq(buf_view(&a), buf_view(&b)));
    for (size_t len = 0; len < a.len; len++) /* all of it is needed */
        assert_false(recurrence_decode((struct str){ a.ptr, len }, 0, &again));
    buf_fini(&a);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_pause_skips_and_is_in_the_ledger),
        TEST(what_is_queued_outlives_a_pause),
        TEST(the_same_definition_is_no_change),
        TEST(an_edit_makes_nothing_past),
        TEST(an_edit_writes_down_what_it_leaves_out),
        TEST(an_edit_counts_up_to_five_thousand_times),
        TEST(it_can_be_run_by_hand),
        TEST(deleted_it_is_gone_and_its_jobs_go_on),
        TEST(it_is_no_job_that_anybody_sees),
        TEST(it_survives_as_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
