/* SPDX-License-Identifier: MIT */
/* Jobs whose parents end otherwise than done, and the order in which dead jobs are put back. */
#include "support/parents.h"

enum end { CANCELLED, DEAD, EXPIRED };

static void end_badly(struct job_id id, enum end how)
{
    struct job_view v;

    if (how == CANCELLED) {
        cancel(id);
    } else if (how == DEAD) {
        v = take("p");
        end_dead(&v);
    } else {
        pass(2 * MINUTE);
        assert_int_equal(state_of(id), JOB_EXPIRED);
    }
}

static struct job_id mortal(void)
{
    struct job_spec spec = spec_of("p");

    spec.expire_ms = MINUTE;
    return schedule(&spec);
}

static void a_lost_parent_cancels_or_lets_run(enum end how, enum job_state parent_state)
{
    struct job_id parent = mortal();
    struct job_id strict = waits_for(parent), chained = waits_for(strict);
    struct job_id lenient = after("q", parent, AFTERFAIL_RUN);
    struct job_id behind = after("q", strict, AFTERFAIL_RUN);
    char text[ID_TEXT], why[100];
    struct job_view v;

    end_badly(parent, how);
    assert_int_equal(state_of(parent), parent_state);
    assert_int_equal(state_of(strict), JOB_CANCELLED);
    assert_int_equal(state_of(chained), JOB_CANCELLED);
    assert_int_equal(state_of(lenient), JOB_READY);
    assert_int_equal(state_of(behind), JOB_READY);
    assert_int_equal(engine_get(e, strict, &v), 0);
    id_format(parent, text);
    snprintf(why, sizeof(why), "the job %.*s that it waited for was not done", ID_TEXT, text);
    assert_true(str_eq(v.error, str_of(why)));
    assert_int_equal(v.history.len, 0);
    /* Those that come later find the same. */
    assert_int_equal(state_of(waits_for(parent)), JOB_CANCELLED);
    assert_int_equal(state_of(after("q", parent, AFTERFAIL_RUN)), JOB_READY);
    assert_int_equal(run_all("q"), 3);
    assert_int_equal(stats().jobs[JOB_CANCELLED], how == CANCELLED ? 4 : 3);
}

static void a_cancelled_parent(void **state)
{
    (void)state;
    a_lost_parent_cancels_or_lets_run(CANCELLED, JOB_CANCELLED);
}

static void a_dead_parent(void **state)
{
    (void)state;
    a_lost_parent_cancels_or_lets_run(DEAD, JOB_DEAD);
}

static void an_expired_parent(void **state)
{
    (void)state;
    a_lost_parent_cancels_or_lets_run(EXPIRED, JOB_EXPIRED);
}

static void a_long_chain_falls_like_dominoes(void **state)
{
    struct job_id first = job("p"), id = first;

    (void)state;
    for (int i = 0; i < 300; i++)
        id = waits_for(id);
    cancel(first);
    assert_int_equal(state_of(id), JOB_CANCELLED);
    assert_int_equal(stats().jobs[JOB_CANCELLED], 301);
    assert_int_equal(stats().jobs[JOB_WAITING], 0);
}

/* The first that is lost decides, though others are under way. */
static void one_lost_parent_of_many_is_enough(void **state)
{
    struct job_id parents[3] = { job("p"), job("o"), job("o") };
    struct job_id child = after_all("q", parents, 3, AFTERFAIL_CANCEL);

    (void)state;
    cancel(parents[1]);
    assert_int_equal(state_of(child), JOB_CANCELLED);
    assert_int_equal(run_all("p") + run_all("o"), 2);
    assert_int_equal(state_of(child), JOB_CANCELLED);
}

static void with_run_all_parents_must_have_ended(void **state)
{
    struct job_id parents[2] = { job("p"), job("o") };
    struct job_id child = after_all("q", parents, 2, AFTERFAIL_RUN);

    (void)state;
    cancel(parents[0]);
    assert_int_equal(state_of(child), JOB_WAITING);
    assert_int_equal(run_all("o"), 1);
    assert_int_equal(state_of(child), JOB_READY);
}

static void a_retried_parent_is_waited_for(void **state)
{
    struct job_id parent = job("p"), child = waits_for(parent);
    struct job_view v = take("p");
    struct fail_result r;

    (void)state;
    assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), 1000, false, &r), 0);
    work();
    assert_int_equal(state_of(child), JOB_WAITING);
    pass(1000);
    v = take("p");
    assert_int_equal(engine_complete(e, v.id, v.token, (struct str){ 0 }, 500), 0); /* AGAIN */
    work();
    assert_int_equal(state_of(child), JOB_WAITING);
    pass(500);
    run_all("p");
    assert_int_equal(state_of(child), JOB_READY);
}

static void a_dead_parent_put_back_has_nobody_left_to_tell(void **state)
{
    struct job_id parent = job("p"), strict = waits_for(parent);
    struct job_view v = take("p");

    (void)state;
    end_dead(&v);
    assert_int_equal(state_of(strict), JOB_CANCELLED);
    assert_int_equal(engine_redrive(e, parent), 0);
    assert_int_equal(run_all("p"), 1);
    assert_int_equal(state_of(parent), JOB_DONE);
    assert_int_equal(state_of(strict), JOB_CANCELLED);
}

/* Put back before they were told: they wait for it as before. */
static void a_dead_parent_put_back_at_once_is_waited_for(void **state)
{
    struct job_id parent = job("p"), child = waits_for(parent);
    struct job_view v = take("p");
    struct fail_result r;

    (void)state;
    assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), -1, true, &r), 0);
    assert_int_equal(engine_redrive(e, parent), 0);
    work();
    assert_int_equal(state_of(child), JOB_WAITING);
    restart(0);
    work();
    assert_int_equal(state_of(child), JOB_WAITING);
    assert_int_equal(run_all("p"), 1);
    assert_int_equal(state_of(child), JOB_READY);
}

static struct job_id die(void)
{
    struct job_view v = take("p");
    struct fail_result r;

    assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), -1, true, &r), 0);
    wall += 1000;
    engine_advance(e, wall, mono += 1000);
    return v.id;
}

/* A job stands among the dead ones when others have been told of its end. Jobs that ended after it
 * may stand there already. */
static void dead_jobs_are_put_back_by_their_ends_though_some_had_to_tell_of_them(void **state)
{
    struct job_id ids[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        ids[i] = job("p");
        if (i % 2)
            waits_for(ids[i]);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(die().seq, ids[i].seq);
    work();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(state_of(ids[i]), JOB_DEAD);
        assert_int_equal(engine_redrive_queue(e, STR("p"), 1), 1);
        assert_int_equal(state_of(ids[i]), JOB_READY);
    }
}

static void dead_jobs_whose_key_is_taken_are_put_back_last(void **state)
{
    struct job_spec spec = spec_of("p");
    struct job_id ids[3], rival;

    (void)state;
    spec.key = STR("k");
    ids[0] = schedule(&spec);
    ids[1] = job("p");
    ids[2] = job("p");
    for (int i = 0; i < 3; i++)
        assert_int_equal(die().seq, ids[i].seq);
    rival = schedule(&spec);
    assert_int_equal(engine_redrive_queue(e, STR("p"), 1), 1);
    assert_int_equal(state_of(ids[1]), JOB_READY);
    cancel(rival);
    assert_int_equal(engine_redrive_queue(e, STR("p"), 1), 1);
    assert_int_equal(state_of(ids[2]), JOB_READY);
    assert_int_equal(engine_redrive_queue(e, STR("p"), 1), 1);
    assert_int_equal(state_of(ids[0]), JOB_READY);
}

static struct job_id waits_in(const char *queue, struct job_id parent)
{
    struct job_spec spec = spec_of(queue);

    spec.after = &parent;
    spec.after_count = 1;
    return schedule(&spec);
}

/* A tenant with many listeners keeps no other tenant waiting for long, also after a restart. */
static void tenants_take_turns_in_telling(void **state)
{
    struct job_id parent, child, other, others_child;
    struct explanation x;

    (void)state;
    cutting = false; /* there are too many */
    for (int again = 0; again < 2; again++) {
        parent = job("a@p");
        child = waits_in("a@q", parent); /* is told last */
        for (int i = 1; i < 1000; i++)
            waits_in("a@q", parent);
        other = job("b@p");
        others_child = waits_in("b@q", other);
        assert_int_equal(engine_cancel(e, parent), CANCEL_CANCELLED);
        assert_int_equal(engine_cancel(e, other), CANCEL_CANCELLED);
        assert_int_equal(engine_explain(e, others_child, &x), 0);
        assert_int_equal(x.reason, REASON_PARENT);
        assert_non_null(strstr(x.why, "has ended"));
        if (again)
            restart(0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(engine_task(e), 1);
        assert_int_equal(state_of(others_child), JOB_CANCELLED);
        assert_int_equal(state_of(child), JOB_WAITING);
        work();
        assert_int_equal(state_of(child), JOB_CANCELLED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tenants_take_turns_in_telling),
        TEST(a_cancelled_parent),
        TEST(a_dead_parent),
        TEST(an_expired_parent),
        TEST(a_long_chain_falls_like_dominoes),
        TEST(one_lost_parent_of_many_is_enough),
        TEST(with_run_all_parents_must_have_ended),
        TEST(a_retried_parent_is_waited_for),
        TEST(a_dead_parent_put_back_has_nobody_left_to_tell),
        TEST(a_dead_parent_put_back_at_once_is_waited_for),
        TEST(dead_jobs_are_put_back_by_their_ends_though_some_had_to_tell_of_them),
        TEST(dead_jobs_whose_key_is_taken_are_put_back_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
