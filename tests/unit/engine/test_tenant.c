/* SPDX-License-Identifier: MIT */
/* Tenants: whose turn it is, and who sees what. */
#include "support/tenants.h"

/* ---- Turns ---- */

static void small_tenants_are_served(int big, size_t count)
{
    int left = 99 * 10, leases = 0;

    schedule_many("big@q", big);
    for (int i = 0; i < 99; i++) {
        char name[32];

        snprintf(name, sizeof(name), "small-%d@q", i);
        schedule_many(name, 10);
    }
    while (left > 0 && leases < 2000) {
        struct job *jobs[LEASE_COUNT_MAX];
        int n = lease_some("*@q", count, jobs);

        assert_true(n > 0);
        leases += n;
        for (int i = 0; i < n; i++) {
            struct job_view v;

            engine_view(e, jobs[i], &v);
            left -= !str_eq(v.tenant, STR("big"));
        }
    }
    assert_int_equal(left, 0);
}

static void a_million_jobs_of_one_tenant_do_not_hold_up_the_others(void **state)
{
    (void)state;
    small_tenants_are_served(1000000, 1);
}

static void the_same_if_a_worker_takes_many_at_a_time(void **state)
{
    (void)state;
    small_tenants_are_served(100000, 250);
}

static void weights_share_out_the_leases(void **state)
{
    int given[2] = { 0 };
    struct job_view v;

    (void)state;
    set_tenant("three", TENANT_WEIGHT, (struct tenant_settings){ .weight = 3 });
    schedule_many("one@q", 500);
    schedule_many("three@q", 500);
    for (int i = 0; i < 400; i++) {
        assert_true(lease("*@q", &v));
        given[str_eq(v.tenant, STR("three"))]++;
        if (i % 4 == 3) /* in each round, too */
            assert_int_equal(given[1], 3 * given[0]);
    }
    /* When one has nothing left, the other has everything. */
    for (int i = 0; i < 600; i++)
        assert_true(lease("*@q", &v));
    assert_false(lease("*@q", &v));
}

static void the_default_tenant_takes_its_turn_like_any_other(void **state)
{
    struct job_view v;

    (void)state;
    schedule_many("q", 10);
    schedule_many("acme@q", 10);
    for (int i = 0; i < 20; i++) {
        assert_true(lease("*@q", &v));
        assert_true(str_eq(v.queue, STR("q")));
        assert_true(str_eq(v.tenant, i % 2 ? STR("acme") : STR("default")));
    }
}

static void a_queue_keeps_its_turn_when_its_settings_change(void **state)
{
    struct queue_settings s = { .attempts = 7 };
    struct job_view v;

    (void)state;
    schedule_many("a@q", 10);
    schedule_many("b@q", 10);
    for (int i = 0; i < 20; i++) {
        const char *next = i % 2 ? "b@q" : "a@q";

        assert_int_equal(engine_queue_set(e, str_of(next), &s, 1u << QUEUE_ATTEMPTS), 0);
        assert_true(lease("*@q", &v));
        assert_true(str_eq(v.tenant, i % 2 ? STR("b") : STR("a")));
    }
}

static struct job_id schedule_in_order(const char *queue, int64_t due_ms)
{
    struct job_spec spec = spec_of(queue);
    struct schedule_result r;

    spec.due_ms = due_ms;
    spec.order = STR("o");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

static void a_queue_keeps_its_turn_when_another_overtakes_its_first(void **state)
{
    struct job_id early;
    struct job_view v;

    (void)state;
    schedule_in_order("a@q", wall - 10);
    schedule("b@q");
    early = schedule_in_order("a@q", wall - 20);
    assert_true(lease("*@q", &v));
    assert_int_equal(v.id.seq, early.seq);
}

static void a_queue_keeps_its_turn_when_its_first_is_cancelled(void **state)
{
    struct job_id first, next;
    struct job_view v;

    (void)state;
    first = schedule_in_order("a@q", wall - 20);
    next = schedule_in_order("a@q", wall - 10);
    schedule("b@q");
    assert_int_equal(engine_cancel(e, first), CANCEL_CANCELLED);
    assert_true(lease("*@q", &v));
    assert_int_equal(v.id.seq, next.seq);
}

static void a_queue_keeps_its_turn_when_somebody_waits_for_its_job(void **state)
{
    struct job_spec child = spec_of("a@other");
    struct job_id parent;
    struct schedule_result r;
    struct job_view v;

    (void)state;
    parent = schedule_in_order("a@q", wall);
    schedule("b@q");
    child.after = &parent;
    child.after_count = 1;
    assert_int_equal(engine_schedule(e, &child, &r), 0);
    assert_true(lease("*@q", &v));
    assert_int_equal(v.id.seq, parent.seq);
}

static void within_a_tenant_priority_decides(void **state)
{
    struct job_spec urgent = spec_of("a@q");
    struct schedule_result r;
    struct job_view v;

    (void)state;
    schedule_many("a@q", 3);
    schedule_many("b@q", 3);
    urgent.priority = 1;
    assert_int_equal(engine_schedule(e, &urgent, &r), 0);
    assert_true(lease("*@q", &v));
    assert_int_equal(v.id.seq, r.id.seq);
    assert_true(lease("*@q", &v));
    assert_true(str_eq(v.tenant, STR("b")));
}

static void a_worker_of_one_tenant_gets_nothing_of_another(void **state)
{
    struct job_view v;

    (void)state;
    schedule("a@q");
    schedule("q");
    assert_false(lease("b@q", &v));
    assert_false(lease("*@other", &v));
    assert_true(lease("q", &v));
    assert_true(str_eq(v.tenant, STR("default")));
    assert_false(lease("q", &v));
    assert_true(lease("a@q", &v));
    assert_true(str_eq(v.tenant, STR("a")));
}

#define MANY 100000

/* What one call may look at, besides what events (a setting, a job that was cancelled) are paid for
 * by. */
#define STEPS_MAX 8

static bool lease_bounded(uint64_t *ret_steps)
{
    uint64_t before = engine_pick_steps(e), steps;
    struct job_view v;
    bool given = lease("*@q", &v);

    steps = engine_pick_steps(e) - before;
    assert_in_range(steps, 0, STEPS_MAX);
    *ret_steps += steps;
    return given;
}

static void picking_does_not_depend_on_how_many_tenants_there_are(void **state)
{
    uint64_t steps = 0;
    char name[32];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        tenant_queue(i, name);
        schedule(name);
    }
    for (int i = 0; i < MANY; i++)
        assert_true(lease_bounded(&steps));
    assert_false(lease_bounded(&steps)); /* nobody has any left: that is known at once */
    assert_true(steps <= 4 * MANY);
    /* One that comes back is found at once. */
    tenant_queue(MANY / 2, name);
    schedule(name);
    assert_true(lease_bounded(&steps));
}

static void tenants_that_have_run_dry_cost_the_others_nothing(void **state)
{
    uint64_t steps = 0;

    (void)state;
    schedule_many("busy@q", 3 * MANY);
    for (int i = 0; i < MANY; i++) {
        char name[32];

        tenant_queue(i, name);
        schedule(name);
    }
    for (int i = 0; i < 3 * MANY; i++)
        assert_true(lease_bounded(&steps));
    assert_true(steps <= 4 * 3 * MANY);
}

static void jobs_that_were_cancelled_cost_the_others_nothing(void **state)
{
    struct job_id *ids = calloc(MANY, sizeof(*ids));
    uint64_t steps = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        char name[32];

        tenant_queue(i, name);
        ids[i] = schedule(name);
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(engine_cancel(e, ids[i]), CANCEL_CANCELLED);
    schedule("busy@q");
    assert_true(lease_bounded(&steps));
    free(ids);
}

/* ---- Replay ---- */

static void assert_settings(void)
{
    const struct tenant_settings *s = tenant("a").settings;
    struct queue_view q;
    struct job_view v;

    assert_int_equal(s->weight, 7);
    assert_true(s->maintenance);
    assert_int_equal(s->max_pending, 50);
    assert_int_equal(s->max_running, 40);
    assert_int_equal(s->rate.count, 30);
    assert_int_equal(s->rate.per_ms, 2000);
    assert_int_equal(tenant("b").settings->weight, 3);
    assert_int_equal(engine_queue_get(e, STR("a@q"), &q), 0);
    assert_int_equal(q.settings->max_running, 9);
    assert_int_equal(q.settings->rate.count, 8);
    assert_int_equal(q.settings->rate.per_ms, 60000);
    assert_int_equal(q.hold, HOLD_MAINTENANCE);
    assert_int_equal(tenant("a").pending, 5);
    assert_int_equal(tenant("b").pending, 9);
    assert_int_equal(tenant("b").running, 1);
    assert_false(lease("a@q", &v));
}

static void give_settings(void)
{
    struct tenant_settings t = {
        .weight = 7, .maintenance = true, .max_pending = 50, .max_running = 40, .rate = { 30, 2000 }
    };
    struct queue_settings q = { .max_running = 9, .rate = { 8, 60000 } };
    struct job_view v;

    assert_int_equal(engine_tenant_set(e, STR("a"), &t,
                                       1u << TENANT_WEIGHT | 1u << TENANT_MAINTENANCE |
                                           1u << TENANT_MAX_PENDING | 1u << TENANT_MAX_RUNNING |
                                           1u << TENANT_RATE),
                     0);
    set_tenant("b", TENANT_WEIGHT, (struct tenant_settings){ .weight = 3 });
    assert_int_equal(
        engine_queue_set(e, STR("a@q"), &q, 1u << QUEUE_MAX_RUNNING | 1u << QUEUE_RATE), 0);
    schedule_many("a@q", 5);
    schedule_many("b@q", 10);
    for (int i = 0; i < 2; i++)
        assert_true(lease("b@q", &v));
    complete(v.id, v.token);
}

/* A new engine from these commits; the journal goes on in segment `segment`. */
static void reopen(const struct buf *const *segments, uint32_t n)
{
    struct engine *again = make(2, 0);
    struct buf fresh = { 0 };

    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(engine_replay(again, buf_view(segments[i]), i + 1), 0);
    engine_free(e);
    e = again;
    buf_fini(&journal);
    journal = fresh;
    buf_reserve(&journal, 4096);
    engine_direct(e, &journal, n + 1, true, 1);
    engine_start(e, wall, mono, false);
    pass(1);
}

static void settings_and_counts_survive_a_replay(void **state)
{
    int given[2] = { 0 };
    struct job_view v;
    uint64_t hash;

    (void)state;
    give_settings();
    assert_settings();
    hash = engine_hash(e);
    reopen((const struct buf *const[]){ &journal }, 1);
    assert_int_equal(engine_hash(e), hash);
    assert_settings();
    schedule_many("c@q", 10); /* and the turns go on by weight */
    for (int i = 0; i < 8; i++) {
        assert_true(lease("*@q", &v));
        given[str_eq(v.tenant, STR("b"))]++;
    }
    assert_int_equal(given[1], 6);
}

static void settings_are_copied_forward_before_their_segment_is_dropped(void **state)
{
    struct buf second = { 0 };

    (void)state;
    give_settings();
    buf_reserve(&second, 4096);
    engine_direct(e, &second, 2, true, 1);
    assert_int_equal(engine_copy_forward(e, buf_view(&journal), 1), 0);
    assert_int_equal(engine_copy_rest(e, 1), 0);
    assert_int_equal(engine_segment_jobs(e, 1), 0);
    buf_fini(&journal);
    journal = second;
    assert_settings();
    reopen((const struct buf *const[]){ &journal }, 1);
    assert_settings();
}

/* There may be any number of queues. */
static void settings_of_many_queues_are_copied_in_slices(void **state)
{
    struct buf second = { 0 };
    struct queue_settings s = { .max_running = 9 };
    struct queue_view v;
    char name[16];
    size_t most = 0;
    int more = 1, slices = 0;

    (void)state;
    for (int i = 0; i < 3500; i++) {
        snprintf(name, sizeof(name), "t%d@q%d", i % 3, i);
        assert_int_equal(engine_queue_set(e, str_of(name), &s, 1u << QUEUE_MAX_RUNNING), 0);
    }
    buf_reserve(&second, 4096);
    engine_direct(e, &second, 2, true, 1);
    for (; more == 1; slices++) {
        size_t before = second.len;

        more = engine_copy_rest(e, 1);
        most = second.len - before > most ? second.len - before : most;
    }
    assert_int_equal(more, 0);
    assert_int_equal(slices, 4);
    assert_true(most < second.len / 3);
    buf_fini(&journal);
    journal = second;
    reopen((const struct buf *const[]){ &journal }, 1);
    for (int i = 0; i < 3500; i++) {
        snprintf(name, sizeof(name), "t%d@q%d", i % 3, i);
        assert_int_equal(engine_queue_get(e, str_of(name), &v), 0);
        assert_int_equal(v.settings->max_running, 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_million_jobs_of_one_tenant_do_not_hold_up_the_others),
        TEST(the_same_if_a_worker_takes_many_at_a_time),
        TEST(weights_share_out_the_leases),
        TEST(the_default_tenant_takes_its_turn_like_any_other),
        TEST(a_queue_keeps_its_turn_when_its_settings_change),
        TEST(a_queue_keeps_its_turn_when_another_overtakes_its_first),
        TEST(a_queue_keeps_its_turn_when_its_first_is_cancelled),
        TEST(a_queue_keeps_its_turn_when_somebody_waits_for_its_job),
        TEST(within_a_tenant_priority_decides),
        TEST(a_worker_of_one_tenant_gets_nothing_of_another),
        TEST(picking_does_not_depend_on_how_many_tenants_there_are),
        TEST(tenants_that_have_run_dry_cost_the_others_nothing),
        TEST(jobs_that_were_cancelled_cost_the_others_nothing),
        TEST(settings_and_counts_survive_a_replay),
        TEST(settings_are_copied_forward_before_their_segment_is_dropped),
        TEST(settings_of_many_queues_are_copied_in_slices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
