/* SPDX-License-Identifier: MIT */
/* Single answers of EXPLAIN: who is ahead, who asked, how a job ended. */
#include "support/explain.h"

static void assert_says(const struct explanation *x, const char *text)
{
    if (!strstr(x->why, text))
        fail_msg("no '%s' in: %s", text, x->why);
}

static void assert_names(const struct explanation *x, struct job_id id)
{
    char text[ID_TEXT + 1] = { 0 };

    id_format(id, text);
    assert_says(x, text);
}

static struct job_id ready(void)
{
    struct job_spec s = spec_of("a@q", 0);

    return put(&s);
}

static void the_only_job_waits_for_a_worker_since_one_last_asked(void **state)
{
    struct job_id id;
    struct explanation x;

    (void)state;
    ready();
    take("a@q");
    id = ready();
    x = explain(id);
    assert_int_equal(x.reason, REASON_NO_WORKER);
    assert_int_equal(x.asked_ms, wall);
    assert_int_equal(x.ahead, 0);
    assert_int_equal(x.ahead_most, 0);
    assert_int_equal(x.at_ms, -1);
    assert_says(&x, "since 2026-11-");
    pass(HOUR);
    x = explain(id);
    assert_int_equal(x.asked_ms, wall - HOUR);
    reopen();
    x = explain(id);
    assert_int_equal(x.asked_ms, -1);
    assert_says(&x, "when the server started");
    pass(5000);
    x = explain(schedule("a@new", 0));
    assert_says(&x, "when the queue was made");
}

static void a_worker_that_waited_has_asked_until_it_went(void **state)
{
    struct str name = STR("a@q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = HOUR };
    struct waiter *w;
    struct job_id id;

    (void)state;
    assert_int_equal(engine_wait(e, &r, HOUR, NULL, &w), 0);
    advance(1000);
    id = ready();
    assert_int_equal(explain(id).reason, REASON_NEXT);
    assert_int_equal(explain(id).at_ms, wall);
    ready();
    assert_int_equal(explain(ready()).reason, REASON_BEHIND);
    engine_wait_cancel(e, w);
    advance(1000);
    assert_int_equal(explain(id).reason, REASON_NO_WORKER);
    assert_int_equal(explain(id).asked_ms, wall - 1000);
}

static void a_job_that_was_moved_is_not_tried_again(void **state)
{
    struct job_id id = ready();
    struct job_view v = take("a@q");
    struct explanation x;

    (void)state;
    fail_it(&v, HOUR, false);
    x = explain(id);
    assert_int_equal(x.reason, REASON_BACKOFF);
    assert_says(&x, "attempt 1 failed at 2026-11-");
    assert_says(&x, "no luck");
    assert_int_equal(engine_reschedule(e, id, wall + 2 * HOUR), 0);
    x = explain(id);
    assert_int_equal(x.reason, REASON_SCHEDULED);
    assert_int_equal(x.until_ms, wall + 2 * HOUR);
    assert_int_equal(x.attempt, 1);
    assert_int_equal(engine_reschedule(e, id, wall), 0);
    v = take("a@q");
    assert_int_equal(engine_release(e, id, v.token, HOUR), 0);
    assert_int_equal(explain(id).reason, REASON_BACKOFF);
    push_out(id);
    x = explain(id);
    assert_says(&x, "was given back");
}

static void assert_rate_holds(struct job_id id, int64_t until_ms, int64_t ahead)
{
    struct explanation x = explain(id);

    assert_int_equal(x.reason, REASON_RATE_LIMIT);
    assert_int_equal(x.until_ms, until_ms);
    assert_int_equal(x.at_ms, until_ms);
    assert_int_equal(x.ahead, ahead);
}

static void each_job_behind_a_rate_has_a_time_of_its_own(void **state)
{
    struct job_id ids[7];

    (void)state;
    set_queue(QUEUE_RATE, (struct queue_settings){ .rate = { 2, 2 * HOUR, 0 } });
    for (int i = 0; i < 7; i++)
        ids[i] = ready();
    assert_int_equal(explain(ids[1]).cause_count, 2); /* no worker, and others before it */
    for (int i = 2; i < 7; i++) {
        assert_int_equal(explain(ids[i]).causes[2].reason, REASON_RATE_LIMIT);
        assert_int_equal(explain(ids[i]).causes[2].until_ms, wall + i / 2 * 2 * HOUR);
    }
    take("a@q");
    pass(HOUR);
    assert_int_equal(explain(ids[1]).cause_count, 1); /* it is the next */
    assert_int_equal(explain(ids[2]).causes[2].until_ms, wall + HOUR);
    take("a@q");
    for (int i = 2; i < 7; i++) { /* the first was taken an hour ago */
        assert_rate_holds(ids[i], wall + (i - 1) * HOUR, i - 2);
        assert_true(i == 2 ? explain(ids[i]).first.seq == 0
                           : explain(ids[i]).first.seq == ids[2].seq);
    }
}

static void jobs_behind_a_rate_go_in_its_bursts(void **state)
{
    struct job_id ids[5];

    (void)state;
    set_queue(QUEUE_RATE, (struct queue_settings){ .rate = { 4, 4 * HOUR, 0 } });
    set_queue(QUEUE_BURST, (struct queue_settings){ .rate = { 0, 0, 2 } });
    for (int i = 0; i < 5; i++)
        ids[i] = ready();
    take("a@q");
    take("a@q");
    for (int i = 2; i < 5; i++)
        assert_rate_holds(ids[i], wall + i / 2 * 2 * HOUR, i - 2);
}

/* A job of lower rank goes first, though it came later. */
static void those_ahead_are_counted_by_rank(void **state)
{
    struct job_id id = ready();
    struct job_spec s = spec_of("a@q", 0);
    struct explanation x;

    (void)state;
    s.priority = 1;
    put(&s);
    s.priority = 5;
    put(&s);
    x = explain(id);
    assert_int_equal(x.ahead, 1);
    assert_int_equal(x.ahead_most, 1);
    assert_int_equal(x.ready, 3);
    pass(5 * MINUTE);
    x = explain(ready());
    assert_int_equal(x.ahead, 3); /* all have waited for long */
}

static void cancelled_says_which_parent_or_that_a_request_did_it(void **state)
{
    struct job_spec s = spec_of("a@q", HOUR);
    struct job_id parent = schedule("a@p", HOUR), child, grandchild;
    struct explanation x;

    (void)state;
    s.after = &parent;
    s.after_count = 1;
    child = put(&s);
    s.after = &child;
    grandchild = put(&s);
    assert_int_equal(explain(child).parent.seq, parent.seq);
    assert_int_equal(engine_cancel(e, parent), CANCEL_CANCELLED);
    settle();
    x = explain(parent);
    assert_int_equal(x.reason, REASON_ENDED);
    assert_int_equal(x.parent.seq, 0);
    assert_int_equal(x.ended_ms, wall);
    assert_says(&x, "a request cancelled it at 2026-11-");
    for (int i = 0; i < 2; i++) {
        x = explain(child);
        assert_int_equal(x.parent.seq, parent.seq);
        assert_names(&x, parent);
        assert_int_equal(explain(grandchild).parent.seq, child.seq);
        reopen();
    }
}

/* A worker may say what it likes: only the engine's own words name a parent. */
static void words_of_a_worker_name_no_parent(void **state)
{
    static const char words[] =
        "the job 01M7QYR3W0000000000000000A that it waited for was not done";
    struct job_id id = ready();
    struct job_view v = take("a@q");
    struct fail_result r;
    struct explanation x;

    (void)state;
    assert_int_equal(engine_fail(e, id, v.token, str_of(words), HOUR, false, &r), 0);
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    x = explain(id);
    assert_int_equal(x.parent.seq, 0);
    assert_says(&x, "a request cancelled it, and it ended at 2026-11-");
    assert_says(&x, "attempt 1 failed");
}

static void dead_says_of_what_when_and_after_how_many_attempts(void **state)
{
    struct job_id id = ready();
    struct job_view v;
    struct explanation x;

    (void)state;
    v = take("a@q");
    fail_it(&v, 0, false);
    v = take("a@q");
    pass(MINUTE);
    fail_it(&v, -1, true);
    for (int i = 0; i < 2; i++) {
        x = explain(id);
        assert_int_equal(x.reason, REASON_ENDED);
        assert_int_equal(x.attempt, 2);
        assert_int_equal(x.ended_ms, wall);
        assert_true(str_eq(x.error, STR("no\tluck")));
        assert_says(&x, "after 2 attempts: no luck; REDRIVE");
        reopen();
    }
}

static void done_and_expired_say_when(void **state)
{
    struct job_spec s = spec_of("a@q", 0);
    struct job_view v;
    struct job_id id = put(&s);
    struct explanation x;

    (void)state;
    v = take("a@q");
    assert_int_equal(engine_complete(e, id, v.token, STR(""), -1), 0);
    x = explain(id);
    assert_says(&x, "by attempt 1");
    assert_int_equal(x.ended_ms, wall);
    s.expire_ms = MINUTE;
    id = put(&s);
    pass(MINUTE);
    x = explain(id);
    assert_int_equal(x.state, JOB_EXPIRED);
    assert_int_equal(x.ended_ms, wall);
    assert_says(&x, "EXPIRE");
}

static void a_job_that_can_only_expire_says_so(void **state)
{
    struct job_spec s = spec_of("a@q", MINUTE);
    struct explanation x;

    (void)state;
    be_quiet(3 * HOUR);
    s.notify = true;
    s.expire_ms = HOUR;
    x = explain(put(&s));
    assert_int_equal(x.cause_count, 3);
    assert_int_equal(x.causes[2].reason, REASON_EXPIRY);
    assert_int_equal(x.causes[2].until_ms, wall + MINUTE + HOUR);
    assert_int_equal(x.at_ms, -1);
    s.expire_ms = 4 * HOUR;
    x = explain(put(&s));
    assert_int_equal(x.cause_count, 2);
    assert_int_equal(x.at_ms, x.causes[1].until_ms);
}

/* A start gives a lease its grace, and the clock on the wall may be set. */
static void no_lease_ends_in_the_past(void **state)
{
    struct job_id id = ready();
    struct explanation x;

    (void)state;
    take("a@q");
    assert_int_equal(explain(id).until_ms, wall + 10 * HOUR);
    assert_int_equal(partition_flush(p), 0);
    partition_close(p);
    wall += 11 * HOUR;
    open_partition();
    x = explain(id);
    assert_int_equal(x.reason, REASON_RUNNING);
    assert_int_equal(x.until_ms, wall + LEASE_GRACE_MS);
    advance(1000);
    assert_int_equal(explain(id).until_ms, wall + LEASE_GRACE_MS - 1000);
    wall += HOUR;
    advance(0);
    assert_int_equal(explain(id).until_ms, wall + LEASE_GRACE_MS - 1000);
}

/* The last of many is known from the other end, one in the middle by bounds. */
static void many_jobs_ahead_are_counted_in_few_steps(void **state)
{
    enum { COUNT = 5000 };
    struct engine *big = engine_new(&(struct engine_options){ .epoch = 1, .seed = 1 });
    struct buf journal = { 0 };
    struct job_id ids[COUNT];
    struct explanation x;

    (void)state;
    buf_reserve(&journal, 4096);
    engine_direct(big, &journal, 1, true, 0);
    engine_start(big, wall, mono, false);
    for (int i = 0; i < COUNT; i++) {
        struct job_spec s = spec_of("a@q", 0);
        struct schedule_result r;

        assert_int_equal(engine_schedule(big, &s, &r), 0);
        ids[i] = r.id;
    }
    assert_int_equal(engine_explain(big, ids[900], &x), 0);
    assert_true(x.ahead == 900 && x.ahead_most == 900);
    assert_int_equal(engine_explain(big, ids[2500], &x), 0);
    assert_true(x.ahead == 1000 && x.ahead_most == COUNT - 1);
    assert_int_equal(engine_explain(big, ids[COUNT - 1], &x), 0);
    assert_true(x.ahead == COUNT - 1 && x.ahead_most == COUNT - 1);
    assert_int_equal(x.first.seq, ids[0].seq);
    engine_free(big);
    buf_fini(&journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_only_job_waits_for_a_worker_since_one_last_asked),
        TEST(a_worker_that_waited_has_asked_until_it_went),
        TEST(a_job_that_was_moved_is_not_tried_again),
        TEST(each_job_behind_a_rate_has_a_time_of_its_own),
        TEST(jobs_behind_a_rate_go_in_its_bursts),
        TEST(those_ahead_are_counted_by_rank),
        TEST(cancelled_says_which_parent_or_that_a_request_did_it),
        TEST(words_of_a_worker_name_no_parent),
        TEST(dead_says_of_what_when_and_after_how_many_attempts),
        TEST(done_and_expired_say_when),
        TEST(a_job_that_can_only_expire_says_so),
        TEST(no_lease_ends_in_the_past),
        TEST(many_jobs_ahead_are_counted_in_few_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
