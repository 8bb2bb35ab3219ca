/* SPDX-License-Identifier: MIT */
/* Jobs on disk. */
#include "support/spilled.h"

static void jobs_beyond_the_budget_go_to_disk_and_come_back_in_time(void **state)
{
    struct partition_stats s;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i);
    settle();
    partition_stats(p, &s);
    assert_true(s.memory_bytes < MEMORY + MEMORY / 4);
    assert_true(stats().cold_jobs > MANY / 2);
    assert_int_equal(stats().jobs[JOB_SCHEDULED], MANY);
    pass(HOUR - 1);
    assert_int_equal(work("q"), 0);
    pass(MANY);
    assert_int_equal(work("q"), MANY);
    assert_int_equal(stats().jobs[JOB_DONE], MANY);
}

static void only_what_is_for_later_leaves_the_systems_cache(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR / 2 + i);
    settle();
    assert_true(stats().cold_jobs > MANY / 2);
    assert_int_equal(cooled, 0);
    for (int i = 0; i < MANY; i++)
        schedule("q", 2 * HOUR + i);
    settle();
    assert_true(cooled > 0);
}

static void a_restart_knows_what_is_on_disk(void **state)
{
    uint64_t before;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i);
    settle();
    before = engine_hash(e);
    partition_close(p);
    open_partition();
    assert_int_equal(engine_hash(e), before);
    pass(HOUR + MANY);
    assert_int_equal(work("q"), MANY);
}

/* The batch is in runs, but no record says so. Then its runs are strays, and its jobs are in the
 * journal. */
static void a_crash_before_the_record_of_a_batch_loses_nothing(void **state)
{
    struct chore *c;

    (void)state;
    for (int i = 0; i < MANY && !(c = partition_chore(p, CHORE_FEED)); i++) {
        struct job_spec spec = spec_of("q", HOUR);
        struct schedule_result r;

        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        partition_work(p, INT64_MAX);
    }
    assert_non_null(c);
    assert_int_equal(partition_flush(p), 0);
    assert_int_equal(chore_run(c), 0);
    uint64_t all = stats().jobs[JOB_SCHEDULED];
    partition_close(p);
    open_partition();
    assert_int_equal(stats().jobs[JOB_SCHEDULED], all);
    assert_int_equal(stats().runs, 0);
    pass(HOUR);
    assert_int_equal(work("q"), all);
}

static void a_job_on_disk_is_found_moved_and_cancelled(void **state)
{
    struct job_id first = schedule("q", HOUR), second = schedule("q", HOUR);
    struct job_view v;
    int is;

    (void)state;
    push_out(first);
    push_out(second);
    assert_int_equal(engine_get(e, first, &v), BELFRY_COLD);
    EXECUTE(is, engine_get(e, first, &v));
    assert_int_equal(is, 0);
    EXECUTE(is, engine_reschedule(e, first, wall + 10));
    assert_int_equal(is, 0);
    EXECUTE(is, engine_cancel(e, second));
    assert_int_equal(is, CANCEL_CANCELLED);
    EXECUTE(is, engine_cancel(e, second));
    assert_int_equal(is, BELFRY_STATE);
    pass(10);
    assert_int_equal(work("q"), 1);
    pass(HOUR);
    assert_int_equal(work("q"), 0);
    EXECUTE(is, engine_get(e, (struct job_id){ first.due_ms, 0, 20 * MANY }, &v));
    assert_int_equal(is, BELFRY_NOTFOUND);
}

static void a_key_on_disk_is_kept_replaced_and_rejected(void **state)
{
    struct job_spec spec = spec_of("q", HOUR);
    struct schedule_result r;
    struct job_id id;
    int is;

    (void)state;
    spec.key = STR("k");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    id = r.id;
    push_out(id);
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_COLD);
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, 0);
    assert_int_equal(r.outcome, SCHEDULE_KEPT);
    assert_int_equal(r.id.seq, id.seq);
    spec.if_exists = IFEXISTS_REJECT;
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, BELFRY_KEYEXISTS);
    spec.if_exists = IFEXISTS_REPLACE;
    spec.due_ms = wall;
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(r.outcome, SCHEDULE_REPLACED);
    assert_int_equal(work("q"), 1);
}

static void a_batch_may_replace_a_job_to_when_it_has_expired_and_use_its_key_again(void **state)
{
    struct job_spec specs[2] = { spec_of("q", HOUR), spec_of("q", HOUR) };
    struct schedule_result results[2];
    size_t at;
    int is;

    (void)state;
    specs[0].key = specs[1].key = STR("k");
    specs[0].expire_ms = HOUR;
    assert_int_equal(engine_schedule(e, &specs[0], &results[0]), 0);
    push_out(results[0].id);
    EXECUTE(is, engine_reschedule(e, results[0].id, wall + HOUR)); /* brings it to memory */
    assert_int_equal(is, 0);
    specs[0].if_exists = IFEXISTS_REPLACE;
    specs[0].due_ms = wall - 2 * HOUR;
    is = engine_schedule_all(e, specs, 2, results, &at);
    assert_false(engine_torn(e));
    assert_int_equal(is, 0);
    assert_int_equal(results[0].outcome, SCHEDULE_REPLACED);
    assert_int_equal(results[1].outcome, SCHEDULE_CREATED);
}

/* The later item makes a job then, and the job that it waits for is on disk. */
static void a_batch_that_frees_a_key_finds_the_job_that_it_waits_for(void **state)
{
    struct job_spec specs[2] = { spec_of("q", HOUR), spec_of("q", HOUR) };
    struct schedule_result results[2];
    struct job_id parent = schedule("p", 2 * HOUR);
    struct job_view v;
    size_t at;
    int is;

    (void)state;
    push_out(parent);
    specs[0].key = specs[1].key = STR("k");
    specs[0].expire_ms = HOUR;
    EXECUTE(is, engine_schedule(e, &specs[0], &results[0]));
    assert_int_equal(is, 0);
    specs[0].if_exists = IFEXISTS_REPLACE;
    specs[0].due_ms = wall - 2 * HOUR;
    specs[1].after = &parent;
    specs[1].after_count = 1;
    EXECUTE(is, engine_schedule_all(e, specs, 2, results, &at));
    assert_false(engine_torn(e));
    assert_int_equal(is, 0);
    assert_int_equal(results[1].outcome, SCHEDULE_CREATED);
    assert_int_equal(engine_get(e, results[1].id, &v), 0);
    assert_int_equal(v.state, JOB_WAITING);
}

#define KEYS 8400 /* twice as many as are remembered, and some */

static void name_key(struct job_spec *spec, int i)
{
    static char names[KEYS][8];

    snprintf(names[i], sizeof(names[i]), "k%d", i);
    spec->key = str_of(names[i]);
}

/* All those keys were those of jobs on disk. */
static void use_keys_up(void)
{
    static struct job_id ids[KEYS];

    for (int i = 0; i < KEYS; i++) {
        struct job_spec spec = spec_of("q", HOUR);
        struct schedule_result r;
        int is;

        name_key(&spec, i);
        EXECUTE(is, engine_schedule(e, &spec, &r));
        assert_int_equal(is, 0);
        ids[i] = r.id;
        settle();
    }
    push_out(ids[KEYS - 1]);
    for (int i = 0; i < KEYS; i++) {
        int is;

        EXECUTE(is, engine_cancel(e, ids[i]));
        assert_int_equal(is, CANCEL_CANCELLED);
    }
}

/* Schedules n jobs with keys from this one on. */
static void schedule_batch(int key, size_t n)
{
    struct job_spec specs[2];
    struct schedule_result results[2];
    size_t at;
    int is;

    for (size_t i = 0; i < n; i++) {
        specs[i] = spec_of("q", HOUR);
        name_key(&specs[i], key + (int)i);
    }
    EXECUTE(is, engine_schedule_all(e, specs, n, results, &at));
    assert_false(engine_torn(e));
    assert_int_equal(is, 0);
}

/* All is forgotten twice: once for the sake of the first in a batch of two, once of the second. */
static void a_batch_is_whole_though_what_is_known_of_keys_is_forgotten_meanwhile(void **state)
{
    int key = 0;

    (void)state;
    use_keys_up();
    for (; key < KEYS / 2; key += 2)
        schedule_batch(key, 2);
    schedule_batch(key++, 1);
    for (; key + 2 <= KEYS; key += 2)
        schedule_batch(key, 2);
}

#define NAMED 1000

static struct job_id schedule_named(int i, int64_t in_ms)
{
    struct job_spec spec = spec_of("q", in_ms);
    struct schedule_result r;

    int is;

    name_key(&spec, i);
    spec.retain_ms = 0;
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, 0);
    assert_int_equal(r.outcome, SCHEDULE_CREATED);
    return r.id;
}

static void expect_key_of(int i, struct job_id id)
{
    struct job_spec spec = spec_of("q", HOUR);
    struct schedule_result r;
    int is;

    name_key(&spec, i);
    EXECUTE(is, engine_schedule(e, &spec, &r));
    assert_int_equal(is, 0);
    assert_int_equal(r.outcome, SCHEDULE_KEPT);
    assert_int_equal(r.id.seq, id.seq);
}

/* A batch has two jobs of one key: a job that was cancelled meanwhile, and the job that got its
 * key. */
static void a_key_that_another_job_gets_while_a_batch_is_gathered_is_that_jobs(void **state)
{
    static struct job_id ids[NAMED];

    (void)state;
    partition_close(p);
    slice_jobs = 5;
    open_partition();
    for (int i = 0; i < NAMED; i++)
        ids[i] = schedule_named(i, HOUR + i * 1000);
    for (int i = 0; i < 10; i++)
        partition_work(p, INT64_MAX);
    for (int i = 0; i < NAMED; i++) {
        assert_int_equal(engine_cancel(e, ids[i]), CANCEL_CANCELLED);
        ids[i] = schedule_named(i, HOUR + i * 1000);
    }
    settle();
    assert_true(stats().cold_jobs > 0);
    for (int i = 0; i < NAMED; i++)
        expect_key_of(i, ids[i]);
}

static void a_paused_queue_that_fills_memory_starves_no_other(void **state)
{
    struct queue_settings paused = { .paused = true };

    (void)state;
    assert_int_equal(engine_queue_set(e, STR("stuck"), &paused, 1u << QUEUE_PAUSED), 0);
    for (int i = 0; i < MANY; i++)
        schedule("stuck", 0);
    settle();
    for (int i = 0; i < MANY; i++)
        schedule("free", 0);
    settle();
    assert_int_equal(work("free"), MANY);
    paused.paused = false;
    assert_int_equal(engine_queue_set(e, STR("stuck"), &paused, 1u << QUEUE_PAUSED), 0);
    assert_int_equal(work("stuck"), MANY);
}

/* The oldest of a class are in memory, the others on disk; a restart keeps the order. */
static void the_oldest_come_first_after_a_restart(void **state)
{
    struct queue_settings paused = { .paused = true };
    struct str name = STR("q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = -1 };
    int64_t last = 0;
    struct job *j;
    int n = 0;

    (void)state;
    assert_int_equal(engine_queue_set(e, name, &paused, 1u << QUEUE_PAUSED), 0);
    for (int i = 0; i < MANY; i++) {
        schedule("q", 0);
        if (i % 10 == 0)
            pass(1);
    }
    settle();
    assert_true(stats().cold_jobs > MANY / 2);
    partition_close(p);
    open_partition();
    settle();
    paused.paused = false;
    assert_int_equal(engine_queue_set(e, name, &paused, 1u << QUEUE_PAUSED), 0);
    for (; engine_lease(e, &r, &j) == 1; n++) {
        struct job_view v;

        engine_view(e, j, &v);
        assert_true(v.at_ms >= last);
        last = v.at_ms;
        assert_int_equal(engine_complete(e, v.id, v.token, STR(""), -1), 0);
        settle();
    }
    assert_int_equal(n, MANY);
}

static int name_run(void *arg, struct str name)
{
    snprintf(arg, sizeof(store.log), "%.*s", STR_ARG(name));
    return 0;
}

static void damage_in_a_run_costs_the_jobs_of_a_block_and_no_others(void **state)
{
    char log[sizeof(store.log)] = "";
    int done;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i);
    settle();
    assert_int_equal(store.inner->ops->list(store.inner, STR("p0000/run/"), name_run, log), 0);
    assert_true(log[0] != '\0');
    memcpy(store.log, log, sizeof(log)); /* the youngest */
    store.element = 1;
    pass(HOUR + MANY);
    done = work("q");
    assert_int_equal(chore_error, BELFRY_CORRUPT);
    assert_true(done < MANY);
    assert_true(done > MANY - 50);
}

/* A class of their own: those that maintenance holds, on disk before them, do not keep them there.
 */
static void passing_jobs_come_from_disk_past_those_that_are_held(void **state)
{
    struct tenant_settings s = { .maintenance = true };
    struct job_spec spec;
    struct schedule_result r;
    struct job_view v;
    int left;

    (void)state;
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 1u << TENANT_MAINTENANCE), 0);
    for (int i = 0; i < MANY; i++) {
        schedule("a@q", 0);
        spec = spec_of("a@q", 0);
        spec.passing = true;
        spec.priority = 1 + i % 5;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        settle();
    }
    assert_true(stats().cold_jobs > MANY);
    EXECUTE(left, engine_get(e, r.id, &v));
    assert_true(v.passing);
    engine_verify(e);
    partition_close(p);
    open_partition();
    settle();
    assert_int_equal(work("a@q"), MANY);
    s.maintenance = false;
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 1u << TENANT_MAINTENANCE), 0);
    settle();
    assert_int_equal(work("a@q"), MANY);
}

/* Jobs that quiet hours put off, and that do not fit in memory, go from one part of the disk to
 * another. */
static void a_backlog_is_put_off_by_quiet_hours(void **state)
{
    struct tenant_settings s = { .quiet = "00:00-24:00", .tz = "UTC", .spread_ms = 1000 };
    int n = 0;

    (void)state;
    /* All of this day, which is a Sunday, and no other. */
    snprintf(s.quiet, sizeof(s.quiet), "sun 00:00-24:00");
    wall = INT64_C(1794787200000) - HOUR; /* 2026-11-15T23:00Z */
    engine_advance(e, wall, mono);
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, 0xff & ~1u), 0);
    for (int i = 0; i < MANY; i++) {
        struct job_spec spec = spec_of("a@q", 0);
        struct schedule_result r;

        spec.notify = true;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        settle();
    }
    for (int i = 0; i < MANY && stats().counters.deferred < MANY; i++) {
        assert_int_equal(work("a@q"), 0);
        settle();
    }
    assert_int_equal(stats().counters.deferred, MANY);
    assert_int_equal(stats().jobs[JOB_SCHEDULED], MANY);
    pass(HOUR - 1);
    assert_int_equal(work("a@q"), 0);
    for (int i = 0; i < 5; i++) {
        pass(251);
        n += work("a@q");
    }
    assert_int_equal(n, MANY);
}

static struct job_id schedule_ordered(int64_t in_ms)
{
    struct job_spec spec = spec_of("q", in_ms);
    struct schedule_result r;
    char order[24];

    snprintf(order, sizeof(order), "k%d", (int)in_ms);
    spec.order = str_of(order);
    spec.retain_ms = 0;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

/* Cancels the jobs that are in memory. Returns the index of the first job on disk. */
static int cancel_hot(const struct job_id *ids, int n)
{
    int first = n;

    for (int i = n - 1; i >= 0; i--)
        if (engine_cancel(e, ids[i]) == BELFRY_COLD)
            first = i;
    return first;
}

/* While the tail of a class is being written, all of it is cancelled, and an ordered job comes that
 * is due between the tail and the jobs on disk. It is ready at once, and is still the first when
 * the batch is done. */
static void a_batch_whose_jobs_are_all_cancelled_is_in_no_jobs_way(void **state)
{
    static struct job_id ids[MANY], early[MANY];
    struct chore *c = NULL;
    struct job_view v;
    int n = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        ids[i] = schedule_ordered(-HOUR + 2 * i);
        if (i % 100 == 99)
            settle();
    }
    settle();
    /* Each goes before all others, so that the last job in memory goes to the tail. */
    for (; n < MANY && !(c = partition_chore(p, CHORE_FEED)); n++) {
        early[n] = schedule_ordered(-2 * HOUR + n);
        partition_work(p, INT64_MAX);
    }
    assert_non_null(c);
    assert_int_equal(cancel_hot(early, n), n);
    int first = cancel_hot(ids, MANY);
    assert_true(first > 1 && first < MANY);
    struct job_id late =
        schedule_ordered(-HOUR + 2 * (first - 1) - 1); /* before the last hot one */
    assert_int_equal(partition_flush(p), 0);
    assert_int_equal(partition_chore_done(p, c, chore_run(c)), 0);
    partition_work(p, INT64_MAX);
    engine_verify(e);
    settle();
    assert_int_equal(engine_get(e, late, &v), 0);
    assert_int_equal(v.state, JOB_READY);
    uint64_t hash = engine_hash(e);
    partition_close(p);
    open_partition();
    assert_int_equal(engine_hash(e), hash);
    assert_int_equal(work("q"), MANY - first + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_beyond_the_budget_go_to_disk_and_come_back_in_time),
        TEST(only_what_is_for_later_leaves_the_systems_cache),
        TEST(a_restart_knows_what_is_on_disk),
        TEST(a_crash_before_the_record_of_a_batch_loses_nothing),
        TEST(a_job_on_disk_is_found_moved_and_cancelled),
        TEST(a_key_on_disk_is_kept_replaced_and_rejected),
        TEST(a_batch_may_replace_a_job_to_when_it_has_expired_and_use_its_key_again),
        TEST(a_batch_that_frees_a_key_finds_the_job_that_it_waits_for),
        TEST(a_key_that_another_job_gets_while_a_batch_is_gathered_is_that_jobs),
        TEST(a_batch_is_whole_though_what_is_known_of_keys_is_forgotten_meanwhile),
        TEST(a_paused_queue_that_fills_memory_starves_no_other),
        TEST(the_oldest_come_first_after_a_restart),
        TEST(passing_jobs_come_from_disk_past_those_that_are_held),
        TEST(a_backlog_is_put_off_by_quiet_hours),
        TEST(a_batch_whose_jobs_are_all_cancelled_is_in_no_jobs_way),
        TEST(damage_in_a_run_costs_the_jobs_of_a_block_and_no_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
