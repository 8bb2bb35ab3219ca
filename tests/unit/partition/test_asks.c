/* SPDX-License-Identifier: MIT */
/* Requests that need several jobs on disk: what they ask for, how often they are executed, and what
 * comes to memory. */
#include "support/spilled.h"

#include <stdlib.h>

#define JOBS  60
#define LARGE (1u << 20)
#define HEAVY 9 /* large ones that are too many to come to memory at once */

static struct job_id ids[JOBS];
static struct job_spec specs[JOBS];
static struct schedule_result results[JOBS];
static char names[JOBS][8];
static int executions; /* of the last request */
static size_t grew;    /* the most jobs that one of its fetches was to bring to memory */

static void add(int i, struct str payload)
{
    struct job_spec spec = spec_of("p", 2 * HOUR);
    int is;

    snprintf(names[i], sizeof(names[i]), "k%d", i);
    spec.key = str_of(names[i]);
    spec.payload = payload;
    EXECUTE(is, engine_schedule(e, &spec, &results[i]));
    assert_int_equal(is, 0);
    ids[i] = results[i].id;
    settle();
}

static void add_on_disk(int n, struct str payload)
{
    struct job_view v;

    for (int i = 0; i < n; i++)
        add(i, payload);
    push_out(ids[n - 1]);
    for (int i = 0; i < n; i++)
        assert_int_equal(engine_get(e, ids[i], &v), BELFRY_COLD);
}

static int execute_all(size_t n, size_t *at)
{
    int is = engine_schedule_all(e, specs, n, results, at);

    grew = 0;
    for (executions = 1; is == BELFRY_COLD; executions++) {
        struct fetch *f = fetch();

        grew = fetch_grows(f) > grew ? fetch_grows(f) : grew;
        is = engine_schedule_all(e, specs, n, results, at);
        partition_fetch_end(p, f);
    }
    assert_false(engine_torn(e));
    return is;
}

static int64_t on_disk(void)
{
    return (int64_t)stats().cold_jobs;
}

/* Specs that meet the keys of those jobs. */
static void name_all(int n, enum if_exists if_exists)
{
    for (int i = 0; i < n; i++) {
        specs[i] = spec_of("p", HOUR);
        specs[i].key = str_of(names[i]);
        specs[i].if_exists = if_exists;
    }
}

static void keys_that_are_kept_are_looked_up_at_once_and_stay_on_disk(void **state)
{
    size_t at;

    (void)state;
    add_on_disk(JOBS, STR("forty bytes or so of payload, as they say"));
    name_all(JOBS, IFEXISTS_KEEP);
    int64_t before = on_disk();
    uint64_t lsn = engine_lsn(e);
    assert_int_equal(execute_all(JOBS, &at), 0);
    assert_int_equal(executions, 2);
    assert_int_equal(grew, 0);
    assert_int_equal(on_disk(), before);
    assert_int_equal(engine_lsn(e), lsn);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(results[i].outcome, SCHEDULE_KEPT);
        assert_int_equal(results[i].id.seq, ids[i].seq);
    }
    specs[JOBS - 1].if_exists = IFEXISTS_REJECT;
    assert_int_equal(execute_all(JOBS, &at), BELFRY_KEYEXISTS);
    assert_int_equal(at, JOBS - 1);
    assert_int_equal(on_disk(), before);
}

static void each_by_itself_asks_once_for_all(void **state)
{
    int is, asked = 0;

    (void)state;
    add_on_disk(JOBS, STR("small"));
    name_all(JOBS, IFEXISTS_KEEP);
    while ((is = engine_schedule_ask(e, specs, JOBS)) == BELFRY_COLD) {
        struct fetch *f = fetch();

        asked++;
        is = engine_schedule_ask(e, specs, JOBS);
        for (int i = 0; !is && i < JOBS; i++) {
            assert_int_equal(engine_schedule_asked(e, &specs[i], &results[i]), 0);
            assert_int_equal(results[i].outcome, SCHEDULE_KEPT);
        }
        partition_fetch_end(p, f);
        if (!is)
            break;
    }
    assert_int_equal(asked, 1);
}

/* Others end until this one is on disk: the last few ended jobs stay in memory as long as no more
 * come. */
static void push_out_ended(struct job_id id)
{
    struct job_view v;

    for (int i = 0; engine_get(e, id, &v) != BELFRY_COLD; i++) {
        assert_true(i < MANY);
        schedule("p", 0);
        assert_int_equal(work("p"), 1);
    }
}

static void ended_parents_are_looked_up_at_once_and_stay_on_disk(void **state)
{
    struct job_view v;
    size_t at;

    (void)state;
    for (int i = 0; i < JOBS; i++)
        ids[i] = schedule("p", 0);
    assert_int_equal(work("p"), JOBS);
    push_out_ended(ids[JOBS - 1]);
    specs[0] = spec_of("c", HOUR);
    specs[0].after = ids;
    specs[0].after_count = JOBS;
    int64_t before = on_disk();
    assert_int_equal(execute_all(1, &at), 0);
    assert_int_equal(executions, 2);
    assert_int_equal(on_disk(), before);
    assert_int_equal(engine_get(e, results[0].id, &v), 0);
    assert_int_equal(v.state, JOB_SCHEDULED);
}

/* First it is found out which of them have not ended, then these come whole. */
static void live_parents_come_to_memory_at_once(void **state)
{
    static char text[2000];
    struct job_view v;
    size_t at;

    (void)state;
    memset(text, 'x', sizeof(text));
    add_on_disk(JOBS / 4, (struct str){ text, sizeof(text) });
    for (int i = 0; i < 2; i++) {
        specs[i] = spec_of("c", HOUR);
        specs[i].after = ids;
        specs[i].after_count = JOBS / 4;
    }
    assert_int_equal(execute_all(2, &at), 0);
    assert_int_equal(executions, 3);
    assert_true(grew >= JOBS / 4);
    for (int i = 0; i < JOBS / 4; i++) {
        assert_int_equal(engine_get(e, ids[i], &v), 0);
        assert_int_equal(v.payload.len, sizeof(text));
    }
    assert_int_equal(engine_get(e, results[1].id, &v), 0);
    assert_int_equal(v.state, JOB_WAITING);
}

static void jobs_that_are_too_large_together_stay_on_disk(void **state)
{
    char *text = calloc(1, LARGE);
    size_t at;

    (void)state;
    assert_non_null(text);
    add_on_disk(HEAVY, (struct str){ text, LARGE });
    name_all(HEAVY, IFEXISTS_KEEP);
    assert_int_equal(execute_all(HEAVY, &at), 0);
    name_all(HEAVY, IFEXISTS_REPLACE);
    int64_t before = on_disk();
    uint64_t lsn = engine_lsn(e);
    assert_int_equal(execute_all(HEAVY, &at), BELFRY_TOOLARGE);
    assert_int_equal(executions, 3);
    assert_int_equal(on_disk(), before);
    assert_int_equal(engine_lsn(e), lsn);
    assert_int_equal(execute_all(HEAVY - 3, &at), 0);
    for (int i = 0; i < HEAVY - 3; i++)
        assert_int_equal(results[i].outcome, SCHEDULE_REPLACED);
    free(text);
}

static void a_request_that_changes_a_job_says_that_it_comes_to_memory(void **state)
{
    struct job_view v;
    struct fetch *f;

    (void)state;
    add_on_disk(1, STR("small"));
    assert_int_equal(engine_get(e, ids[0], &v), BELFRY_COLD);
    f = fetch();
    assert_int_equal(fetch_grows(f), 0);
    partition_fetch_end(p, f);
    assert_int_equal(engine_reschedule(e, ids[0], wall + HOUR), BELFRY_COLD);
    f = fetch();
    assert_int_equal(fetch_grows(f), 1);
    partition_fetch_end(p, f);
    assert_int_equal(engine_cancel(e, ids[0]), BELFRY_COLD);
    f = fetch();
    assert_int_equal(fetch_grows(f), 1);
    partition_fetch_end(p, f);
}

static uint64_t memory(void)
{
    struct partition_stats s;

    partition_stats(p, &s);
    return s.memory_bytes;
}

static void copies_of_jobs_are_in_the_account_until_the_request_ends(void **state)
{
    char *text = calloc(1, LARGE);
    struct job_view v;

    (void)state;
    assert_non_null(text);
    add_on_disk(1, (struct str){ text, LARGE });
    uint64_t before = memory();
    assert_int_equal(engine_get(e, ids[0], &v), BELFRY_COLD);
    struct fetch *f = fetch();
    assert_true(memory() >= before + LARGE);
    assert_int_equal(engine_get(e, ids[0], &v), 0);
    assert_int_equal(v.payload.len, LARGE);
    partition_fetch_end(p, f);
    assert_int_equal(memory(), before);
    free(text);
}

static void heads_of_large_jobs_are_small(void **state)
{
    char *text = calloc(1, LARGE);

    (void)state;
    assert_non_null(text);
    add_on_disk(HEAVY, (struct str){ text, LARGE });
    name_all(HEAVY, IFEXISTS_KEEP);
    uint64_t before = memory();
    assert_int_equal(engine_schedule_ask(e, specs, HEAVY), BELFRY_COLD);
    struct fetch *f = fetch();
    assert_true(memory() < before + HEAVY * 4096);
    assert_int_equal(engine_schedule_ask(e, specs, HEAVY), 0);
    partition_fetch_end(p, f);
    free(text);
}

/* Schedules a job, whose worker adds 8 KiB to its log and gives it back. */
static void add_logged(int i)
{
    struct str name = STR("p");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct job_view v;
    struct job *job;
    char line[1024];

    memset(line, 'x', sizeof(line));
    add(i, STR("small"));
    EXECUTE(executions, engine_reschedule(e, ids[i], wall));
    assert_int_equal(executions, 0);
    assert_int_equal(engine_lease(e, &r, &job), 1);
    engine_view(e, job, &v);
    for (int n = 0; n < 8; n++)
        assert_int_equal(engine_log(e, v.id, v.token, (struct str){ line, sizeof(line) }), 0);
    assert_int_equal(engine_release(e, v.id, v.token, 2 * HOUR), 0);
    settle();
}

static void heads_of_jobs_with_long_logs_are_small(void **state)
{
    (void)state;
    for (int i = 0; i < HEAVY; i++)
        add_logged(i);
    for (int i = 0; i < HEAVY; i++)
        push_out(ids[i]);
    name_all(HEAVY, IFEXISTS_KEEP);
    uint64_t before = memory();
    assert_int_equal(engine_schedule_ask(e, specs, HEAVY), BELFRY_COLD);
    struct fetch *f = fetch();
    assert_true(memory() < before + HEAVY * 4096);
    assert_int_equal(engine_schedule_ask(e, specs, HEAVY), 0);
    partition_fetch_end(p, f);
}

/* Another batch goes to disk while the jobs are looked up. */
static int overtake(struct fetch *f)
{
    int result = fetch_run(f);

    push_out(schedule("o", 2 * HOUR));
    return partition_fetched(p, f, result);
}

static void jobs_that_moved_meanwhile_are_looked_up_again(void **state)
{
    size_t at;

    (void)state;
    add_on_disk(2, STR("small"));
    name_all(2, IFEXISTS_KEEP);
    assert_int_equal(engine_schedule_all(e, specs, 2, results, &at), BELFRY_COLD);
    struct fetch *f = partition_fetch(p);
    assert_int_equal(overtake(f), BELFRY_COLD);
    /* The first comes to memory, and ends there, before the answer comes. */
    assert_int_equal(fetch_run(f), 0);
    EXECUTE(executions, engine_cancel(e, ids[0]));
    assert_int_equal(executions, CANCEL_CANCELLED);
    assert_int_equal(partition_fetched(p, f, 0), 0);
    assert_int_equal(engine_schedule_all(e, specs, 2, results, &at), 0);
    assert_int_equal(results[0].outcome, SCHEDULE_CREATED);
    assert_int_equal(results[1].outcome, SCHEDULE_KEPT);
    partition_fetch_end(p, f);
}

static void a_lookup_of_many_that_is_overtaken_each_time_ends(void **state)
{
    struct fetch *f;
    size_t at;
    int tries = 1, is;

    (void)state;
    add_on_disk(2, STR("small"));
    name_all(2, IFEXISTS_KEEP);
    assert_int_equal(engine_schedule_all(e, specs, 2, results, &at), BELFRY_COLD);
    f = partition_fetch(p);
    while ((is = overtake(f)) == BELFRY_COLD)
        tries++;
    assert_int_equal(is, BELFRY_BUSY);
    assert_in_range(tries, 2, 50);
    partition_fetch_end(p, f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_that_are_kept_are_looked_up_at_once_and_stay_on_disk),
        TEST(each_by_itself_asks_once_for_all),
        TEST(ended_parents_are_looked_up_at_once_and_stay_on_disk),
        TEST(live_parents_come_to_memory_at_once),
        TEST(jobs_that_are_too_large_together_stay_on_disk),
        TEST(a_request_that_changes_a_job_says_that_it_comes_to_memory),
        TEST(copies_of_jobs_are_in_the_account_until_the_request_ends),
        TEST(heads_of_large_jobs_are_small),
        TEST(heads_of_jobs_with_long_logs_are_small),
        TEST(jobs_that_moved_meanwhile_are_looked_up_again),
        TEST(a_lookup_of_many_that_is_overtaken_each_time_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
