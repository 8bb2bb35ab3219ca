/* SPDX-License-Identifier: MIT */
/* What holds a tenant's jobs back, and that they come when it no longer does. */
#include "support/tenants.h"

static int setup_server_of_two(void **state)
{
    (void)state;
    start(2);
    return 0;
}

/* ---- Limits ---- */

static void a_queue_runs_as_many_as_it_may(void **state)
{
    struct job_view a, b, v;

    (void)state;
    set_queue("a@q", QUEUE_MAX_RUNNING, (struct queue_settings){ .max_running = 2 });
    schedule_many("a@q", 5);
    schedule("a@other");
    assert_true(lease("a@q", &a));
    assert_true(lease("*@q", &b));
    assert_false(lease("a@q", &v));
    assert_false(lease("*@q", &v));
    assert_int_equal(hold_of("a@q"), HOLD_QUEUE_RUNNING);
    assert_true(lease("a@other", &v)); /* only that queue */
    wait_at("a@q", 10);
    wait_at("*@q", 10);
    pass(1000);
    assert_int_equal(delivered.calls, 0);
    complete(a.id, a.token);
    assert_int_equal(delivered.calls, 1);
    assert_int_equal(delivered.jobs, 1); /* not more, though it asked for ten */
    complete(b.id, b.token);
    assert_int_equal(delivered.calls, 2);
    assert_int_equal(delivered.jobs, 2);
    assert_int_equal(tenant("a").running, 3);
}

/* However a lease ends. */
static void a_stall_a_failure_and_a_release_make_room_too(void **state)
{
    struct fail_result f;
    struct job_view v;

    (void)state;
    set_queue("q", QUEUE_MAX_RUNNING, (struct queue_settings){ .max_running = 1 });
    schedule_many("q", 4);
    assert_true(lease("q", &v));
    wait_at("*@q", 1);
    assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), 7200000, false, &f), 0);
    dispatch();
    assert_int_equal(delivered.calls, 1);
    wait_at("q", 1);
    assert_int_equal(engine_release(e, delivered.id, delivered.token, 7200000), 0);
    dispatch();
    assert_int_equal(delivered.calls, 2);
    pass(1000);
    wait_at("*@q", 1);
    pass(3599000); /* the end of the second one's lease */
    assert_int_equal(delivered.calls, 3);
    assert_int_equal(delivered.jobs, 3);
    assert_int_equal(tenant("default").running, 1);
}

static void a_raised_limit_is_used_at_once(void **state)
{
    struct job_view v;

    (void)state;
    set_queue("q", QUEUE_MAX_RUNNING, (struct queue_settings){ .max_running = 1 });
    schedule_many("q", 5);
    assert_true(lease("q", &v));
    wait_at("*@q", 2);
    set_queue("q", QUEUE_MAX_RUNNING, (struct queue_settings){ .max_running = 2 });
    assert_int_equal(delivered.jobs, 1);
    wait_at("q", 2);
    set_queue("q", QUEUE_MAX_RUNNING, (struct queue_settings){ .max_running = 0 });
    assert_int_equal(delivered.jobs, 3);
}

static void a_tenant_runs_as_many_as_it_may_over_all_its_queues(void **state)
{
    struct job_view a, b, v;

    (void)state;
    set_tenant("a", TENANT_MAX_RUNNING, (struct tenant_settings){ .max_running = 2 });
    schedule_many("a@x", 3);
    schedule_many("a@y", 3);
    schedule_many("b@x", 3);
    assert_true(lease("a@x", &a));
    assert_true(lease("a@y", &b));
    assert_false(lease("a@x", &v));
    assert_false(lease("a@y", &v));
    assert_false(lease("*@y", &v));
    assert_int_equal(hold_of("a@x"), HOLD_TENANT_RUNNING);
    for (int i = 0; i < 3; i++) { /* another is not concerned */
        assert_true(lease("*@x", &v));
        assert_true(str_eq(v.tenant, STR("b")));
    }
    wait_at("*@x", 5);
    complete(a.id, a.token);
    assert_int_equal(delivered.jobs, 1);
    wait_at("a@y", 5);
    complete(b.id, b.token);
    assert_int_equal(delivered.jobs, 2);
    assert_int_equal(tenant("a").running, 2);
    set_tenant("a", TENANT_MAX_RUNNING, (struct tenant_settings){ .max_running = 3 });
    assert_true(lease("*@y", &v));
    assert_false(lease("*@x", &v));
}

/* The room that a lease leaves belongs to whoever waits, at whichever of the tenant's queues. */
static void room_goes_to_the_worker_that_waits_for_it(void **state)
{
    struct job_view running, v;

    (void)state;
    set_tenant("a", TENANT_MAX_RUNNING, (struct tenant_settings){ .max_running = 1 });
    for (int i = 0; i < 3; i++) {
        schedule("a@x");
        schedule("a@y");
        schedule("a@z");
    }
    assert_true(lease("a@x", &running));
    assert_false(lease("*@x", &v)); /* each is found to be held, x first */
    assert_false(lease("*@y", &v));
    assert_false(lease("*@z", &v));
    wait_at("*@z", 1);
    complete(running.id, running.token);
    assert_int_equal(delivered.calls, 1);
    complete(delivered.id, delivered.token);
    assert_true(lease("*@y", &v)); /* nor does one who did not wait find it gone */
    complete(v.id, v.token);
    wait_at("a@y", 1);
    assert_int_equal(delivered.calls, 2);
}

static void the_server_runs_as_many_as_it_may(void **state)
{
    struct job_view a, b, v;

    (void)state;
    schedule_many("a@q", 3);
    schedule_many("b@other", 3);
    schedule_many("c@q", 1);
    assert_true(lease("a@q", &a));
    assert_true(lease("b@other", &b));
    assert_false(lease("a@q", &v));
    assert_false(lease("*@other", &v));
    assert_int_equal(hold_of("a@q"), HOLD_SERVER_RUNNING);
    wait_at("c@q", 5);
    wait_at("*@other", 5);
    pass(1000);
    assert_int_equal(delivered.calls, 0);
    complete(a.id, a.token);
    assert_int_equal(delivered.calls, 1);
    assert_int_equal(delivered.jobs, 1);
    complete(b.id, b.token);
    assert_int_equal(delivered.calls, 2);
    assert_int_equal(delivered.jobs, 2);
    complete(delivered.id, delivered.token);
    assert_true(lease("*@q", &v));
    assert_false(lease("*@q", &v));
}

static void a_tenant_has_as_many_pending_as_it_may(void **state)
{
    struct job_spec spec = spec_of("a@q"), keyed = spec_of("a@q");
    struct schedule_result r;
    struct job_id first;
    struct job_view v;

    (void)state;
    set_tenant("a", TENANT_MAX_PENDING, (struct tenant_settings){ .max_pending = 3 });
    keyed.key = STR("k");
    keyed.due_ms = wall + DAY;
    assert_int_equal(engine_schedule(e, &keyed, &r), 0);
    first = r.id;
    schedule("a@q");
    schedule("a@other"); /* of any queue */
    assert_int_equal(tenant("a").pending, 3);
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    assert_string_equal(engine_detail(e), "max_pending of a is 3");
    spec.queue = STR("a@new");
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    schedule("b@q"); /* others go on */
    schedule("q");
    assert_int_equal(engine_schedule(e, &keyed, &r), 0); /* adds none */
    assert_int_equal(r.id.seq, first.seq);
    keyed.if_exists = IFEXISTS_REPLACE;
    assert_int_equal(engine_schedule(e, &keyed, &r), 0);
    assert_true(lease("a@q", &v)); /* one that runs has not ended */
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    complete(v.id, v.token);
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    assert_int_equal(engine_cancel(e, first), CANCEL_CANCELLED);
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(tenant("a").pending, 3);
}

/* ---- Rates ---- */

/* Asks in every millisecond: a rate is never passed, and what it allows is used. */
static void assert_rate(struct rate rate, int64_t span_ms, int64_t step_ms)
{
    int64_t given = 0, began = mono, burst = rate.burst > 0 ? rate.burst : rate.count;
    int64_t part_ms = (rate.per_ms * burst + rate.count - 1) / rate.count;
    struct job *jobs[LEASE_COUNT_MAX];

    set_queue("a@q", QUEUE_RATE, (struct queue_settings){ .rate = rate });
    if (rate.burst > 0)
        set_queue("a@q", QUEUE_BURST, (struct queue_settings){ .rate = rate });
    given = lease_some("*@q", LEASE_COUNT_MAX, jobs);
    assert_int_equal(given, burst);
    while (mono - began < span_ms) {
        pass(step_ms);
        given += lease_some(mono % 2 ? "*@q" : "a@q", LEASE_COUNT_MAX, jobs);
        int64_t allowed = burst + (mono - began) / part_ms * burst;
        if (given != allowed)
            fail_msg("%lld/%lldms: %lld after %lld ms", (long long)rate.count,
                     (long long)rate.per_ms, (long long)given, (long long)(mono - began));
    }
}

static void a_rate_is_never_passed_and_is_used(void **state)
{
    static const struct {
        struct rate rate;
        int64_t span_ms, step_ms;
    } cases[] = {
        { { 10, 1000, 0 }, 20000, 1 },       { { 7, 1000, 0 }, 20000, 1 },
        { { 100, 60000, 0 }, 120000, 1 },    { { 3, 100, 0 }, 5000, 1 },
        { { 1, 50, 0 }, 3000, 1 },           { { 999, 1000, 0 }, 3000, 1 },
        { { 700, 700, 0 }, 2000, 1 },        { { 30, 7, 0 }, 1000, 1 },
        { { 10, 1000, 5 }, 20000, 1 },       { { 100, 1000, 1 }, 3000, 1 },
        { { 1, DAY, 0 }, 3 * DAY, 3600000 },
    };
    const size_t n = sizeof(cases) / sizeof(*cases);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        schedule_many("a@q", 8000);
        assert_rate(cases[i].rate, cases[i].span_ms, cases[i].step_ms);
        set_queue("a@q", QUEUE_RATE, (struct queue_settings){ 0 });
        for (struct job_view v; lease("a@q", &v);)
            complete(v.id, v.token);
        pass(3 * DAY); /* the rate has forgotten all */
    }
}

/* More than one in a microsecond, too. */
static void a_rate_of_hundreds_in_a_millisecond_is_kept(void **state)
{
    (void)state;
    schedule_many("a@q", 60000);
    assert_rate((struct rate){ 600, 1, 0 }, 80, 1);
}

/* Driven by nothing but the moments that the engine asks for. */
static void a_parked_worker_is_woken_when_the_rate_allows(void **state)
{
    int64_t began = mono;

    (void)state;
    set_tenant("a", TENANT_RATE, (struct tenant_settings){ .rate = { 1, 500, 0 } });
    schedule_many("a@x", 5);
    schedule_many("a@y", 5);
    wait_at("*@x", 1);
    assert_int_equal(delivered.calls, 1);
    assert_int_equal(hold_of("a@x"), HOLD_TENANT_RATE);
    assert_int_equal(hold_of("a@y"), HOLD_TENANT_RATE);
    for (size_t i = 1; i <= 6; i++) {
        const char *queue = i % 2 ? "*@x" : "a@y";
        int64_t wall_ms, mono_ms;

        wait_at(queue, 1);
        assert_int_equal(delivered.calls, i);
        while (delivered.calls == i) { /* it may be woken before, to look at its timers */
            engine_next_wake(e, &wall_ms, &mono_ms);
            assert_in_range(mono_ms, mono + 1, mono + 500);
            pass(mono_ms - mono);
        }
        assert_int_equal(delivered.calls, i + 1);
        assert_ptr_equal(delivered.owner, queue);
        assert_int_equal(delivered.at_ms, began + (int64_t)i * 500);
    }
}

static void another_rate_counts_from_when_it_is_set(void **state)
{
    struct job *jobs[10];

    (void)state;
    schedule_many("a@q", 100);
    set_queue("a@q", QUEUE_RATE, (struct queue_settings){ .rate = { 1, DAY, 0 } });
    assert_int_equal(lease_some("a@q", 10, jobs), 1);
    pass(1000);
    set_queue("a@q", QUEUE_RATE, (struct queue_settings){ .rate = { 10, 1000, 0 } });
    pass(1000);
    assert_true(lease_some("a@q", 10, jobs) > 0); /* not tomorrow */
    set_queue("a@q", QUEUE_RATE, (struct queue_settings){ 0 });
    assert_int_equal(lease_some("a@q", 10, jobs), 10);

    set_tenant("a", TENANT_RATE, (struct tenant_settings){ .rate = { 1, DAY, 0 } });
    assert_int_equal(lease_some("*@q", 10, jobs), 1);
    assert_int_equal(lease_some("*@q", 10, jobs), 0);
    set_tenant("a", TENANT_RATE, (struct tenant_settings){ .rate = { 10, 1000, 0 } });
    pass(1000);
    assert_true(lease_some("*@q", 10, jobs) > 0);
}

/* ---- Maintenance ---- */

static void maintenance_holds_a_tenants_jobs_until_it_ends(void **state)
{
    struct job_view v;
    struct job_id id;

    (void)state;
    id = schedule("a@q");
    assert_true(lease("a@q", &v));
    set_tenant("a", TENANT_MAINTENANCE, (struct tenant_settings){ .maintenance = true });
    complete(id, v.token); /* what runs goes on */
    id = schedule("a@q");
    schedule("a@other");
    assert_false(lease("a@q", &v));
    assert_false(lease("*@q", &v));
    assert_int_equal(hold_of("a@q"), HOLD_MAINTENANCE);
    wait_at("*@q", 5);
    wait_at("a@other", 5);
    pass(60000);
    assert_int_equal(delivered.calls, 0);
    schedule("b@q"); /* another's */
    dispatch();
    assert_int_equal(delivered.calls, 1);
    wait_at("*@q", 5);
    set_tenant("a", TENANT_MAINTENANCE, (struct tenant_settings){ .maintenance = false });
    assert_int_equal(delivered.calls, 3);
    assert_int_equal(delivered.jobs, 3);
    assert_int_equal(engine_get(e, id, &v), 0);
    assert_int_equal(v.attempt, 1); /* waiting cost none */
}

static void a_paused_queue_leaves_the_turns_to_others(void **state)
{
    struct job_view v;

    (void)state;
    schedule_many("a@q", 2);
    schedule_many("b@q", 2);
    set_queue("a@q", QUEUE_PAUSED, (struct queue_settings){ .paused = true });
    for (int i = 0; i < 2; i++) {
        assert_true(lease("*@q", &v));
        assert_true(str_eq(v.tenant, STR("b")));
    }
    assert_false(lease("*@q", &v));
    wait_at("*@q", 1);
    set_queue("a@q", QUEUE_PAUSED, (struct queue_settings){ .paused = false });
    assert_int_equal(delivered.calls, 1);
}

/* ---- Anything, in any order ---- */

#define WORKERS 40

static const char *const some_tenants[] = { "", "a@", "b@", "c@" };
static const char *const some_queues[] = { "x", "y", "z" };

static struct {
    struct waiter *waiter; /* NULL: does not wait */
    char names[2][8];
} workers[WORKERS];

static struct {
    struct job_id id;
    uint64_t token;
} held[4096];
static size_t held_count;

static uint64_t dice;

static unsigned roll(unsigned n)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(dice >> 33) % n;
}

static void hold(const struct job_view *v)
{
    assert_true(held_count < sizeof(held) / sizeof(*held));
    held[held_count].id = v->id;
    held[held_count++].token = v->token;
}

static void deliver_some(void *owner, struct job *const *jobs, size_t n)
{
    workers[(uintptr_t)owner].waiter = NULL;
    for (size_t i = 0; i < n; i++) {
        struct job_view v;

        engine_view(e, jobs[i], &v);
        hold(&v);
    }
}

/* One tenant's queue, or, if asked for, that of all. */
static void some_name(char ret[8], bool all)
{
    const char *queue = some_queues[roll(3)];

    snprintf(ret, 8, "%s%s", all && roll(2) ? "*@" : some_tenants[roll(4)], queue);
}

static bool could_give(const char *name)
{
    struct queue_view v;

    if (name[0] != '*')
        return engine_queue_get(e, str_of(name), &v) == 0 && v.jobs[JOB_READY] > 0 &&
               v.hold == HOLD_NONE;
    for (size_t i = 0; i < 4; i++) {
        char one[8];

        snprintf(one, sizeof(one), "%s%s", some_tenants[i], name + 2);
        if (could_give(one))
            return true;
    }
    return false;
}

static void some_settings(void)
{
    struct tenant_settings t = { .weight = 1 + roll(3),
                                 .maintenance = roll(4) == 0,
                                 .max_running = roll(4),
                                 .rate = { roll(3), 1 + roll(50) } };
    struct queue_settings q = { .paused = roll(4) == 0,
                                .max_running = roll(4),
                                .rate = { roll(3), 1 + roll(50) } };
    static const char *const names[] = { "default", "a", "b", "c" };
    char name[8];

    if (roll(2)) {
        assert_int_equal(engine_tenant_set(e, str_of(names[roll(4)]), &t, 1u << roll(5)), 0);
    } else {
        static const unsigned fields[] = { QUEUE_PAUSED, QUEUE_MAX_RUNNING, QUEUE_RATE };

        some_name(name, false);
        assert_int_equal(engine_queue_set(e, str_of(name), &q, 1u << fields[roll(3)]), 0);
    }
}

static void some_wait(void)
{
    size_t i = roll(WORKERS);
    struct str names[2];
    struct lease_request r = {
        .queues = names, .queue_count = 1 + roll(2), .count = 1 + roll(3), .for_ms = 20 + roll(200)
    };

    if (workers[i].waiter) {
        engine_wait_cancel(e, workers[i].waiter);
        workers[i].waiter = NULL;
        return;
    }
    for (int k = 0; k < 2; k++) {
        some_name(workers[i].names[k], true);
        names[k] = str_of(workers[i].names[k]);
    }
    if (r.queue_count == 1)
        memcpy(workers[i].names[1], workers[i].names[0], 8);
    assert_int_equal(engine_wait(e, &r, 1 + roll(300), (void *)(uintptr_t)i, &workers[i].waiter),
                     0);
}

static void some_end(void)
{
    size_t i = held_count ? roll((unsigned)held_count) : 0;
    struct fail_result f;
    struct job_view v;

    if (held_count == 0)
        return;
    switch (roll(4)) { /* one whose lease has ended is stale, or gone */
    case 0: engine_fail(e, held[i].id, held[i].token, STR("no"), roll(50), false, &f); break;
    case 1: engine_release(e, held[i].id, held[i].token, roll(50)); break;
    default: engine_complete(e, held[i].id, held[i].token, (struct str){ 0 }, -1); break;
    }
    if (roll(3) == 0 && engine_get(e, held[i].id, &v) == 0)
        engine_cancel(e, held[i].id);
    held[i] = held[--held_count];
}

/* Somebody who asks gets something exactly if there is something that nothing holds back. */
static void some_lease(void)
{
    struct job_view v;
    char name[8];
    bool could;

    some_name(name, true);
    could = could_give(name);
    assert_int_equal(lease(name, &v), could);
    if (could)
        hold(&v);
}

static void nobody_waits_for_what_could_be_given(int step)
{
    for (size_t i = 0; i < WORKERS; i++)
        for (int k = 0; workers[i].waiter && k < 2; k++)
            if (could_give(workers[i].names[k]))
                fail_msg("step %d: a worker waits at %s", step, workers[i].names[k]);
}

static void no_worker_waits_while_there_is_work_that_nothing_holds_back(void **state)
{
    struct engine_stats stats;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dice = seed;
        held_count = 0;
        memset(workers, 0, sizeof(workers));
        engine_free(e);
        journal.len = 0;
        e = engine_new(
            &(struct engine_options){ .epoch = 1, .seed = seed, .max_running = seed % 3 ? 0 : 12 });
        engine_direct(e, &journal, 1, true, 0);
        engine_start(e, wall, mono, false);
        deliver = deliver_some;
        for (int step = 0; step < 5000; step++) {
            char name[8];

            switch (roll(8)) {
            case 0: some_settings(); break;
            case 1:
            case 2:
                some_name(name, false);
                schedule(name);
                break;
            case 3:
            case 4: some_wait(); break;
            case 5: some_end(); break;
            case 6: some_lease(); break;
            default: pass(roll(30)); break;
            }
            dispatch();
            nobody_waits_for_what_could_be_given(step);
            engine_stats(e, &stats);
            assert_true(seed % 3 || stats.jobs[JOB_LEASED] <= 12);
            if (step % 100 == 0)
                engine_verify(e);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_queue_runs_as_many_as_it_may),
        TEST(a_stall_a_failure_and_a_release_make_room_too),
        TEST(a_raised_limit_is_used_at_once),
        TEST(a_tenant_runs_as_many_as_it_may_over_all_its_queues),
        TEST(room_goes_to_the_worker_that_waits_for_it),
        cmocka_unit_test_setup_teardown(the_server_runs_as_many_as_it_may, setup_server_of_two,
                                        teardown),
        TEST(a_tenant_has_as_many_pending_as_it_may),
        TEST(a_rate_is_never_passed_and_is_used),
        TEST(a_rate_of_hundreds_in_a_millisecond_is_kept),
        TEST(a_parked_worker_is_woken_when_the_rate_allows),
        TEST(another_rate_counts_from_when_it_is_set),
        TEST(maintenance_holds_a_tenants_jobs_until_it_ends),
        TEST(a_paused_queue_leaves_the_turns_to_others),
        TEST(no_worker_waits_while_there_is_work_that_nothing_holds_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
