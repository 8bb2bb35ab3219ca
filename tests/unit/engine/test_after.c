/* SPDX-License-Identifier: MIT */
/* Jobs that wait for others. */
#include "engine/place/job.h"
#include "support/parents.h"

/* ---- Order ---- */

static void a_chain_runs_link_by_link(void **state)
{
    struct job_id ids[6];
    struct job_view v;

    (void)state;
    ids[0] = job("q");
    for (int i = 1; i < 6; i++) {
        ids[i] = waits_for(ids[i - 1]);
        assert_int_equal(state_of(ids[i]), JOB_WAITING);
    }
    assert_int_equal(stats().jobs[JOB_WAITING], 5);
    for (int i = 0; i < 6; i++) {
        struct job_view none;

        v = take("q");
        assert_int_equal(v.id.seq, ids[i].seq);
        assert_false(lease("q", &none));
        complete(&v);
    }
    assert_int_equal(stats().jobs[JOB_WAITING], 0);
    assert_int_equal(stats().jobs[JOB_DONE], 6);
}

static void fan_in_waits_for_the_last(void **state)
{
    struct job_id parents[AFTER_MAX], child;
    struct job_view v;

    (void)state;
    for (int i = 0; i < AFTER_MAX; i++)
        parents[i] = job("p");
    child = after_all("q", parents, AFTER_MAX, AFTERFAIL_CANCEL);
    for (int i = AFTER_MAX; i > 0; i--) {
        assert_int_equal(engine_get(e, child, &v), 0);
        assert_int_equal(v.state, JOB_WAITING);
        assert_int_equal(v.after_count, i);
        v = take("p");
        complete(&v);
    }
    assert_int_equal(state_of(child), JOB_READY);
    assert_int_equal(run_all("q"), 1);
}

static void a_thousand_wait_for_one_and_no_more(void **state)
{
    struct job_id parent = job("p");

    (void)state;
    cutting = false; /* each cut takes long here */
    for (int i = 0; i < LISTENERS_MAX; i++)
        waits_for(parent);
    assert_int_equal(refused(&parent, 1), BELFRY_LIMIT);
    assert_non_null(strstr(engine_detail(e), "1000 jobs wait for"));
    assert_int_equal(stats().jobs[JOB_WAITING], LISTENERS_MAX);
    restart(0);
    assert_int_equal(run_all("p"), 1);
    assert_int_equal(stats().jobs[JOB_WAITING], 0);
    assert_int_equal(run_all("q"), LISTENERS_MAX);
}

/* A large parent is not copied for each of them. */
static void listeners_mostly_find_room(void **state)
{
    struct job_spec spec = spec_of("p");
    char *large = calloc(1, 100000);
    const struct job *last = NULL;
    struct job_id parent;
    struct job_view v;
    int moves = 0;

    (void)state;
    cutting = false;
    large[99999] = 'x';
    spec.payload = (struct str){ large, 100000 };
    spec.key = STR("key");
    spec.order = STR("order");
    parent = schedule(&spec);
    for (int i = 0; i < 500; i++) {
        waits_for(parent);
        moves += job_of(e, parent) != last;
        last = job_of(e, parent);
    }
    assert_true(moves < 20);
    assert_int_equal(engine_get(e, parent, &v), 0);
    assert_true(str_eq(v.payload, spec.payload) && str_eq(v.key, spec.key));
    engine_verify(e);
    restart(0);
    waits_for(parent);
    engine_verify(e);
    assert_int_equal(engine_get(e, parent, &v), 0);
    assert_true(str_eq(v.payload, spec.payload) && str_eq(v.order, spec.order));
    free(large);
    assert_int_equal(run_all("p"), 1);
    assert_int_equal(run_all("q"), 501);
}

/* A batch in which an item moves a job to where it has expired, and a later one waits for it. */
static void a_batch_may_end_a_job_that_it_waits_for(void **state)
{
    struct job_spec parent = spec_of("p"), specs[3];
    struct schedule_result results[3];
    struct job_id id;
    struct job_view v;
    size_t at;

    (void)state;
    cutting = false;
    parent.key = STR("k");
    parent.due_ms = START + 10000;
    parent.expire_ms = 1000;
    parent.retain_ms = 0;
    id = schedule(&parent);
    specs[0] = parent;
    specs[0].if_exists = IFEXISTS_REPLACE;
    specs[0].due_ms = START - 10000;
    specs[1] = specs[2] = spec_of("q");
    specs[1].after = specs[2].after = &id;
    specs[1].after_count = specs[2].after_count = 1;
    specs[2].after_fail = AFTERFAIL_RUN;
    assert_int_equal(engine_schedule_all(e, specs, 3, results, &at), 0);
    assert_false(engine_torn(e));
    assert_int_equal(engine_get(e, id, &v), BELFRY_NOTFOUND);
    assert_int_equal(engine_get(e, results[1].id, &v), 0);
    assert_int_equal(v.state, JOB_CANCELLED);
    assert_int_equal(run_all("q"), 1);
}

/* The limit is found before anything of a batch is made. */
static void a_batch_beyond_the_limit_makes_nothing(void **state)
{
    static struct job_spec specs[LISTENERS_MAX + 1];
    static struct schedule_result results[LISTENERS_MAX + 1];
    struct job_id parent = job("p");
    uint64_t lsn;
    size_t at;

    (void)state;
    cutting = false;
    waits_for(parent);
    lsn = engine_lsn(e);
    for (int i = 0; i <= LISTENERS_MAX; i++) {
        specs[i] = spec_of("q");
        specs[i].after = &parent;
        specs[i].after_count = 1;
    }
    assert_int_equal(engine_schedule_all(e, specs, LISTENERS_MAX, results, &at), BELFRY_LIMIT);
    assert_int_equal(at, LISTENERS_MAX - 1);
    assert_int_equal(engine_lsn(e), lsn);
    assert_false(engine_torn(e));
    assert_int_equal(engine_schedule_all(e, specs, LISTENERS_MAX - 1, results, &at), 0);
    assert_int_equal(stats().jobs[JOB_WAITING], LISTENERS_MAX);
    run_all("p");
    assert_int_equal(run_all("q"), LISTENERS_MAX);
}

/* An item may end the job that has the key of a later item: then the later item makes a job. */
static void a_batch_that_frees_a_key_finds_errors_in_time(void **state)
{
    struct job_spec specs[2] = { spec_of("p"), spec_of("p") };
    struct schedule_result results[2];
    struct job_id parent = job("p"), id = job("p");
    uint64_t lsn;
    size_t at;

    (void)state;
    cutting = false;
    for (int i = 0; i < LISTENERS_MAX; i++)
        waits_for(parent);
    specs[0].key = specs[1].key = STR("k");
    specs[0].expire_ms = 1000;
    specs[0].retain_ms = 0;
    schedule(&specs[0]);
    specs[0].if_exists = IFEXISTS_REPLACE;
    specs[0].due_ms = START - 10000;
    specs[1].after = &parent;
    specs[1].after_count = 1;
    lsn = engine_lsn(e);
    assert_int_equal(engine_schedule_all(e, specs, 2, results, &at), BELFRY_LIMIT);
    assert_int_equal(at, 1);
    specs[1].after = (struct job_id[]){ id, id };
    specs[1].after_count = 2;
    assert_int_equal(engine_schedule_all(e, specs, 2, results, &at), BELFRY_INVALID);
    assert_string_equal(engine_detail(e), "after: a job is named twice");
    assert_int_equal(engine_lsn(e), lsn);
    assert_false(engine_torn(e));
}

/* A parent with a large payload is not written again for each who waits for it. */
static void to_wait_for_a_large_job_writes_little(void **state)
{
    struct job_spec spec = spec_of("p");
    char *large = calloc(1, 1 << 20);
    struct job_id parent;
    size_t before;

    (void)state;
    spec.payload = (struct str){ large, 1 << 20 };
    parent = schedule(&spec);
    before = logs[0].len;
    for (int i = 0; i < 10; i++)
        waits_for(parent);
    assert_true(logs[0].len - before < 2000);
    free(large);
    assert_int_equal(run_all("p"), 1);
    assert_int_equal(run_all("q"), 10);
}

static void to_release_a_large_job_writes_little(void **state)
{
    struct job_id parents[AFTER_MAX], child;
    char *large = calloc(1, 1 << 20);
    struct job_spec spec = spec_of("q");
    struct job_view v;
    size_t before;

    (void)state;
    cutting = false;
    for (int i = 0; i < AFTER_MAX; i++)
        parents[i] = job("p");
    spec.payload = (struct str){ large, 1 << 20 };
    spec.after = parents;
    spec.after_count = AFTER_MAX;
    child = schedule(&spec);
    before = logs[0].len;
    for (int i = 0; i < AFTER_MAX; i++) {
        v = take("p");
        complete(&v);
        if (i == AFTER_MAX / 2)
            restart(0); /* half of them have been told of */
    }
    assert_true(logs[0].len - before < 20000 && logs[1].len < 20000);
    assert_int_equal(state_of(child), JOB_READY);
    assert_int_equal(engine_get(e, child, &v), 0);
    assert_int_equal(v.after_count, 0);
    assert_true(str_eq(v.payload, spec.payload));
    free(large);
    assert_int_equal(run_all("q"), 1);
}

static void a_parent_keeps_its_place_among_the_ready(void **state)
{
    struct job_id first = job("q"), child;
    struct job_view v;

    (void)state;
    pass(10);
    job("q");
    child = after("c", first, AFTERFAIL_CANCEL);
    v = take("q");
    assert_int_equal(v.id.seq, first.seq);
    complete(&v);
    assert_int_equal(state_of(child), JOB_READY);
}

static void a_leased_parent_keeps_its_lease(void **state)
{
    struct job_id parent = job("q");
    struct job_view v = take("q"), now;

    (void)state;
    pass(4 * MINUTE);
    waits_for(parent);
    waits_for(parent);
    assert_int_equal(engine_get(e, parent, &now), 0);
    assert_int_equal(now.state, JOB_LEASED);
    assert_int_equal(now.token, v.token);
    assert_int_equal(now.until_ms, v.until_ms);
    pass(6 * MINUTE - 1);
    assert_int_equal(state_of(parent), JOB_LEASED);
    pass(1); /* ten minutes after it was given */
    assert_int_not_equal(state_of(parent), JOB_LEASED);
    pass(HOUR);
    assert_int_equal(run_all("q"), 3);
}

/* The wall clock is set back after the lease: its end goes by the other one. */
static void a_leased_parent_s_lease_does_not_follow_the_wall_clock(void **state)
{
    struct job_id parent = job("q");

    (void)state;
    take("q");
    wall -= HOUR;
    engine_advance(e, wall, mono);
    waits_for(parent);
    pass(10 * MINUTE);
    assert_int_not_equal(state_of(parent), JOB_LEASED);
}

static void its_own_time_counts_too(void **state)
{
    struct job_id parent = job("p"), child;
    struct job_spec spec = spec_of("q");
    struct job_view v;

    (void)state;
    spec.due_ms = wall + HOUR;
    spec.after = &parent;
    spec.after_count = 1;
    child = schedule(&spec);
    run_all("p");
    assert_int_equal(state_of(child), JOB_SCHEDULED);
    assert_int_equal(engine_get(e, child, &v), 0);
    assert_int_equal(v.at_ms, wall + HOUR);
    assert_int_equal(v.after_count, 0);
    pass(HOUR - 1);
    assert_false(lease("q", &v));
    pass(1);
    assert_int_equal(run_all("q"), 1);
}

/* ---- Parents that are gone ---- */

static void a_parent_that_is_done_is_not_waited_for(void **state)
{
    struct job_id parents[2] = { job("p"), job("o") };
    struct job_id child;
    struct job_view v;

    (void)state;
    run_all("p");
    child = after_all("q", parents, 2, AFTERFAIL_CANCEL);
    assert_int_equal(engine_get(e, child, &v), 0);
    assert_int_equal(v.after_count, 1);
    assert_int_equal(v.after[0].seq, parents[1].seq);
    run_all("o");
    assert_int_equal(state_of(child), JOB_READY);
    assert_int_equal(state_of(waits_for(parents[0])), JOB_READY);
}

static void a_parent_that_is_not_kept_is_told_of(void **state)
{
    struct job_spec spec = spec_of("p");
    struct job_id parent, child;
    struct job_view v;

    (void)state;
    spec.retain_ms = 0;
    parent = schedule(&spec);
    child = waits_for(parent);
    v = take("p");
    assert_int_equal(engine_complete(e, v.id, v.token, (struct str){ 0 }, -1), 0);
    assert_int_equal(state_of(child), JOB_WAITING);
    restart(0); /* between its end and the telling */
    work();
    assert_int_equal(state_of(child), JOB_READY);
    assert_int_equal(state_of(parent), JOB_STATE_COUNT);
    assert_int_equal(refused(&parent, 1), BELFRY_NOTFOUND);
    assert_int_equal(stats().hot_jobs, 1);
}

static void jobs_that_are_not_there_are_refused(void **state)
{
    struct job_id mine = job("q"), other = job("acme@q"), twice[2] = { mine, mine };
    struct job_id own = { wall, 0, mine.seq + 2 }, bad = { mine.due_ms + 1, 0, mine.seq };
    struct job_id elsewhere = { mine.due_ms, 7, mine.seq }, many[AFTER_MAX + 1];

    (void)state;
    assert_int_equal(refused(&own, 1), BELFRY_NOTFOUND);
    assert_int_equal(refused(&bad, 1), BELFRY_NOTFOUND);
    assert_int_equal(refused(&elsewhere, 1), BELFRY_NOTFOUND);
    assert_int_equal(refused(&other, 1), BELFRY_NOTFOUND);
    assert_int_equal(refused(twice, 2), BELFRY_INVALID);
    for (int i = 0; i <= AFTER_MAX; i++)
        many[i] = mine;
    assert_int_equal(refused(many, AFTER_MAX + 1), BELFRY_INVALID);
    /* Whatever the scope of the request is: a batch may be about several tenants. */
    engine_scope(e, STR("acme"));
    assert_int_equal(refused(&other, 1), BELFRY_NOTFOUND);
    assert_int_equal(state_of(after("acme@q", other, AFTERFAIL_CANCEL)), JOB_WAITING);
    engine_scope(e, STR("default"));
    assert_int_equal(state_of(waits_for(mine)), JOB_WAITING);
    engine_scope(e, STR("*"));
}

/* ---- What else can happen to one that waits ---- */

static void a_waiting_job_is_replaced_rescheduled_and_cancelled_by_key(void **state)
{
    struct job_id parent = job("p"), child, found;
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct job_view v;

    (void)state;
    spec.key = STR("k");
    spec.after = &parent;
    spec.after_count = 1;
    child = schedule(&spec);
    spec.if_exists = IFEXISTS_REJECT;
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_KEYEXISTS);
    assert_int_equal(r.id.seq, child.seq);
    spec.if_exists = IFEXISTS_REPLACE;
    spec.after_count = 0;
    spec.payload = STR("new");
    spec.due_ms = wall + HOUR;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(r.outcome, SCHEDULE_REPLACED);
    assert_int_equal(engine_get(e, child, &v), 0);
    assert_int_equal(v.state, JOB_WAITING);
    assert_int_equal(v.after_count, 1);
    assert_int_equal(v.due_ms, wall + HOUR);
    assert_true(str_eq(v.payload, STR("new")));
    assert_int_equal(engine_reschedule(e, child, wall + MINUTE), 0);
    assert_int_equal(state_of(child), JOB_WAITING);
    run_all("p");
    assert_int_equal(engine_get(e, child, &v), 0);
    assert_int_equal(v.state, JOB_SCHEDULED);
    assert_int_equal(v.at_ms, wall + MINUTE);

    parent = job("p");
    spec.key = STR("k2");
    spec.after_count = 1;
    child = schedule(&spec);
    assert_int_equal(engine_find_key(e, STR("q"), STR(""), STR("k2"), &found), 0);
    assert_int_equal(found.seq, child.seq);
    cancel(child);
    assert_int_equal(engine_find_key(e, STR("q"), STR(""), STR("k2"), &found), BELFRY_NOTFOUND);
    run_all("p");
    assert_int_equal(state_of(child), JOB_CANCELLED);
}

static void a_waiting_job_expires(void **state)
{
    struct job_id parent = job("p"), child, behind;
    struct job_spec spec = spec_of("q");

    (void)state;
    spec.expire_ms = MINUTE;
    spec.after = &parent;
    spec.after_count = 1;
    child = schedule(&spec);
    behind = waits_for(child);
    pass(MINUTE - 1);
    assert_int_equal(state_of(child), JOB_WAITING);
    pass(1);
    assert_int_equal(state_of(child), JOB_EXPIRED);
    assert_int_equal(state_of(behind), JOB_CANCELLED);
    run_all("p");
    assert_int_equal(state_of(child), JOB_EXPIRED);
    assert_int_equal(run_all("q"), 0);
}

static void explain_names_what_is_waited_for(void **state)
{
    struct job_id parents[2] = { job("p"), job("o") };
    struct job_id child = after_all("q", parents, 2, AFTERFAIL_CANCEL);
    struct explanation x;
    char text[ID_TEXT + 1] = { 0 };

    (void)state;
    id_format(parents[0], text);
    assert_int_equal(engine_explain(e, child, &x), 0);
    assert_int_equal(x.state, JOB_WAITING);
    assert_int_equal(x.reason, REASON_PARENT);
    assert_int_equal(x.until_ms, -1);
    assert_non_null(strstr(x.why, "2 other jobs"));
    assert_non_null(strstr(x.why, text));
    run_all("p");
    id_format(parents[1], text);
    assert_int_equal(engine_explain(e, child, &x), 0);
    assert_non_null(strstr(x.why, "1 other job to"));
    assert_non_null(strstr(x.why, text));
}

static int note_id(void *arg, const struct job_view *v)
{
    *(struct job_id *)arg = v->id;
    return 0;
}

static void waiting_jobs_are_listed_counted_and_limited(void **state)
{
    struct job_id parent = job("q"), child, listed = { 0 };
    struct tenant_settings s = { .max_pending = 2 };
    struct list_filter f = { .state = JOB_WAITING, .to_ms = INT64_MAX, .limit = 10 };
    struct list_cursor cursor = { 0 };
    struct tenant_view t;
    struct queue_view q;

    (void)state;
    child = waits_for(parent);
    assert_int_equal(engine_list(e, &f, note_id, &listed, &cursor), 0);
    assert_int_equal(listed.seq, child.seq);
    assert_false(cursor.more);
    assert_int_equal(engine_queue_get(e, STR("q"), &q), 0);
    assert_int_equal(q.jobs[JOB_WAITING], 1);
    assert_int_equal(q.jobs[JOB_SCHEDULED], 0);
    assert_int_equal(engine_tenant_get(e, STR("default"), &t), 0);
    assert_int_equal(t.pending, 2);
    assert_int_equal(engine_tenant_set(e, STR("default"), &s, 1u << TENANT_MAX_PENDING), 0);
    assert_int_equal(refused(&parent, 1), BELFRY_LIMIT);
    run_all("q");
    assert_int_equal(engine_tenant_get(e, STR("default"), &t), 0);
    assert_int_equal(t.pending, 0);
}

/* ---- Crashes ---- */

/* Everything that can still run does. */
static void finish(struct engine *other)
{
    struct str names[3] = { STR("p"), STR("q"), STR("o") };
    struct lease_request r = { .queues = names, .queue_count = 3, .count = 1, .for_ms = MINUTE };
    int64_t now = engine_now(other), up = 5000;
    struct job *job;
    struct job_view v;

    for (int i = 0; i < 200; i++) {
        now += 20 * MINUTE; /* leases of before end, too */
        up += 20 * MINUTE;
        engine_advance(other, now, up);
        while (engine_task(other) > 0)
            ;
        while (engine_lease(other, &r, &job) == 1) {
            engine_view(other, job, &v);
            assert_int_equal(engine_complete(other, v.id, v.token, (struct str){ 0 }, -1), 0);
            while (engine_task(other) > 0)
                ;
        }
    }
}

/* A small world in which everything happens; cut anywhere, what was accepted comes to its end, and
 * that is one that its parents allow. */
static void cut_anywhere_nothing_is_lost_and_nobody_waits_for_ever(void **state)
{
    struct job_id fan[3] = { job("p"), job("p"), job("o") }, ids[40];
    struct job_view v;
    size_t n = 0;

    (void)state;
    ids[n++] = after_all("q", fan, 3, AFTERFAIL_CANCEL);
    ids[n++] = waits_for(ids[0]);
    ids[n++] = after("q", fan[2], AFTERFAIL_RUN);
    ids[n++] = after("q", ids[2], AFTERFAIL_CANCEL);
    v = take("p");
    ids[n++] = waits_for(fan[0]); /* while it runs */
    complete(&v);
    v = take("o");
    end_dead(&v);
    cancel(ids[3]);
    ids[n++] = waits_for(ids[3]);
    ids[n++] = after_all("q", (struct job_id[]){ fan[1], ids[2] }, 2, AFTERFAIL_RUN);
    assert_int_equal(run_all("q"), 2);
    cutting = false;
    for (size_t i = 0; i < cut_count; i++) {
        struct engine *other = at_cut(i);
        struct engine_stats s;

        finish(other);
        engine_verify(other);
        engine_stats(other, &s);
        assert_int_equal(s.jobs[JOB_WAITING], 0);
        assert_int_equal(s.jobs[JOB_SCHEDULED] + s.jobs[JOB_READY] + s.jobs[JOB_LEASED], 0);
        for (size_t k = 0; k < n; k++) {
            if (engine_get(other, ids[k], &v)) /* it is later than the cut */
                continue;
            if (k == 2 || k == 6) /* they run whatever happens */
                assert_int_equal(v.state, JOB_DONE);
            else
                assert_true(v.state == JOB_DONE || v.state == JOB_CANCELLED);
        }
        engine_free(other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_chain_runs_link_by_link),
        TEST(fan_in_waits_for_the_last),
        TEST(a_thousand_wait_for_one_and_no_more),
        TEST(listeners_mostly_find_room),
        TEST(a_batch_may_end_a_job_that_it_waits_for),
        TEST(a_batch_beyond_the_limit_makes_nothing),
        TEST(a_batch_that_frees_a_key_finds_errors_in_time),
        TEST(to_wait_for_a_large_job_writes_little),
        TEST(to_release_a_large_job_writes_little),
        TEST(a_parent_keeps_its_place_among_the_ready),
        TEST(a_leased_parent_keeps_its_lease),
        TEST(a_leased_parent_s_lease_does_not_follow_the_wall_clock),
        TEST(its_own_time_counts_too),
        TEST(a_parent_that_is_done_is_not_waited_for),
        TEST(a_parent_that_is_not_kept_is_told_of),
        TEST(jobs_that_are_not_there_are_refused),
        TEST(a_waiting_job_is_replaced_rescheduled_and_cancelled_by_key),
        TEST(a_waiting_job_expires),
        TEST(explain_names_what_is_waited_for),
        TEST(waiting_jobs_are_listed_counted_and_limited),
        TEST(cut_anywhere_nothing_is_lost_and_nobody_waits_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
