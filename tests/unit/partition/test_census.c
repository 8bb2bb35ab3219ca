/* SPDX-License-Identifier: MIT */
/* FORECAST of jobs in memory and on disk, and of recurrences, against a full count. */
#include "engine/census.h"
#include "engine/recurrence.h"

#include "support/spilled.h"

#define STEP   (HOUR / 4)
#define STEPS  40
#define TENTHS 3

static struct forecast_view view;

/* Moments of the jobs that were scheduled, by queue. */
static int64_t due[2][2 * MANY];
static int due_count[2];
static const char *const queues[2] = { "q", "acme@q" };

static int setup_census(void **state)
{
    due_count[0] = due_count[1] = 0;
    return setup(state);
}

static void plant(int n, int64_t first_ms)
{
    for (int i = 0; i < n; i++) {
        int of = i % 3 == 0;

        due[of][due_count[of]] = wall + first_ms + (int64_t)i * 7919 % 997 * (HOUR / 100);
        schedule(queues[of], due[of][due_count[of]] - wall);
        due_count[of]++;
    }
    settle();
}

static struct census_ask ask_of(const char *tenant, int64_t from_ms)
{
    return (struct census_ask){ .tenant = str_of(tenant),
                                .from_ms = from_ms,
                                .to_ms = from_ms + STEPS * STEP - 1000,
                                .step_ms = STEP,
                                .n = STEPS };
}

/* Counts, with everything else going on between two rounds if `moves`. After round `late`, a day
 * passes. */
static int forecast_late(const struct census_ask *ask, bool moves, int late)
{
    struct fetch *f = NULL, *next;
    int err, rounds = 0;

    while ((err = engine_forecast(e, ask, &view)) == BELFRY_COLD) {
        next = partition_fetch(p);
        assert_non_null(next);
        if (f)
            partition_fetch_end(p, f);
        f = next;
        int result = fetch_run(f);
        if (moves) {
            for (int i = 0; i < 20; i++)
                schedule("other", 5 * HOUR + i);
            drive_round(p, keep_error, NULL);
        }
        if (++rounds == late)
            pass(24 * HOUR);
        assert_int_equal(partition_fetched(p, f, result), 0);
        assert_true(rounds < 10000);
    }
    if (f)
        partition_fetch_end(p, f);
    assert_int_equal(err, 0);
    return rounds;
}

static int forecast(const struct census_ask *ask, bool moves)
{
    return forecast_late(ask, moves, 0);
}

static uint64_t planted(const struct census_ask *ask, size_t step, int of)
{
    uint64_t n = 0;

    for (int i = 0; i < due_count[of]; i++)
        n += census_step(ask, due[of][i]) == step;
    return n;
}

static void check_jobs(const struct census_ask *ask, bool first, bool second)
{
    for (size_t i = 0; i < STEPS; i++)
        assert_int_equal(view.jobs[i],
                         (first ? planted(ask, i, 0) : 0) + (second ? planted(ask, i, 1) : 0));
}

static void jobs_on_disk_are_counted_by_tenant_and_queue(void **state)
{
    struct census_ask ask;

    (void)state;
    plant(MANY, HOUR);
    assert_true(stats().cold_jobs > MANY / 2);
    ask = ask_of("*", wall + HOUR);
    forecast(&ask, false);
    check_jobs(&ask, true, true);
    assert_int_equal(view.partial, STEPS);
    ask = ask_of("acme", wall + HOUR);
    forecast(&ask, false);
    check_jobs(&ask, false, true);
    ask = ask_of("default", wall + 3 * HOUR);
    forecast(&ask, false);
    check_jobs(&ask, true, false);
    ask = ask_of("*", wall);
    ask.queue = STR("q");
    forecast(&ask, false);
    check_jobs(&ask, true, true);
    ask.queue = STR("none");
    forecast(&ask, false);
    check_jobs(&ask, false, false);
}

/* Small slices: jobs go to disk and come back while the census is under way. */
static void each_job_is_counted_once_while_jobs_move(void **state)
{
    struct census_ask ask;

    (void)state;
    partition_close(p);
    slice_jobs = 50;
    open_partition();
    plant(MANY, 2 * HOUR);
    advance(2 * HOUR - 500);
    ask = ask_of("*", wall + HOUR);
    ask.queue = STR("q");
    uint64_t fed = stats().cold_jobs;
    assert_true(forecast(&ask, true) > 10);
    check_jobs(&ask, true, true);
    assert_true(stats().cold_jobs != fed);
}

/* All jobs are loaded before most pages are read, and the runs that had them are dropped. */
static void jobs_that_are_loaded_meanwhile_are_counted(void **state)
{
    struct census_ask ask;

    (void)state;
    partition_close(p);
    slice_jobs = 50;
    open_partition();
    plant(MANY, 2 * HOUR);
    ask = ask_of("*", wall + 2 * HOUR);
    int visits = (int)(MANY - stats().cold_jobs) / 25; /* by then, those in memory are counted */
    assert_true(visits < MANY / 50 / 2);
    forecast_late(&ask, false, visits);
    check_jobs(&ask, true, true);
}

static void recur(const char *tenant, int n, enum recur_kind kind, const char *rule)
{
    char name[20], queue[40];
    int is;

    snprintf(name, sizeof(name), "r%d", n);
    snprintf(queue, sizeof(queue), "%s%sr", strcmp(tenant, "default") ? tenant : "",
             strcmp(tenant, "default") ? "@" : "");
    struct recurrence_spec s = { .tenant = str_of(tenant),
                                 .name = str_of(name),
                                 .job = spec_of(queue, 0),
                                 .kind = kind,
                                 .rule = str_of(rule),
                                 .zone = STR("Europe/Berlin"),
                                 .start_ms = wall + 1000 * n };
    s.job.due_ms = -1;
    EXECUTE(is, engine_recur(e, &s));
    assert_int_equal(is, 0);
}

/* The times of EVERY, counted one by one. */
static uint64_t times(const struct census_ask *ask, size_t step, int64_t first_ms, int64_t every_ms)
{
    uint64_t n = 0;

    for (int64_t at = first_ms; at < ask->to_ms; at += every_ms)
        n += census_step(ask, at) == step;
    return n;
}

static void a_hundred_recurrences_are_counted(void **state)
{
    struct census_ask ask;
    char rule[20];

    (void)state;
    for (int i = 1; i <= 90; i++) {
        snprintf(rule, sizeof(rule), "%dm", i);
        recur(i % TENTHS ? "default" : "acme", i, RECUR_EVERY, rule);
    }
    for (int i = 91; i <= 100; i++)
        recur("default", i, RECUR_CRON, "0,30 * * * *");
    plant(MANY, HOUR);
    assert_true(stats().cold_jobs > MANY / 2);
    ask = ask_of("*", (wall / HOUR + 2) * HOUR);
    forecast(&ask, false);
    check_jobs(&ask, true, true);
    for (size_t k = 0; k < STEPS; k++) {
        uint64_t n = k % 2 == 0 ? 10 : 0; /* each cron has a time in every other quarter */

        for (int i = 1; i <= 90; i++)
            n += times(&ask, k, wall + 1000 * i, i * (HOUR / 60));
        assert_int_equal(view.recurring[k], n);
    }
    ask = ask_of("acme", (wall / HOUR + 2) * HOUR);
    forecast(&ask, false);
    for (size_t k = 0; k < STEPS; k++) {
        uint64_t n = 0;

        for (int i = TENTHS; i <= 90; i += TENTHS)
            n += times(&ask, k, wall + 1000 * i, i * (HOUR / 60));
        assert_int_equal(view.recurring[k], n);
    }
    uint64_t before = view.recurring[0];
    int is;
    EXECUTE(is, engine_recurrence_pause(e, STR("acme"), STR("r3"), true));
    assert_int_equal(is, 0);
    forecast(&ask, false);
    assert_int_equal(view.recurring[0], before - STEP / (3 * HOUR / 60));
    ask.queue = STR("q");
    forecast(&ask, false);
    assert_int_equal(view.recurring[0], 0);
}

/* A rule that names seconds has more times than the census goes through. */
static void too_many_times_are_said_to_be_partial(void **state)
{
    struct census_ask ask = ask_of("*", wall);

    (void)state;
    recur("default", 1, RECUR_RRULE,
          "FREQ=SECONDLY;BYSECOND=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15");
    recur("default", 2, RECUR_EVERY, "1s");
    ask.step_ms = 6 * HOUR;
    ask.to_ms = ask.from_ms + STEPS * ask.step_ms;
    forecast(&ask, false);
    assert_true(view.partial > 0 && view.partial < STEPS);
    assert_int_equal(view.recurring[0], 6 * 3600 - 2 + 6 * 60 * 16 - 0);
    assert_int_equal(view.recurring[STEPS - 1], 6 * 3600);
}

static void as_many_as_can_be_made_are_under_way(void **state)
{
    struct census_ask ask = ask_of("*", wall + HOUR);
    struct fetch *f[5];

    (void)state;
    plant(MANY, HOUR);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(engine_forecast(e, &ask, &view), BELFRY_COLD);
        f[i] = partition_fetch(p);
    }
    assert_int_equal(engine_forecast(e, &ask, &view), BELFRY_BUSY);
    ask.tenant = STR("acme");
    assert_int_equal(engine_forecast(e, &ask, &view), BELFRY_COLD);
    f[4] = partition_fetch(p);
    for (int i = 0; i < 5; i++) /* their clients went away */
        partition_fetch_end(p, f[i]);
    forecast(&ask, false);
    check_jobs(&ask, false, true);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_census, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_on_disk_are_counted_by_tenant_and_queue),
        TEST(each_job_is_counted_once_while_jobs_move),
        TEST(jobs_that_are_loaded_meanwhile_are_counted),
        TEST(a_hundred_recurrences_are_counted),
        TEST(too_many_times_are_said_to_be_partial),
        TEST(as_many_as_can_be_made_are_under_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
