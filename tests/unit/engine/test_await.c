/* SPDX-License-Identifier: MIT */
/* Requests that wait for the end of a job. */
#include "engine/await.h"
#include "engine/cold.h"
#include "support/tenants.h"

#define CROWD 10000

static struct job_id schedule_as(const char *queue, int64_t retain_ms, int64_t expire_ms)
{
    struct job_spec spec = spec_of(queue);
    struct schedule_result r;

    spec.retain_ms = retain_ms;
    spec.expire_ms = expire_ms;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

static struct job_view view_of(struct job_id id)
{
    struct job_view v;

    assert_int_equal(engine_get(e, id, &v), 0);
    return v;
}

static struct waiter *await_for(struct job_id id, int64_t wait_ms, void *owner)
{
    struct job_view v = view_of(id);
    struct waiter *w = NULL;

    assert_int_equal(engine_await(e, &v, mono + wait_ms, owner, &w), 0);
    return w;
}

static uint64_t awaits(void)
{
    struct engine_stats s;

    engine_stats(e, &s);
    return s.awaits;
}

/* How many waits are over by now. */
static int woken(void)
{
    void *owner;
    int n = 0;

    while (engine_timeout(e, &owner))
        n++;
    return n;
}

static uint64_t lease_of(const char *queue, struct job_id *ret)
{
    struct str name = str_of(queue);
    struct lease_request r = request_for(&name, 1);
    struct job *job;
    struct job_view v;

    assert_int_equal(engine_lease(e, &r, &job), 1);
    engine_view(e, job, &v);
    *ret = v.id;
    return v.token;
}

static void every_end_wakes_those_who_wait_and_nothing_else_does(void **state)
{
    struct job_id id = schedule("a@q"), other = schedule("a@other"), leased;
    struct fail_result failed;
    void *owner = NULL;

    (void)state;
    await_for(id, DAY, &id);
    await_for(other, DAY, &other);
    uint64_t token = lease_of("a@q", &leased);
    assert_int_equal(engine_fail(e, id, token, STR("no"), 0, false, &failed), 0);
    assert_int_equal(woken(), 0);
    pass(1);
    token = lease_of("a@q", &leased);
    assert_int_equal(engine_complete(e, id, token, STR("yes"), 5), 0); /* it runs again */
    assert_int_equal(woken(), 0);
    pass(5);
    token = lease_of("a@q", &leased);
    assert_int_equal(engine_complete(e, id, token, STR("yes"), -1), 0);
    assert_true(engine_timeout(e, &owner));
    assert_ptr_equal(owner, &id);
    assert_int_equal(woken(), 0);
    assert_true(str_eq(view_of(id).result, STR("yes")));
    assert_int_equal(engine_cancel(e, other), CANCEL_CANCELLED);
    assert_int_equal(woken(), 1);
    assert_int_equal(awaits(), 0);
}

static void a_wait_ends_when_its_time_is_up_or_when_it_is_given_up(void **state)
{
    struct job_id id = schedule("a@q");
    struct waiter *w = await_for(id, DAY, NULL);

    (void)state;
    await_for(id, 100, &id);
    pass(99);
    assert_int_equal(delivered.calls, 0);
    pass(1);
    assert_int_equal(delivered.calls, 1);
    assert_ptr_equal(delivered.owner, &id);
    engine_wait_cancel(e, w);
    assert_int_equal(awaits(), 0);
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    assert_int_equal(woken(), 0);
}

static void a_wait_may_be_given_up_after_the_end_and_before_its_turn(void **state)
{
    struct job_id id = schedule("a@q");
    struct waiter *first = await_for(id, DAY, NULL), *second = await_for(id, DAY, NULL);

    (void)state;
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    engine_wait_cancel(e, second);
    engine_wait_cancel(e, first);
    assert_int_equal(woken(), 0);
    assert_int_equal(awaits(), 0);
}

static void an_awaited_job_is_kept_for_its_result_and_others_are_not(void **state)
{
    struct job_id kept = schedule_as("a@q", 0, -1), gone = schedule_as("a@q", 0, -1);
    struct job_view v;

    (void)state;
    await_for(kept, DAY, NULL);
    assert_int_equal(engine_cancel(e, kept), CANCEL_CANCELLED);
    assert_int_equal(engine_cancel(e, gone), CANCEL_CANCELLED);
    assert_int_equal(engine_get(e, gone, &v), BELFRY_NOTFOUND);
    pass(AWAITED_KEEP_MS - 1);
    assert_int_equal(view_of(kept).state, JOB_CANCELLED);
    pass(1);
    assert_int_equal(engine_get(e, kept, &v), BELFRY_NOTFOUND);
}

static void the_expiry_of_a_job_is_looked_for(void **state)
{
    struct job_id id = schedule_as("a@q", DAY, 1000);

    (void)state;
    await_for(id, DAY, &id);
    pass(1001);
    assert_true(delivered.calls >= 1);
    assert_int_equal(view_of(id).state, JOB_EXPIRED);
    assert_int_equal(awaits(), 0);
}

static void ten_thousand_waits_for_one_job_are_woken_by_one_step(void **state)
{
    struct job_id id = schedule("a@q");
    int n = 0;

    (void)state;
    for (int i = 0; i < CROWD; i++)
        await_for(id, DAY, NULL);
    uint64_t bytes = tenant("a").queue_bytes;
    assert_true(bytes > CROWD * (uint64_t)100);
    assert_int_equal(awaits(), CROWD);
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    assert_true(tenant("a").queue_bytes < bytes - CROWD * (uint64_t)100);
    assert_int_equal(awaits(), CROWD); /* they are handed out one by one */
    for (void *owner; n < CROWD / 2 && engine_timeout(e, &owner); n++)
        ;
    pass(DAY + 1); /* the time of the others is up, too */
    assert_int_equal(n + (int)delivered.calls, CROWD);
    assert_int_equal(awaits(), 0);
}

static void a_tenant_waits_as_much_as_its_share_of_memory_allows(void **state)
{
    struct job_id mine, others;
    struct job_view v;
    struct waiter *w;
    int n = 0, err = 0;

    (void)state;
    memory_bytes = UINT64_C(64) << 20;
    teardown(NULL);
    start(0);
    mine = schedule("a@q");
    others = schedule("b@q");
    v = view_of(mine);
    for (; !err && n < 10 * 1000 * 1000; n++)
        err = engine_await(e, &v, mono + DAY, NULL, &w);
    assert_int_equal(err, BELFRY_LIMIT);
    assert_true(n > 1000);
    await_for(others, DAY, NULL);
    assert_int_equal(engine_cancel(e, mine), CANCEL_CANCELLED);
    assert_int_equal(woken(), n - 1);
    mine = schedule("a@q");
    await_for(mine, DAY, NULL);
    memory_bytes = UINT64_C(4) << 30;
}

static void a_tenant_outlives_the_waits_for_its_last_job(void **state)
{
    struct job_id id = schedule_as("late@q", 0, -1);

    (void)state;
    await_for(id, DAY, &id);
    await_for(id, DAY, &id);
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    pass(2 * AWAITED_KEEP_MS);
    for (int i = 0; i < 3000; i++)
        schedule_as("other@q", 0, -1);
    pass(1);
    assert_int_equal(awaits(), 0);
}

static void a_start_knows_of_no_wait(void **state)
{
    struct job_id id = schedule("a@q");

    (void)state;
    await_for(id, DAY, NULL);
    replay();
    assert_int_equal(awaits(), 0);
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    assert_int_equal(woken(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_end_wakes_those_who_wait_and_nothing_else_does),
        TEST(a_wait_ends_when_its_time_is_up_or_when_it_is_given_up),
        TEST(a_wait_may_be_given_up_after_the_end_and_before_its_turn),
        TEST(an_awaited_job_is_kept_for_its_result_and_others_are_not),
        TEST(the_expiry_of_a_job_is_looked_for),
        TEST(ten_thousand_waits_for_one_job_are_woken_by_one_step),
        TEST(a_tenant_waits_as_much_as_its_share_of_memory_allows),
        TEST(a_tenant_outlives_the_waits_for_its_last_job),
        TEST(a_start_knows_of_no_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
