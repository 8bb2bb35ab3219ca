/* SPDX-License-Identifier: MIT */
/* What the engine promises, request by request, under a clock that the test owns. */
#include "support/tenants.h"

#include "engine/cold.h"
#include "record/attempts.h"
#include "support/verify.h"

static struct job_spec spec_in(const char *queue, const char *payload, int64_t in_ms)
{
    struct job_spec spec = spec_of(queue);

    spec.payload = str_of(payload);
    spec.due_ms = wall + in_ms;
    return spec;
}

static struct job_id put(const struct job_spec *spec)
{
    struct schedule_result r;

    assert_int_equal(engine_schedule(e, spec, &r), 0);
    return r.id;
}

static struct job_id schedule_in(int64_t in_ms)
{
    struct job_spec spec = spec_in("q", "payload", in_ms);

    return put(&spec);
}

/* Leases one job of queue q; 0 or its token. */
static uint64_t take(struct job_view *ret)
{
    struct str queue = STR("q");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct job *job;

    if (engine_lease(e, &r, &job) == 0)
        return 0;
    engine_view(e, job, ret);
    return ret->token;
}

static struct job_view get(struct job_id id)
{
    struct job_view v;

    assert_int_equal(engine_get(e, id, &v), 0);
    return v;
}

static bool is_gone(struct job_id id)
{
    struct job_view v;

    return engine_get(e, id, &v) == BELFRY_NOTFOUND;
}

static void a_job_is_not_offered_before_its_time(void **state)
{
    struct job_id id = schedule_in(1000);
    struct job_view v;

    (void)state;
    pass(999);
    assert_int_equal(take(&v), 0);
    pass(1);
    assert_true(take(&v) > 0);
    assert_int_equal(v.id.seq, id.seq);
    assert_int_equal(v.attempt, 1);
}

static void priority_1_goes_before_5_and_5_is_not_starved(void **state)
{
    struct job_spec low = spec_in("q", "low", 0), high = spec_in("q", "high", 0);
    struct job_view v;

    (void)state;
    low.priority = 5;
    high.priority = 1;
    put(&low);
    pass(10);
    high.due_ms = wall;
    put(&high);
    take(&v);
    assert_true(str_eq(v.payload, STR("high")));
    pass(4 * 30000);
    high.due_ms = wall;
    put(&high);
    take(&v);
    assert_true(str_eq(v.payload, STR("low")));
}

static void an_old_token_is_stale_and_changes_nothing(void **state)
{
    struct job_id id = schedule_in(0);
    struct job_view v;
    uint64_t first = take(&v), second;
    struct fail_result f;

    (void)state;
    assert_int_equal(engine_fail(e, id, first, STR("no"), 0, false, &f), 0);
    second = take(&v);
    assert_true(second > first);
    assert_int_equal(engine_complete(e, id, first, (struct str){ 0 }, -1), BELFRY_STALE);
    assert_int_equal(get(id).state, JOB_LEASED);
    assert_int_equal(engine_complete(e, id, second, STR("result"), -1), 0);
    assert_int_equal(engine_complete(e, id, second, STR("result"), -1), BELFRY_STALE);
    assert_true(str_eq(get(id).result, STR("result")));
}

static void a_lease_that_ends_is_a_stall_and_is_delivered_again(void **state)
{
    struct job_spec spec = spec_in("q", "x", 0);
    struct job_view v;
    struct attempt a;
    struct job_id id;

    (void)state;
    spec.lease_ms = 500;
    spec.backoff = STR("fixed:1s");
    id = put(&spec);
    take(&v);
    pass(499);
    assert_int_equal(get(id).state, JOB_LEASED);
    pass(1);
    assert_int_equal(get(id).state, JOB_SCHEDULED);
    assert_int_equal(attempts_count(get(id).history), 1);
    assert_true(attempts_last(get(id).history, &a));
    assert_int_equal(a.outcome, ATTEMPT_STALLED);
    pass(1100);
    assert_true(take(&v) > 0);
    assert_int_equal(v.attempt, 2);
}

static void a_jump_of_the_wall_clock_ends_no_lease(void **state)
{
    struct job_id id = schedule_in(0);
    struct job_view v;

    (void)state;
    take(&v);
    wall += INT64_C(86400000);
    pass(1);
    assert_int_equal(get(id).state, JOB_LEASED);
    pass(60000);
    assert_int_equal(get(id).state, JOB_SCHEDULED);
}

static void a_clock_that_is_set_back_delays_and_fires_nothing_early(void **state)
{
    struct job_id id;
    struct job_view v;

    (void)state;
    pass(1000);
    wall -= 3600000;
    engine_advance(e, wall, mono);
    id = schedule_in(5000);
    assert_int_equal(get(id).due_ms, wall + 5000);
    pass(4999);
    assert_int_equal(take(&v), 0);
    pass(1);
    assert_true(take(&v) > 0);
}

static void a_failing_job_is_dead_after_its_attempts_and_can_be_redriven(void **state)
{
    struct job_spec spec = spec_in("q", "x", 0);
    struct job_view v;
    struct fail_result f;
    struct job_id id;

    (void)state;
    spec.attempts = 2;
    id = put(&spec);
    assert_int_equal(engine_fail(e, id, take(&v), STR("one"), 0, false, &f), 0);
    assert_int_equal(f.state, JOB_SCHEDULED);
    assert_int_equal(engine_fail(e, id, take(&v), STR("two"), 0, false, &f), 0);
    assert_int_equal(f.state, JOB_DEAD);
    assert_true(str_eq(get(id).error, STR("two")));
    assert_int_equal(engine_redrive(e, id), 0);
    assert_int_equal(get(id).attempt, 0);
    assert_int_equal(attempts_count(get(id).history), 2);
    assert_true(take(&v) > 0);
    assert_int_equal(engine_redrive(e, id), BELFRY_STATE);
}

static void ten_stalls_in_a_row_are_poison_even_for_a_job_without_end(void **state)
{
    struct job_spec spec = spec_in("q", "x", 0);
    struct job_view v;
    struct job_id id;

    (void)state;
    spec.attempts = 0;
    spec.lease_ms = 10;
    spec.backoff = STR("fixed:0ms");
    id = put(&spec);
    for (int i = 0; i < POISON_STALLS; i++) {
        assert_int_equal(get(id).state, JOB_READY);
        take(&v);
        pass(10);
    }
    assert_int_equal(get(id).state, JOB_DEAD);
    assert_true(str_starts(get(id).error, STR("poison")));
}

static void a_release_costs_no_attempt(void **state)
{
    struct job_id id = schedule_in(0);
    struct job_view v;

    (void)state;
    assert_int_equal(engine_release(e, id, take(&v), 1000), 0);
    assert_int_equal(get(id).attempt, 0);
    assert_int_equal(get(id).state, JOB_SCHEDULED);
    pass(1000);
    take(&v);
    assert_int_equal(v.attempt, 1);
}

static void again_runs_the_job_again_with_its_attempts_counted_anew(void **state)
{
    struct job_id id = schedule_in(0);
    struct job_view v;

    (void)state;
    assert_int_equal(engine_complete(e, id, take(&v), (struct str){ 0 }, 5000), 0);
    assert_int_equal(get(id).due_ms, wall + 5000);
    assert_int_equal(get(id).attempt, 0);
    pass(5000);
    assert_true(take(&v) > 0);
}

static void a_key_is_kept_replaced_or_rejected(void **state)
{
    struct job_spec spec = spec_in("q", "first", 1000);
    struct schedule_result r;
    struct job_id id;

    (void)state;
    spec.key = STR("k");
    id = put(&spec);
    spec.payload = STR("second");
    spec.due_ms = wall + 9000;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(r.outcome, SCHEDULE_KEPT);
    assert_int_equal(r.id.seq, id.seq);
    assert_true(str_eq(get(id).payload, STR("first")));
    spec.if_exists = IFEXISTS_REJECT;
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_KEYEXISTS);
    spec.if_exists = IFEXISTS_REPLACE;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(r.outcome, SCHEDULE_REPLACED);
    assert_true(str_eq(get(id).payload, STR("second")));
    assert_int_equal(get(id).due_ms, wall + 9000);
}

static void a_replacement_of_a_running_job_waits_for_its_attempt(void **state)
{
    struct job_spec spec = spec_in("q", "first", 0);
    struct job_view v;
    struct job_id id;
    uint64_t token;

    (void)state;
    spec.key = STR("k");
    id = put(&spec);
    token = take(&v);
    spec.payload = STR("second");
    spec.if_exists = IFEXISTS_REPLACE;
    assert_int_equal(put(&spec).seq, id.seq);
    assert_true(str_eq(get(id).payload, STR("first")));
    assert_int_equal(engine_complete(e, id, token, (struct str){ 0 }, -1), 0);
    assert_true(take(&v) > 0);
    assert_int_equal(v.id.seq, id.seq);
    assert_true(str_eq(v.payload, STR("second")));
}

static void a_held_key_keeps_a_done_job_from_running_again(void **state)
{
    struct queue_settings settings = { .key_hold_ms = 5000, .retain_ms = 0 };
    struct job_spec spec = spec_in("q", "x", 0);
    struct schedule_result r;
    struct job_view v;
    struct job_id id;

    (void)state;
    engine_queue_set(e, STR("q"), &settings, 1u << QUEUE_KEY_HOLD | 1u << QUEUE_RETAIN);
    spec.key = STR("k");
    id = put(&spec);
    engine_complete(e, id, take(&v), (struct str){ 0 }, -1);
    spec.if_exists = IFEXISTS_REPLACE;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(r.outcome, SCHEDULE_KEPT);
    pass(4999);
    assert_int_equal(put(&spec).seq, id.seq);
    pass(1);
    assert_true(is_gone(id));
    assert_int_not_equal(put(&spec).seq, id.seq);
}

static void history_goes_oldest_first_where_it_cannot_go_to_disk(void **state)
{
    struct queue_settings settings = { .key_hold_ms = 86400000 };
    struct job_spec spec = spec_in("q", "x", 0);
    struct job_view v;
    struct queue_view q;
    struct job_id held, last;

    (void)state;
    engine_queue_set(e, STR("q"), &settings, 1u << QUEUE_KEY_HOLD);
    spec.key = STR("k");
    held = put(&spec);
    engine_complete(e, held, take(&v), (struct str){ 0 }, -1);
    spec.key = (struct str){ 0 };
    for (int i = 0; i < 1000; i++) {
        last = put(&spec);
        engine_complete(e, last, take(&v), (struct str){ 0 }, -1);
    }
    while (engine_work(e)) {
    }
    assert_int_equal(engine_queue_get(e, STR("q"), &q), 0);
    assert_int_equal(q.jobs[JOB_DONE], 1001);
    engine_refuse_new(e, true);
    while (engine_work(e)) {
    }
    assert_int_equal(engine_queue_get(e, STR("q"), &q), 0);
    assert_in_range(q.jobs[JOB_DONE], 2, 200);
    assert_int_equal(q.counters->history_dropped, 1001 - q.jobs[JOB_DONE]);
    assert_int_equal(get(held).state, JOB_DONE);
    assert_int_equal(get(last).state, JOB_DONE);
}

static void cancel_has_three_answers(void **state)
{
    struct job_id id = schedule_in(1000), running = schedule_in(0);
    struct extend_result x;
    struct fail_result f;
    struct job_view v;
    uint64_t token;

    (void)state;
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    assert_int_equal(engine_cancel(e, id), BELFRY_STATE);
    assert_string_equal(engine_detail(e), "the job is already cancelled");
    assert_int_equal(engine_complete(e, running, 1, (struct str){ 0 }, -1), BELFRY_STALE);
    assert_string_equal(engine_detail(e), "the job is ready, and was never leased");
    token = take(&v);
    assert_int_equal(engine_complete(e, running, token + 1, (struct str){ 0 }, -1), BELFRY_STALE);
    assert_string_equal(engine_detail(e), "the job is leased with another token");
    assert_int_equal(engine_cancel(e, running), CANCEL_RUNNING);
    assert_int_equal(
        engine_extend(e, running, token, &(struct extend_spec){ .for_ms = -1, .progress = 50 }, &x),
        0);
    assert_true(x.cancelled);
    assert_int_equal(engine_fail(e, running, token, STR("stopped"), -1, false, &f), 0);
    assert_int_equal(f.state, JOB_CANCELLED);
}

static void an_ended_job_is_forgotten_when_its_retention_is_over(void **state)
{
    struct job_spec spec = spec_in("q", "x", 0);
    struct job_view v;
    struct job_id kept, dropped;

    (void)state;
    spec.retain_ms = 1000;
    kept = put(&spec);
    engine_complete(e, kept, take(&v), (struct str){ 0 }, -1);
    spec.retain_ms = 0;
    dropped = put(&spec);
    engine_complete(e, dropped, take(&v), (struct str){ 0 }, -1);
    assert_true(is_gone(dropped));
    pass(999);
    assert_int_equal(get(kept).state, JOB_DONE);
    pass(1);
    assert_true(is_gone(kept));
}

static void a_paused_queue_gives_nothing_until_it_is_resumed(void **state)
{
    struct queue_settings settings = { .paused = true };
    struct str queue = STR("q");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 5, .for_ms = -1 };
    struct waiter *w;
    struct job_view v;

    (void)state;
    engine_queue_set(e, queue, &settings, 1u << QUEUE_PAUSED);
    schedule_in(0);
    assert_int_equal(take(&v), 0);
    assert_int_equal(engine_wait(e, &r, 60000, &settings, &w), 0);
    pass(10);
    assert_int_equal(delivered.calls, 0);
    settings.paused = false;
    engine_queue_set(e, queue, &settings, 1u << QUEUE_PAUSED);
    dispatch();
    assert_int_equal(delivered.jobs, 1);
    assert_ptr_equal(delivered.owner, &settings);
}

static void a_waiting_worker_is_served_when_a_job_is_due_or_its_time_is_up(void **state)
{
    struct str queues[] = { STR("other"), STR("q") };
    struct lease_request r = { .queues = queues, .queue_count = 2, .count = 10, .for_ms = -1 };
    struct waiter *w;

    (void)state;
    schedule_in(500);
    schedule_in(500);
    engine_wait(e, &r, 10000, NULL, &w);
    pass(499);
    assert_int_equal(delivered.calls, 0);
    pass(1);
    assert_int_equal(delivered.calls, 1);
    assert_int_equal(delivered.jobs, 2);
    engine_wait(e, &r, 100, NULL, &w);
    pass(100);
    assert_int_equal(delivered.calls, 2);
    assert_int_equal(delivered.jobs, 2);
}

/* Its host does as it likes between two deliveries. */
static void waiters_come_and_go_while_others_are_served(void **state)
{
    struct str queue = STR("q");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct waiter *w[4];
    struct delivery d;
    void *owner;

    (void)state;
    for (int i = 0; i < 3; i++) {
        engine_wait(e, &r, 100 + i / 2, &w[i], &w[i]);
        schedule_in(0);
    }
    assert_true(engine_dispatch(e, &d));
    assert_ptr_equal(d.owner, &w[0]);
    engine_wait_cancel(e, w[1]);
    engine_wait(e, &r, 100, &w[3], &w[3]);
    assert_true(engine_dispatch(e, &d) && d.n == 1);
    assert_ptr_equal(d.owner, &w[2]);
    engine_wait_cancel(e, w[3]);
    assert_false(engine_dispatch(e, &d)); /* a job is left, and nobody waits */
    assert_true(take(&(struct job_view){ 0 }) > 0);

    engine_wait(e, &r, 100, &w[0], &w[0]);
    engine_wait(e, &r, 100, &w[1], &w[1]);
    mono += 100;
    engine_advance(e, wall, mono);
    schedule_in(0);
    assert_false(engine_dispatch(e, &d)); /* their time was up before */
    engine_wait_cancel(e, w[0]);
    assert_true(engine_timeout(e, &owner));
    assert_ptr_equal(owner, &w[1]);
    assert_false(engine_timeout(e, &owner));
}

static void new_jobs_are_refused_while_space_is_short_and_completions_go_on(void **state)
{
    struct job_id id = schedule_in(0);
    struct job_spec spec = spec_in("q", "x", 0);
    struct schedule_result r;
    struct job_view v;
    uint64_t token = take(&v);

    (void)state;
    engine_refuse_new(e, true);
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_FULL);
    assert_int_equal(engine_complete(e, id, token, (struct str){ 0 }, -1), 0);
    engine_refuse_new(e, false);
    put(&spec);
}

static int count_job(void *arg, const struct job_view *v)
{
    (*(int *)arg)++;
    assert_true(str_eq(v->queue, STR("q")));
    return 0;
}

static void list_pages_through_every_job_once_by_due_time(void **state)
{
    struct list_filter f = { .state = -1, .to_ms = INT64_MAX, .limit = 7 };
    struct list_cursor c = { 0 };
    int seen = 0, pages = 0;

    (void)state;
    for (int i = 0; i < 100; i++)
        schedule_in(1000 + (i * 37) % 100);
    do {
        assert_int_equal(engine_list(e, &f, count_job, &seen, &c), 0);
        pages++;
    } while (c.more);
    assert_int_equal(seen, 100);
    assert_true(pages >= 15);
}

static void replay_gives_the_same_state_and_tokens_go_on_growing(void **state)
{
    struct job_view v;
    struct job_id a = schedule_in(0), b = schedule_in(0);
    struct fail_result f;
    struct engine *again = make(2, 0);
    uint64_t token = take(&v), hash;

    (void)state;
    engine_fail(e, v.id, token, STR("no"), 5000, false, &f);
    take(&v);
    schedule_in(100000);
    engine_cancel(e, v.id);
    hash = engine_hash(e);
    assert_int_equal(engine_replay(again, buf_view(&journal), 1), 0);
    engine_free(e);
    e = again;
    buf_reset(&journal, 0);
    buf_reserve(&journal, 4096);
    engine_direct(e, &journal, 2, true, 1);
    engine_start(e, wall, mono, true);
    assert_int_equal(engine_hash(e), hash);
    assert_int_equal(get(a).attempt + get(b).attempt, 2);
    pass(LEASE_GRACE_MS);
    pass(60000);
    assert_true(take(&v) > token);
}

/* Another process has only what all before it wrote, a commit each. */
static void start_again(struct buf *commits, size_t n)
{
    struct engine *again = make(n + 1, 0);

    commits[n - 1] = journal;
    journal = (struct buf){ 0 };
    for (size_t i = 0; i < n; i++)
        assert_int_equal(engine_replay(again, buf_view(&commits[i]), 1), 0);
    engine_verify(e);
    engine_free(e);
    e = again;
    buf_reserve(&journal, 4096);
    engine_direct(e, &journal, 1, false, 0);
    engine_start(e, wall, mono, false);
}

static void a_lease_has_its_grace_once_however_often_the_server_starts(void **state)
{
    struct job_id id = schedule_in(0);
    struct extend_spec s = { .for_ms = 5000, .progress = -1 };
    struct buf commits[5] = { 0 };
    struct extend_result x;
    struct job_view v;
    uint64_t token = take(&v);

    (void)state;
    assert_int_equal(engine_extend(e, id, token, &s, &x), 0);
    wall += 60000; /* nobody was there */
    start_again(commits, 1);
    pass(LEASE_GRACE_MS - 1);
    assert_int_equal(engine_extend(e, id, token, &s, &x), 0); /* it is alive: all anew */
    wall += 60000;
    start_again(commits, 2);
    pass(LEASE_GRACE_MS - 1);
    assert_int_equal(get(id).state, JOB_LEASED);
    assert_int_equal(engine_cancel(e, id), CANCEL_RUNNING); /* which is no word of its worker */
    start_again(commits, 3);
    assert_int_equal(get(id).state, JOB_CANCELLED);
    for (int i = 0; i < 3; i++)
        buf_fini(&commits[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_not_offered_before_its_time),
        TEST(priority_1_goes_before_5_and_5_is_not_starved),
        TEST(an_old_token_is_stale_and_changes_nothing),
        TEST(a_lease_that_ends_is_a_stall_and_is_delivered_again),
        TEST(a_lease_has_its_grace_once_however_often_the_server_starts),
        TEST(a_jump_of_the_wall_clock_ends_no_lease),
        TEST(a_clock_that_is_set_back_delays_and_fires_nothing_early),
        TEST(a_failing_job_is_dead_after_its_attempts_and_can_be_redriven),
        TEST(ten_stalls_in_a_row_are_poison_even_for_a_job_without_end),
        TEST(a_release_costs_no_attempt),
        TEST(again_runs_the_job_again_with_its_attempts_counted_anew),
        TEST(a_key_is_kept_replaced_or_rejected),
        TEST(a_replacement_of_a_running_job_waits_for_its_attempt),
        TEST(a_held_key_keeps_a_done_job_from_running_again),
        TEST(history_goes_oldest_first_where_it_cannot_go_to_disk),
        TEST(cancel_has_three_answers),
        TEST(an_ended_job_is_forgotten_when_its_retention_is_over),
        TEST(a_paused_queue_gives_nothing_until_it_is_resumed),
        TEST(a_waiting_worker_is_served_when_a_job_is_due_or_its_time_is_up),
        TEST(waiters_come_and_go_while_others_are_served),
        TEST(new_jobs_are_refused_while_space_is_short_and_completions_go_on),
        TEST(list_pages_through_every_job_once_by_due_time),
        TEST(replay_gives_the_same_state_and_tokens_go_on_growing),
    };

    history_bytes = 32768;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
