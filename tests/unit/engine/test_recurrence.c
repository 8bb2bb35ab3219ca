/* SPDX-License-Identifier: MIT */
/* Recurrences at work: what is made of each nominal time, and what the ledger says of it. */
#include "support/recurring.h"

/* ---- Times ---- */

static void it_makes_a_job_at_each_time(void **state)
{
    struct recurrence_spec s = every("10s");
    struct job_view v;

    (void)state;
    s.job.payload = STR("hello");
    s.job.priority = 2;
    s.job.tags = &STR("t");
    s.job.tag_count = 1;
    recur(&s);
    for (int i = 0; i < 5; i++) {
        assert_true(lease("q", &v));
        assert_int_equal(v.nominal_ms, START + i * 10 * SECOND);
        assert_int_equal(v.due_ms, v.nominal_ms);
        assert_int_equal(v.id.due_ms, v.nominal_ms);
        assert_int_equal(v.priority, 2);
        assert_int_equal(v.labels.tag_count, 1);
        assert_true(str_eq(v.payload, STR("hello")) && str_eq(v.recurrence, STR("r")));
        assert_int_equal(view()->next_ms, START + (i + 1) * 10 * SECOND);
        check_entry(entry(), LEDGER_OPEN, v.nominal_ms, v.nominal_ms, 1);
        assert_int_equal(entry().id.seq, v.id.seq);
        complete(&v);
        check_entry(entry(), LEDGER_RAN, v.nominal_ms, v.nominal_ms, 1);
        assert_int_equal(entry().ended_ms, wall);
        pass(10 * SECOND - 1);
        assert_false(lease("q", &v));
        pass(1);
    }
    assert_int_equal(total(LEDGER_RAN), 5);
}

static void rules_that_are_wrong_are_refused(void **state)
{
    struct recurrence_spec s = every("soon");

    (void)state;
    assert_int_equal(refused(&s), BELFRY_INVALID);
    s = rrule("FREQ=OFTEN");
    assert_int_equal(refused(&s), BELFRY_INVALID);
    s = rrule("FREQ=DAILY;COUNT=2");
    s.start_ms = START - 10 * DAY;
    assert_int_equal(refused(&s), BELFRY_INVALID);
    assert_non_null(strstr(engine_detail(e), "no occurrence after now"));
    s = every("1m");
    s.zone = STR("Mars/Base");
    assert_int_equal(refused(&s), BELFRY_INVALID);
    s = every("1m");
    s.name = STR("a b");
    assert_int_equal(refused(&s), BELFRY_INVALID);
    s = every("1m");
    s.job.priority = 9;
    assert_int_equal(refused(&s), BELFRY_INVALID);
    s = every("1m");
    s.job.payload = (struct str){ calloc(1, RECURRENCE_BYTES), RECURRENCE_BYTES };
    assert_int_equal(refused(&s), BELFRY_TOOLARGE);
    free((void *)(uintptr_t)s.job.payload.ptr);
    assert_int_equal(engine_recurrence_delete(e, STR("default"), STR("r")), BELFRY_NOTFOUND);
    assert_int_equal(engine_recurrence_pause(e, STR("acme"), STR("r"), true), BELFRY_NOTFOUND);
}

static void count_and_until_end_it(void **state)
{
    struct recurrence_spec s = rrule("FREQ=SECONDLY;COUNT=3");

    (void)state;
    recur(&s);
    for (int i = 0; i < 10; i++) {
        run_one();
        pass(SECOND);
    }
    assert_int_equal(total(LEDGER_RAN), 3);
    assert_int_equal(view()->next_ms, -1);
    restart(0);
    pass(DAY);
    assert_int_equal(decided(), 3);
    /* Skipped ones count. */
    s.name = STR("skips");
    recur(&s);
    pass(10 * SECOND);
    assert_int_equal(view_named("skips")->r.totals[LEDGER_OPEN], 1);
    assert_int_equal(view_named("skips")->r.totals[LEDGER_OVERLAP], 2);
    assert_int_equal(view_named("skips")->r.next_ms, -1);
}

static void until_ends_it(void **state)
{
    struct recurrence_spec s =
        rrule("FREQ=SECONDLY;UNTIL=20261115T212704Z"); /* START is 2026-11-15T21:27:00Z */

    (void)state;
    recur(&s);
    for (int i = 0; i < 10; i++) {
        run_one();
        pass(SECOND);
    }
    assert_int_equal(total(LEDGER_RAN), 5);
    assert_int_equal(view()->next_ms, -1);
}

/* The first time is found at once. The search for the second would hold up everybody, and ends. */
static void a_costly_search_ends_it(void **state)
{
    struct recurrence_spec s =
        rrule("FREQ=SECONDLY;INTERVAL=479480;BYMONTHDAY=10;BYSECOND=10;BYHOUR=20;BYYEARDAY=41;"
              "COUNT=1000000");

    (void)state;
    s.zone = STR("Pacific/Apia");
    s.start_ms = INT64_C(1802242810000);
    pass(s.start_ms - SECOND - wall);
    recur(&s);
    assert_int_equal(view()->next_ms, s.start_ms);
    pass(SECOND);
    assert_int_equal(run_all("q"), 1);
    assert_int_equal(view()->next_ms, -1);
    pass(DAY);
    assert_int_equal(decided(), 1);
}

/* ---- Catching up and overlapping ---- */

/* An occurrence is under way since period 0, or none is. Then no server runs for periods 1 to 10,
 * which are two minutes each. So 1 to 9 were missed, and 10 is half a minute ago. Then all run. */
static void check_downtime(enum catchup catchup, enum overlap overlap, bool busy, uint64_t missed,
                           uint64_t overlapped, uint64_t ran)
{
    struct recurrence_spec s = every("2m");
    int64_t last = START - 1, nominal;
    uint64_t most = 0, n = 0;
    struct job_view v = { 0 };

    s.catchup = catchup;
    s.overlap = overlap;
    recur(&s);
    assert_true(lease("q", &v));
    if (!busy)
        complete(&v);
    restart(20 * MINUTE + 30 * SECOND);
    work();
    assert_int_equal(decided(), 11);
    for (int i = 0; i < 40; i++) {
        const struct recurrence_view *r = view_named("r");

        most = r->open > most ? r->open : most;
        nominal = n == 0 && busy ? (complete(&v), START) : run_one();
        if (nominal < 0)
            break;
        assert_true(nominal > last); /* in order */
        last = nominal;
        n++;
    }
    if (busy || overlap == OVERLAP_ALLOW)
        assert_true(most <= (overlap == OVERLAP_ALLOW && catchup != CATCHUP_ALL ? 2 : 1));
    if (view()->totals[LEDGER_MISSED] != missed || view()->totals[LEDGER_OVERLAP] != overlapped ||
        view()->totals[LEDGER_RAN] != ran)
        fail_msg("catchup %d overlap %d busy %d: missed %d, overlapped %d, ran %d", catchup,
                 overlap, busy, (int)view()->totals[LEDGER_MISSED],
                 (int)view()->totals[LEDGER_OVERLAP], (int)view()->totals[LEDGER_RAN]);
    assert_int_equal(decided(), 11);
    assert_int_equal(view()->queued, 0);
    struct queue_view q; /* counted since the restart */
    assert_int_equal(engine_queue_get(e, STR("q"), &q), 0);
    assert_int_equal(q.counters->missed, missed);
    assert_int_equal(q.counters->skipped, overlapped);
    assert_int_equal(q.counters->recurred, ran - 1);
}

static void downtime(void **state, enum catchup catchup, enum overlap overlap, uint64_t missed,
                     uint64_t overlapped, uint64_t missed_busy, uint64_t overlapped_busy)
{
    check_downtime(catchup, overlap, false, missed, overlapped, 11 - missed - overlapped);
    teardown(state);
    setup(state);
    check_downtime(catchup, overlap, true, missed_busy, overlapped_busy,
                   11 - missed_busy - overlapped_busy);
}

/* The last one is made whether it was missed or not, unless one is under way and that matters. */
static void catchup_last_overlap_skip(void **state)
{
    downtime(state, CATCHUP_LAST, OVERLAP_SKIP, 9, 0, 9, 1);
}

static void catchup_last_overlap_allow(void **state)
{
    downtime(state, CATCHUP_LAST, OVERLAP_ALLOW, 9, 0, 9, 0);
}

static void catchup_last_overlap_queue(void **state)
{
    downtime(state, CATCHUP_LAST, OVERLAP_QUEUE, 9, 0, 9, 0);
}

static void catchup_skip_overlap_skip(void **state)
{
    downtime(state, CATCHUP_SKIP, OVERLAP_SKIP, 9, 0, 9, 1);
}

static void catchup_skip_overlap_allow(void **state)
{
    downtime(state, CATCHUP_SKIP, OVERLAP_ALLOW, 9, 0, 9, 0);
}

static void catchup_skip_overlap_queue(void **state)
{
    downtime(state, CATCHUP_SKIP, OVERLAP_QUEUE, 9, 0, 9, 0);
}

/* All, one after another; behind those the one that was not missed, whatever OVERLAP says. */
static void catchup_all_overlap_skip(void **state)
{
    downtime(state, CATCHUP_ALL, OVERLAP_SKIP, 0, 0, 0, 0);
}

static void catchup_all_overlap_allow(void **state)
{
    downtime(state, CATCHUP_ALL, OVERLAP_ALLOW, 0, 0, 0, 0);
}

static void catchup_all_overlap_queue(void **state)
{
    downtime(state, CATCHUP_ALL, OVERLAP_QUEUE, 0, 0, 0, 0);
}

static void a_minute_late_is_not_missed(void **state)
{
    struct recurrence_spec s = every("2m");

    (void)state;
    s.catchup = CATCHUP_SKIP;
    s.start_ms = START + 2 * MINUTE;
    recur(&s);
    restart(3 * MINUTE);
    work();
    assert_int_equal(run_one(), START + 2 * MINUTE);
    restart(2 * MINUTE + 1);
    work();
    assert_int_equal(run_one(), -1);
    check_entry(entry(), LEDGER_MISSED, START + 4 * MINUTE, START + 4 * MINUTE, 1);
}

/* A time that passed by exactly a minute was not missed: all up to now are made, not the last. */
static void exactly_a_minute_late_all_are_made_and_then_the_last(void **state)
{
    struct recurrence_spec s = every("30s");

    (void)state;
    s.catchup = CATCHUP_LAST;
    s.overlap = OVERLAP_ALLOW;
    s.start_ms = START + MINUTE;
    recur(&s);
    restart(2 * MINUTE);
    work();
    for (int i = 0; i < 3; i++)
        assert_int_equal(run_one(), START + MINUTE + i * 30 * SECOND);
    assert_int_equal(run_one(), -1);
    restart(90 * SECOND + 1); /* the next one was a minute and a millisecond ago */
    work();
    assert_int_equal(run_one(), START + 3 * MINUTE + 30 * SECOND);
    assert_int_equal(run_one(), -1);
    assert_int_equal(view()->totals[LEDGER_MISSED], 2);
}

static void overlap_skip_leaves_out_and_goes_on(void **state)
{
    struct recurrence_spec s = every("10s");
    struct job_view v;

    (void)state;
    recur(&s);
    assert_true(lease("q", &v));
    pass(10 * SECOND);
    pass(10 * SECOND);
    check_entry(entry(), LEDGER_OVERLAP, START + 10 * SECOND, START + 20 * SECOND, 2);
    assert_int_equal(view_named("r")->open, 1);
    complete(&v);
    pass(10 * SECOND);
    assert_int_equal(run_one(), START + 30 * SECOND);
}

static void overlap_queue_runs_all_in_turn(void **state)
{
    struct recurrence_spec s = every("10s");
    struct job_view v;

    (void)state;
    s.overlap = OVERLAP_QUEUE;
    recur(&s);
    assert_true(lease("q", &v));
    pass(10 * SECOND);
    pass(10 * SECOND);
    pass(10 * SECOND);
    assert_int_equal(view()->queued, 3);
    assert_int_equal(view_named("r")->open, 1);
    complete(&v);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(view()->queued, 3 - i);
        assert_int_equal(run_one(), START + i * 10 * SECOND);
    }
    assert_int_equal(run_one(), -1);
}

/* How it ended does not matter, and a failing one holds nothing back for ever. */
static void however_one_ends_the_next_is_made(void **state)
{
    struct recurrence_spec s = every("1m");
    struct job_view v;

    (void)state;
    s.overlap = OVERLAP_QUEUE;
    s.job.expire_ms = 30 * SECOND;
    recur(&s);
    assert_true(lease("q", &v));
    end_dead(&v);
    check_entry(entry(), LEDGER_FAILED, START, START, 1);
    pass(MINUTE);
    assert_int_equal(engine_cancel(e, entry().id), CANCEL_CANCELLED);
    work();
    check_entry(entry(), LEDGER_CANCELLED, START + MINUTE, START + MINUTE, 1);
    pass(MINUTE);
    pass(MINUTE - 1);
    assert_int_equal(entry().outcome, LEDGER_EXPIRED);
    assert_int_equal(entry().ended_ms, START + 3 * MINUTE - 1);
    assert_string_equal(ledger_word(entry().outcome), "skipped");
    pass(1);
    assert_true(lease("q", &v));
    assert_int_equal(engine_cancel(e, v.id), CANCEL_RUNNING);
    pass(10 * MINUTE); /* its lease ends: it is cancelled, the others had their turn since */
    assert_int_equal(total(LEDGER_CANCELLED), 2);
    assert_int_equal(total(LEDGER_FAILED), 1);
    assert_int_equal(decided(), 14);
}

static void what_would_have_expired_is_not_made(void **state)
{
    struct recurrence_spec s = every("1m");

    (void)state;
    s.catchup = CATCHUP_ALL;
    s.job.expire_ms = 150 * SECOND;
    s.start_ms = START + MINUTE;
    recur(&s);
    restart(10 * MINUTE + 30 * SECOND);
    work();
    check_entry(view()->ledger[0], LEDGER_EXPIRED, START + MINUTE, START + 8 * MINUTE, 8);
    assert_int_equal(run_one(), START + 9 * MINUTE);
    assert_int_equal(run_one(), -1);
    assert_int_equal(total(LEDGER_OVERLAP), 1); /* the last one was not missed */
    assert_int_equal(stats().counters.scheduled, 1);
}

static void a_dead_one_that_is_put_back_ran_in_the_end(void **state)
{
    struct recurrence_spec s = every("1h");
    struct job_view v;

    (void)state;
    recur(&s);
    assert_true(lease("q", &v));
    end_dead(&v);
    assert_int_equal(total(LEDGER_FAILED), 1);
    pass(MINUTE);
    assert_int_equal(engine_redrive(e, v.id), 0);
    assert_int_equal(run_one(), START);
    check_entry(entry(), LEDGER_RAN, START, START, 1);
    assert_int_equal(entry().ended_ms, wall);
    assert_int_equal(total(LEDGER_FAILED), 0);
    assert_int_equal(decided(), 1);
}

static void a_hundred_may_be_under_way(void **state)
{
    struct recurrence_spec s = every("1s");

    (void)state;
    cutting = false;
    s.overlap = OVERLAP_ALLOW;
    recur(&s);
    for (int i = 0; i < 130; i++)
        pass(SECOND);
    assert_int_equal(view_named("r")->open, LEDGER_MAX);
    assert_int_equal(view_named("r")->r.queued, 31); /* they wait for their turn */
    assert_int_equal(total(LEDGER_CROWD), 0);
    assert_int_equal(engine_recurrence_run(e, STR("default"), STR("r"), &(struct job_id){ 0 }),
                     BELFRY_LIMIT);
    restart(0);
    work();
    assert_int_equal(run_all("q"), 131); /* none is left out */
    assert_int_equal(total(LEDGER_RAN), 131);
    pass(SECOND);
    assert_int_equal(run_one(), START + 131 * SECOND);
    assert_int_equal(view()->ledger_count, LEDGER_MAX);
    assert_int_equal(decided(), 132);
}

/* The oldest entries go, those under way stay, and totals know of all. */
static void the_ledger_wraps(void **state)
{
    struct recurrence_spec s = every("1s");
    struct job_view v;

    (void)state;
    cutting = false;
    s.overlap = OVERLAP_ALLOW;
    recur(&s);
    assert_true(lease("q", &v)); /* and never ended */
    for (int i = 1; i <= 250; i++) {
        pass(SECOND);
        assert_int_equal(run_one(), START + i * SECOND);
    }
    assert_int_equal(view()->ledger_count, LEDGER_MAX);
    check_entry(view()->ledger[0], LEDGER_OPEN, START, START, 1);
    check_entry(view()->ledger[1], LEDGER_RAN, START + 152 * SECOND, START + 152 * SECOND, 1);
    assert_int_equal(total(LEDGER_RAN), 250);
    complete(&v);
    assert_int_equal(total(LEDGER_OPEN), 0);
}

static void the_tenant_s_limit_skips(void **state)
{
    struct recurrence_spec s = every("10s");
    struct tenant_settings limit = { .max_pending = 2 };
    struct job_spec other = spec_of("other");
    struct job_id a = schedule(&other);
    struct job_view v;

    (void)state;
    assert_int_equal(engine_tenant_set(e, STR("default"), &limit, 1u << TENANT_MAX_PENDING), 0);
    s.overlap = OVERLAP_QUEUE;
    recur(&s);
    assert_true(lease("q", &v));
    pass(10 * SECOND); /* one waits for its turn */
    complete(&v);
    assert_true(lease("q", &v));
    pass(10 * SECOND);
    pass(10 * SECOND);
    assert_int_equal(view()->queued, 2);
    limit.max_pending = 1;
    assert_int_equal(engine_tenant_set(e, STR("default"), &limit, 1u << TENANT_MAX_PENDING), 0);
    complete(&v); /* both turns come, and neither may be made */
    check_entry(entry(), LEDGER_LIMIT, START + 20 * SECOND, START + 30 * SECOND, 2);
    assert_int_equal(view()->queued, 0);
    assert_int_equal(engine_recurrence_run(e, STR("default"), STR("r"), &v.id), BELFRY_LIMIT);
    assert_int_equal(engine_cancel(e, a), CANCEL_CANCELLED);
    pass(10 * SECOND); /* it goes on */
    assert_int_equal(run_one(), START + 40 * SECOND);
}

/* ---- Crashes ---- */

/* Runs what there is, in the order of nominal times. */
static void finish(struct engine *other, int64_t *last)
{
    struct str name = STR("q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = MINUTE };
    struct job_view v;
    struct job *j;

    while (engine_task(other) > 0)
        ;
    while (engine_lease(other, &r, &j) == 1) {
        engine_view(other, j, &v);
        assert_true(v.nominal_ms > *last);
        *last = v.nominal_ms;
        assert_int_equal(engine_complete(other, v.id, v.token, (struct str){ 0 }, -1), 0);
        while (engine_task(other) > 0)
            ;
    }
}

/* Decided about once wherever it is cut: what the engine goes on with from there makes exactly the
 * nominal times that were not decided about. */
static void cut_anywhere_each_time_is_decided_about_once(void **state)
{
    struct recurrence_spec s = every("10s");
    static struct recurrence_view v;
    struct job_view job;

    (void)state;
    s.overlap = OVERLAP_QUEUE;
    s.catchup = CATCHUP_ALL;
    recur(&s);
    assert_true(lease("q", &job));
    pass(10 * SECOND);
    pass(10 * SECOND);
    complete(&job);
    assert_true(lease("q", &job));
    end_dead(&job);
    restart(5 * MINUTE);
    work();
    run_one();
    set_paused(true);
    pass(20 * SECOND);
    set_paused(false);
    run_one();
    cutting = false;
    for (size_t i = 0; i < cut_count; i++) {
        struct engine *other = at_cut(i);
        int64_t now = engine_now(other), last = -1;
        uint64_t sum = 0;

        for (int64_t up = 5000; up < 5000 + HOUR; up += MINUTE, now += MINUTE) {
            engine_advance(other, now, up);
            if (engine_recurrence_get(other, STR("default"), STR("r"), &v))
                fail_msg("cut %zu: it is lost", i);
            if (v.r.paused)
                engine_recurrence_pause(other, STR("default"), STR("r"), false);
            finish(other, &last);
        }
        assert_int_equal(engine_recurrence_get(other, STR("default"), STR("r"), &v), 0);
        for (int o = 0; o < LEDGER_OUTCOME_COUNT; o++)
            sum += v.r.totals[o];
        assert_int_equal(v.r.totals[LEDGER_OPEN] + v.r.queued, 0);
        assert_int_equal(sum, (now - MINUTE - START) / (10 * SECOND) + 1);
        engine_verify(other);
        engine_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_makes_a_job_at_each_time),
        TEST(rules_that_are_wrong_are_refused),
        TEST(count_and_until_end_it),
        TEST(until_ends_it),
        TEST(a_costly_search_ends_it),
        TEST(catchup_last_overlap_skip),
        TEST(catchup_last_overlap_allow),
        TEST(catchup_last_overlap_queue),
        TEST(catchup_skip_overlap_skip),
        TEST(catchup_skip_overlap_allow),
        TEST(catchup_skip_overlap_queue),
        TEST(catchup_all_overlap_skip),
        TEST(catchup_all_overlap_allow),
        TEST(catchup_all_overlap_queue),
        TEST(a_minute_late_is_not_missed),
        TEST(exactly_a_minute_late_all_are_made_and_then_the_last),
        TEST(overlap_skip_leaves_out_and_goes_on),
        TEST(overlap_queue_runs_all_in_turn),
        TEST(however_one_ends_the_next_is_made),
        TEST(what_would_have_expired_is_not_made),
        TEST(a_dead_one_that_is_put_back_ran_in_the_end),
        TEST(a_hundred_may_be_under_way),
        TEST(the_ledger_wraps),
        TEST(the_tenant_s_limit_skips),
        TEST(cut_anywhere_each_time_is_decided_about_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
