/* SPDX-License-Identifier: MIT */
/* Bulks, slice by slice, and what is left of them after a replay. */
#include "support/bulks.h"
#include "support/tenants.h"

static struct job_id ask(const struct bulk_spec *s)
{
    struct job_id id;

    assert_int_equal(engine_bulk(e, s, &id), 0);
    return id;
}

static struct bulk_view get(struct job_id id)
{
    struct bulk_view v;

    assert_int_equal(engine_bulk_get(e, STR("default"), id, &v), 0);
    assert_false(v.damaged);
    return v;
}

/* All of the engine's own work; returns how many slices of bulks that was. */
static int work(void)
{
    int slices = 0, done;

    while ((done = engine_task(e)) > 0)
        slices += done == 2;
    assert_int_equal(done, 0);
    return slices;
}

static uint64_t count(const char *queue, enum job_state state)
{
    struct queue_view v;

    assert_int_equal(engine_queue_get(e, str_of(queue), &v), 0);
    return v.jobs[state];
}

static void a_slice_is_a_part_of_it(void **state)
{
    (void)state;
    schedule_many("q", 5000);
    struct job_id id = ask(&(struct bulk_spec){ .tenant = STR("default"),
                                                .action = BULK_CANCEL,
                                                .queue = STR("q"),
                                                .state = -1,
                                                .from_ms = -1,
                                                .to_ms = -1,
                                                .due_ms = -1 });
    assert_int_equal(engine_task(e), 2);
    struct bulk_view v = get(id);
    assert_int_equal(v.b.state, BULK_RUNNING);
    assert_true(v.b.changed > 0 && v.b.changed < 1000);
    assert_int_equal(count("q", JOB_CANCELLED), v.b.changed);
    assert_true(work() >= 5);
    v = get(id);
    assert_int_equal(v.b.state, BULK_DONE);
    assert_int_equal(v.b.changed, 5000);
    assert_int_equal(v.b.walks, 1);
    assert_int_equal(count("q", JOB_READY), 0);
}

static void after_a_replay_it_begins_anew_and_counts_each_once(void **state)
{
    struct bulk_spec s = bulk_of(BULK_RESCHEDULE, "q");

    (void)state;
    schedule_many("q", 3000);
    schedule_many("other", 10);
    s.due_ms = wall + 7 * DAY;
    struct job_id id = ask(&s);
    for (int i = 0; i < 3; i++)
        engine_task(e);
    uint64_t before = get(id).b.changed;
    assert_true(before > 0 && before < 3000);
    replay();
    assert_int_equal(get(id).b.changed, before);
    assert_int_equal(count("q", JOB_SCHEDULED), before);
    work();
    struct bulk_view v = get(id);
    assert_int_equal(v.b.state, BULK_DONE);
    assert_int_equal(v.b.walks, 2);
    assert_int_equal(v.b.changed, 3000);
    assert_int_equal(v.b.matched, 3000);
    assert_int_equal(count("q", JOB_SCHEDULED), 3000);
    assert_int_equal(count("other", JOB_READY), 10);
}

static void what_was_put_back_and_is_dead_again_stays_dead(void **state)
{
    struct bulk_spec s = bulk_of(BULK_REDRIVE, "q");
    struct fail_result failed;
    struct job_view v;

    (void)state;
    schedule("q");
    assert_true(lease("q", &v));
    assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), -1, true, &failed), 0);
    schedule_many("q", 2000); /* so that it takes several slices */
    struct job_id id = ask(&s);
    while (get(id).b.changed == 0)
        assert_int_equal(engine_task(e), 2);
    while (lease("q", &v) && v.id.seq != 1)
        complete(v.id, v.token);
    assert_int_equal(v.id.seq, 1);
    assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), -1, true, &failed), 0);
    replay(); /* the walk begins anew, and meets it */
    work();
    assert_int_equal(get(id).b.changed, 1);
    assert_int_equal(count("q", JOB_DEAD), 1);
}

static void it_waits_while_there_is_no_room(void **state)
{
    struct bulk_spec s = bulk_of(BULK_CANCEL, "q");

    (void)state;
    schedule_many("q", 10);
    struct job_id id = ask(&s);
    engine_press(e, true);
    assert_int_equal(engine_task(e), 0);
    engine_press(e, false);
    work();
    assert_int_equal(get(id).b.changed, 10);
}

static void one_that_needs_room_waits_for_it_and_is_not_begun(void **state)
{
    struct bulk_spec s = bulk_of(BULK_RESCHEDULE, "q");

    (void)state;
    schedule_many("q", 10);
    s.due_ms = wall + 3600000;
    struct job_id id = ask(&s), other;
    engine_refuse_new(e, true);
    assert_int_equal(engine_task(e), 0);
    assert_int_equal(engine_bulk(e, &s, &other), BELFRY_FULL);
    assert_string_equal(engine_detail(e), "reschedule needs room; cancel and delete make some");
    s.action = BULK_REDRIVE;
    assert_int_equal(engine_bulk(e, &s, &other), BELFRY_FULL);
    s.dry = true;
    ask(&s);
    engine_refuse_new(e, false);
    work();
    assert_int_equal(get(id).b.changed, 10);
}

static void one_that_makes_room_needs_none_and_waits_for_no_other(void **state)
{
    struct bulk_spec move = bulk_of(BULK_RESCHEDULE, "q"), s = bulk_of(BULK_CANCEL, "q");

    (void)state;
    schedule_many("q", 10);
    schedule_many("r", 5);
    move.due_ms = wall + 3600000;
    struct job_id moving = ask(&move);
    engine_refuse_new(e, true);
    struct job_id cancelling = ask(&s);
    s = bulk_of(BULK_CANCEL, "r");
    struct job_id more = ask(&s);
    work();
    assert_int_equal(get(cancelling).b.changed, 10);
    assert_int_equal(get(more).b.changed, 5);
    assert_int_equal(get(moving).b.state, BULK_RUNNING);
    s = bulk_of(BULK_DELETE, "q");
    struct job_id deleting = ask(&s);
    work();
    assert_int_equal(get(deleting).b.changed, 10);
    assert_int_equal(count("q", JOB_CANCELLED), 0);
}

static void several_take_turns(void **state)
{
    struct bulk_spec s = bulk_of(BULK_CANCEL, "q");
    struct job_id ids[3];

    (void)state;
    schedule_many("q", 4000);
    s.dry = true;
    for (int i = 0; i < 3; i++)
        ids[i] = ask(&s);
    for (int i = 0; i < 6; i++)
        assert_int_equal(engine_task(e), 2);
    for (int i = 0; i < 3; i++)
        assert_true(get(ids[i]).b.looked > 0 && get(ids[i]).b.state == BULK_RUNNING);
    work();
    for (int i = 0; i < 3; i++)
        assert_int_equal(get(ids[i]).b.matched, 4000);
}

static void those_who_wait_for_a_job_are_told_before_it_is_deleted(void **state)
{
    struct job_spec after = spec_of("q");
    struct bulk_spec s = bulk_of(BULK_DELETE, "parent");
    struct schedule_result r;
    struct job_id id;
    struct job_view v;

    (void)state;
    struct job_id parent = schedule("parent");
    after.after = &parent;
    after.after_count = 1;
    assert_int_equal(engine_schedule(e, &after, &r), 0);
    assert_true(lease("parent", &v));
    complete(v.id, v.token);
    id = ask(&s);
    work();
    assert_int_equal(get(id).b.changed, 1);
    assert_int_equal(engine_get(e, parent, &v), BELFRY_NOTFOUND);
    assert_int_equal(engine_get(e, r.id, &v), 0);
    assert_int_equal(v.state, JOB_READY);
}

static void a_job_is_discarded_unless_a_worker_has_it(void **state)
{
    struct job_view v;

    (void)state;
    struct job_id id = schedule("q");
    assert_true(lease("q", &v));
    assert_int_equal(engine_discard(e, id), BELFRY_STATE);
    assert_non_null(strstr(engine_detail(e), "CANCEL"));
    complete(id, v.token);
    assert_int_equal(engine_discard(e, id), 0);
    id = schedule("q");
    assert_int_equal(engine_discard(e, id), 0);
    assert_int_equal(engine_discard(e, id), BELFRY_NOTFOUND);
    assert_false(lease("q", &v));
    replay();
    assert_int_equal(engine_get(e, id, &v), BELFRY_NOTFOUND);
}

static void a_job_that_has_not_ended_is_not_deleted(void **state)
{
    struct job_view v;

    (void)state;
    struct job_id id = schedule("q");
    assert_int_equal(engine_delete(e, id), BELFRY_STATE);
    assert_true(lease("q", &v));
    assert_int_equal(engine_delete(e, id), BELFRY_STATE);
    complete(id, v.token);
    assert_int_equal(engine_delete(e, id), 0);
    assert_int_equal(engine_delete(e, id), BELFRY_NOTFOUND);
    replay();
    assert_int_equal(engine_get(e, id, &v), BELFRY_NOTFOUND);
}

static int count_bulk(void *arg, const struct bulk_view *v)
{
    ++((int *)arg)[v->b.state != BULK_RUNNING];
    return 0;
}

static void the_last_hundred_are_shown_and_those_that_run(void **state)
{
    struct bulk_spec s = bulk_of(BULK_CANCEL, "q");
    int shown[2] = { 0 };
    struct job_id first = { 0 };
    struct bulk_view v;

    (void)state;
    for (int i = 0; i < BULK_KEEP + 5; i++) {
        struct job_id id = ask(&s);

        first = i == 0 ? id : first;
        work();
    }
    ask(&s);
    ask(&s);
    assert_int_equal(engine_bulks(e, STR("default"), count_bulk, shown), 0);
    assert_int_equal(shown[0], 2);
    assert_int_equal(shown[1], BULK_KEEP);
    assert_int_equal(engine_bulk_get(e, STR("default"), first, &v), BELFRY_NOTFOUND);
}

static void it_is_forgotten_after_a_day(void **state)
{
    struct bulk_spec s = bulk_of(BULK_CANCEL, "q");
    struct bulk_view v;

    (void)state;
    struct job_id id = ask(&s);
    work();
    pass(BULK_KEEP_MS - 1);
    get(id);
    pass(1);
    assert_int_equal(engine_bulk_get(e, STR("default"), id, &v), BELFRY_NOTFOUND);
}

static void damaged_bytes_are_no_bulk(void **state)
{
    struct bulk b = { .states = 1, .queue = STR("q"), .to_ms = INT64_MAX }, is;
    struct buf bytes = { 0 };

    (void)state;
    bulk_encode(&bytes, &b);
    assert_true(bulk_decode(buf_view(&bytes), &is));
    for (size_t n = 0; n < bytes.len; n++)
        assert_false(bulk_decode((struct str){ bytes.ptr, n }, &is));
    bytes.ptr[1] = BULK_ACTION_COUNT;
    assert_false(bulk_decode(buf_view(&bytes), &is));
    buf_fini(&bytes);
}

static void filters_are_stored_and_older_bulks_have_none(void **state)
{
    struct bulk b = { .states = 1,
                      .to_ms = INT64_MAX,
                      .recurrence = STR("r"),
                      .key_prefix = STR("k"),
                      .order = STR("o"),
                      .worker = STR("w"),
                      .with_error = STR("e"),
                      .with_error_group = STR("e <n>"),
                      .ended_from_ms = 5,
                      .ended_to_ms = 9 },
                is;
    struct bulk plain = { .states = 1, .to_ms = INT64_MAX };
    struct buf bytes = { 0 };

    (void)state;
    bulk_encode(&bytes, &plain);
    assert_int_equal(bytes.ptr[0], 1); /* as servers wrote it that knew no such filters */
    assert_true(bulk_decode(buf_view(&bytes), &is) && is.recurrence.len == 0 &&
                is.ended_to_ms == 0);
    bytes.len = 0;
    bulk_encode(&bytes, &b);
    assert_int_equal(bytes.ptr[0], 2); /* such servers refuse it */
    assert_true(bulk_decode(buf_view(&bytes), &is));
    assert_true(str_eq(is.recurrence, b.recurrence) && str_eq(is.key_prefix, b.key_prefix) &&
                str_eq(is.order, b.order) && str_eq(is.worker, b.worker) &&
                str_eq(is.with_error, b.with_error) &&
                str_eq(is.with_error_group, b.with_error_group));
    assert_true(is.ended_from_ms == 5 && is.ended_to_ms == 9);
    for (size_t n = 0; n < bytes.len; n++)
        assert_false(bulk_decode((struct str){ bytes.ptr, n }, &is));
    buf_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_slice_is_a_part_of_it),
        TEST(after_a_replay_it_begins_anew_and_counts_each_once),
        TEST(what_was_put_back_and_is_dead_again_stays_dead),
        TEST(it_waits_while_there_is_no_room),
        TEST(one_that_needs_room_waits_for_it_and_is_not_begun),
        TEST(one_that_makes_room_needs_none_and_waits_for_no_other),
        TEST(several_take_turns),
        TEST(those_who_wait_for_a_job_are_told_before_it_is_deleted),
        TEST(a_job_is_discarded_unless_a_worker_has_it),
        TEST(a_job_that_has_not_ended_is_not_deleted),
        TEST(the_last_hundred_are_shown_and_those_that_run),
        TEST(it_is_forgotten_after_a_day),
        TEST(damaged_bytes_are_no_bulk),
        TEST(filters_are_stored_and_older_bulks_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
