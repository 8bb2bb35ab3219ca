/* SPDX-License-Identifier: MIT */
/* A host on a loop, without a server. */
#include "host/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/errand.h"
#include "support/fault.h"

#define HOUR      INT64_C(3600000)
#define MEMORY    (64u << 10)
#define MANY      20000
#define BACK      12
#define MANY_BACK 300
#define SENT_MAX  8 /* plain errands that are on their way at a time */

static atomic_bool fenced; /* the next append finds that it may not */
static struct store *memory, *store;
static uv_loop_t loop;
static uv_prepare_t turn;
static uv_timer_t tick;
static struct host host;
static struct partition_report report;
static struct {
    int settled;
    int delivered;
    int gone;
    int leased;
    int fetched;
    int answered;
    int failed;
    int reopened;
    int stalled;
    int clock; /* These four count pieces of work. */
    int gave;
    int own;
    int sent;
} seen;
static uint64_t memory_bytes;
static struct job_id wanted; /* by the request that is executed again */
static unsigned slow_us;     /* for so long it is executed */
static struct waiter *gone;  /* whose worker is gone */
static char other;           /* another owner that wants the same */
static int other_at;         /* so many were executed when it was */

/* ---- What the host tells ---- */

static void deliver(void *user, void *owner, struct job *const *jobs, size_t n)
{
    struct job_view v;

    (void)user;
    assert_ptr_equal(owner, &wanted);
    seen.delivered++;
    if (n > 0) {
        engine_view(host.engine, jobs[0], &v);
        assert_int_equal(v.state, JOB_LEASED);
        wanted = v.id;
    }
}

static void configure(void *user, struct partition_options *o)
{
    (void)user;
    o->segment_bytes = 64 << 10;
    o->durable = true;
    o->memory_bytes = memory_bytes;
    o->block_bytes = 1024;
    o->piece_bytes = 8192;
    o->lookahead_ms = 1000;
}

static bool attends(void *user, void *owner)
{
    (void)user, (void)owner;
    if (!gone)
        return true;
    engine_wait_cancel(host.engine, gone);
    gone = NULL;
    seen.gone++;
    return false;
}

static void lease(void *user)
{
    struct str queue = STR("due");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct job *job;

    (void)user;
    seen.leased += engine_lease(host.engine, &r, &job);
}

static void settled(void *user)
{
    (void)user;
    assert_int_equal(host.durable_lsn, partition_durable_lsn(host.partition));
    seen.settled++;
}

static void fetched(void *user, void *owner, int err, const char *detail)
{
    struct job_view v;

    (void)user, (void)detail;
    assert_true(owner == &wanted || owner == &other);
    assert_int_equal(err, 0);
    assert_int_equal(engine_get(host.engine, wanted, &v), 0);
    assert_int_equal(seen.answered, seen.fetched);
    seen.fetched++;
    if (owner == &other)
        other_at = seen.fetched;
    if (slow_us)
        usleep(slow_us);
}

static void answered(void *user, void *owner)
{
    (void)user, (void)owner;
    seen.answered++;
    assert_int_equal(seen.answered, seen.fetched);
}

static void chore_failed(void *user, const char *name, int err, const char *detail)
{
    (void)user;
    fail_msg("%s: %s: %s", name, error_name(err), detail);
}

static void room_changed(void *user, enum host_room room, bool lacking)
{
    (void)user, (void)room, (void)lacking;
}

static void failed(void *user, const char *what, int err, const char *detail)
{
    (void)user, (void)what, (void)detail;
    assert_int_equal(err, BELFRY_FENCED);
    assert_false(host_is_up(&host));
    assert_int_equal(seen.reopened, seen.failed);
    seen.failed++;
}

static void reopened(void *user, int err, const struct partition_report *r)
{
    (void)user;
    assert_int_equal(err, 0);
    assert_false(r->clean);
    assert_true(host_is_up(&host));
    seen.reopened++;
}

static void stalled(void *user, int64_t ms)
{
    (void)user, (void)ms;
    seen.stalled++;
}

static void worked(void *user, const char *what, int64_t us)
{
    (void)user;
    assert_true(us >= 0);
    seen.clock += strstr(what, "the clock") != NULL;
    seen.gave += strstr(what, "giving out") != NULL;
    seen.own += strstr(what, "own work") != NULL;
    seen.sent += strstr(what, "settled") != NULL;
}

static const struct host_ops ops = { configure, deliver,  attends,      lease,        settled,
                                     fetched,   answered, chore_failed, room_changed, stalled,
                                     failed,    reopened, worked };

/* ---- The loop ---- */

static enum fault_action decide(void *arg, enum fault_point point)
{
    (void)arg;
    return point == FAULT_APPEND_FENCED && atomic_exchange(&fenced, false) ? FAULT_FAIL : FAULT_GO;
}

static void on_turn(uv_prepare_t *handle)
{
    (void)handle;
    host_turn(&host);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

static void start(void)
{
    assert_int_equal(uv_loop_init(&loop), 0);
    uv_prepare_init(&loop, &turn);
    uv_prepare_start(&turn, on_turn);
    uv_timer_init(&loop, &tick);
    uv_timer_start(&tick, on_tick, 10, 10);
    assert_int_equal(host_init(&host, &loop, store, 0, &ops, NULL), 0);
    assert_int_equal(host_open(&host, &report), 0);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void stop(void)
{
    host_stop(&host);
    uv_walk(&loop, close_handle, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    host_fini(&host);
}

static int setup(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    atomic_store(&fenced, false);
    memory_bytes = MEMORY;
    slow_us = 0;
    assert_int_equal(store_open("memory:", NULL, &memory), 0);
    assert_int_equal(fault_new(memory, 1, decide, NULL, &store), 0);
    start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    store_close(store);
    store_close(memory);
    return 0;
}

static struct job_id schedule(const char *queue, int64_t due_ms)
{
    struct job_spec spec = { .queue = str_of(queue),
                             .payload = STR("forty bytes or so of payload, as they say"),
                             .due_ms = due_ms,
                             .priority = 3,
                             .attempts = -1,
                             .lease_ms = -1,
                             .retain_ms = -1 };
    struct schedule_result r;

    host_advance(&host);
    assert_int_equal(engine_schedule(host.engine, &spec, &r), 0);
    return r.id;
}

static void turn_once(void)
{
    uv_run(&loop, UV_RUN_ONCE);
}

static void commit(void)
{
    uint64_t lsn = engine_lsn(host.engine);

    while (host.durable_lsn < lsn)
        turn_once();
}

/* ---- Tests ---- */

static void what_is_scheduled_becomes_durable_and_the_user_is_told(void **state)
{
    (void)state;
    schedule("q", time_wall_ms() + HOUR);
    assert_true(host.durable_lsn < engine_lsn(host.engine));
    assert_int_equal(seen.settled, 0);
    commit();
    assert_true(seen.settled > 0);
    while (!host_is_idle(&host))
        turn_once();
}

static void a_job_is_ready_at_its_time_though_nobody_asks(void **state)
{
    int64_t due = time_wall_ms() + 30;

    (void)state;
    schedule("due", due);
    while (seen.leased == 0)
        turn_once(); /* no request takes the clocks */
    assert_true(time_wall_ms() >= due);
}

static void a_parked_worker_gets_its_job_unless_it_is_gone_or_its_time_is_up(void **state)
{
    struct str queue = STR("q");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct waiter *w;
    struct job_id id;

    (void)state;
    host_advance(&host);
    assert_int_equal(engine_wait(host.engine, &r, HOUR, &other, &gone), 0);
    id = schedule("q", time_wall_ms());
    while (seen.gone == 0)
        turn_once();
    assert_int_equal(engine_wait(host.engine, &r, HOUR, &wanted, &w), 0);
    assert_int_equal(seen.delivered, 0);
    while (seen.delivered == 0)
        turn_once();
    assert_int_equal(wanted.seq, id.seq);
    wanted.seq = 0;
    assert_int_equal(engine_wait(host.engine, &r, 20, &wanted, &w), 0);
    while (seen.delivered == 1)
        turn_once();
    assert_int_equal(wanted.seq, 0);
}

#define HERD 1200
#define FEW  500 /* deliveries of a turn, at most */

static void park_herd(int64_t wait_ms)
{
    struct str queue = STR("q");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct waiter *w;

    stop();
    memory_bytes = 64 * MEMORY; /* as leased jobs have to stay in memory */
    start();
    host_advance(&host);
    for (int i = 0; i < HERD; i++)
        assert_int_equal(engine_wait(host.engine, &r, wait_ms, &wanted, &w), 0);
}

/* Turns until all are answered; none of the turns answers more than a few. */
static void turn_out_herd(void)
{
    while (seen.delivered < HERD) {
        int before = seen.delivered;

        host_turn(&host);
        assert_true(seen.delivered - before <= FEW + 2); /* each of two rounds begins in any case */
    }
    assert_int_equal(seen.delivered, HERD);
}

static void a_herd_of_workers_gets_a_herd_of_jobs_in_several_turns(void **state)
{
    (void)state;
    park_herd(HOUR);
    for (int i = 0; i < HERD; i++)
        schedule("q", time_wall_ms());
    turn_out_herd();
}

static void waits_that_end_together_are_answered_in_several_turns(void **state)
{
    (void)state;
    park_herd(1);
    usleep(5000);
    host_advance(&host); /* as before a request */
    assert_in_range(seen.delivered, 1, FEW);
    host_advance(&host);
    assert_true(seen.delivered <= FEW);
    turn_out_herd();
}

static void a_lease_does_not_end_while_the_loop_stands_still(void **state)
{
    struct str queue = STR("q");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = 100 };
    struct job_id id = schedule("q", time_wall_ms());
    struct extend_spec x = { .for_ms = 1, .progress = -1 };
    struct extend_result extended;
    struct job *job;
    struct job_view v;

    (void)state;
    assert_int_equal(engine_lease(host.engine, &r, &job), 1);
    engine_view(host.engine, job, &v);
    usleep(300000);
    host_advance(&host); /* as before the first request after it */
    assert_true(seen.stalled > 0);
    assert_int_equal(engine_extend(host.engine, id, v.token, &x, &extended), 0);
    do { /* nobody extends it once more */
        turn_once();
        assert_int_equal(engine_get(host.engine, id, &v), 0);
    } while (v.state == JOB_LEASED);
}

static void the_user_is_told_how_long_each_piece_of_work_took(void **state)
{
    (void)state;
    seen.clock = seen.gave = seen.own = seen.sent = 0;
    host_advance(&host);
    assert_int_equal(seen.clock, 1);
    schedule("q", time_wall_ms() + HOUR);
    while (seen.sent == 0)
        turn_once();
    assert_true(seen.gave > 0 && seen.own > 0);
}

/* Schedules others until a job is on disk. */
static struct job_id make_cold(void)
{
    struct job_id id = schedule("q", time_wall_ms() + HOUR);
    struct job_view v;
    int made = 0;

    while (engine_get(host.engine, id, &v) != BELFRY_COLD) {
        if (!partition_pressed(host.partition)) {
            assert_true(made++ < MANY);
            schedule("q", time_wall_ms() + 2 * HOUR);
            host_wake(&host);
        }
        turn_once();
    }
    return id;
}

static void a_request_that_needs_the_disk_is_executed_again(void **state)
{
    (void)state;
    wanted = make_cold();
    assert_non_null(errand_begin(&host, &wanted, NULL));
    assert_false(errands_idle(&host));
    while (seen.answered == 0)
        turn_once();
    assert_true(errands_idle(&host));
    assert_int_equal(seen.fetched, 1);
}

/* However many are back at once, they hold the loop no longer than their part of a turn. */
static void requests_that_come_back_from_the_disk_share_the_turns(void **state)
{
    struct job_view v;
    int turns = 0, before = 0;

    (void)state;
    wanted = make_cold();
    slow_us = 2000;
    for (int i = 0; i < BACK; i++) {
        assert_int_equal(engine_get(host.engine, wanted, &v), BELFRY_COLD);
        assert_non_null(errand_begin(&host, &wanted, NULL));
    }
    usleep(200000);
    for (; !errands_idle(&host); turns++) {
        turn_once();
        assert_true(seen.fetched - before <= 4);
        before = seen.fetched;
    }
    assert_int_equal(seen.answered, BACK);
    assert_true(turns >= BACK / 4);
}

/* An errand of another group does not wait for all those before it. */
static void groups_take_turns(void **state)
{
    static const char evil, good;
    struct job_view v;

    (void)state;
    wanted = make_cold();
    for (int i = 0; i < MANY_BACK; i++) {
        assert_int_equal(engine_get(host.engine, wanted, &v), BELFRY_COLD);
        assert_non_null(errand_begin(&host, &wanted, &evil));
    }
    assert_non_null(errand_begin(&host, &other, &good));
    while (!errands_idle(&host))
        turn_once();
    assert_int_equal(seen.answered, MANY_BACK + 1);
    assert_in_range(other_at, 1, SENT_MAX + 2);
}

/* Some of a group go away while they wait, among them the first. */
static void errands_go_on_without_those_that_were_dropped(void **state)
{
    struct errand *errands[2 * SENT_MAX + 1];
    struct job_view v;
    int n = 0;

    (void)state;
    wanted = make_cold();
    for (; n < 2 * SENT_MAX + 1; n++) {
        assert_int_equal(engine_get(host.engine, wanted, &v), BELFRY_COLD);
        errands[n] = errand_begin(&host, &wanted, NULL);
        assert_non_null(errands[n]);
    }
    errand_drop(errands[SENT_MAX]);     /* waits first */
    errand_drop(errands[SENT_MAX + 3]); /* waits behind it */
    errand_drop(errands[2 * SENT_MAX]); /* is the last */
    errand_drop(errands[0]);            /* is on its way */
    while (!errands_idle(&host))
        turn_once();
    assert_int_equal(seen.answered, n - 4);
}

static void a_request_that_brings_a_job_to_memory_waits_for_room(void **state)
{
    struct job_view v;

    (void)state;
    wanted = make_cold();
    for (int i = 0; !partition_crammed(host.partition, STR("")); i++) {
        assert_true(i < MANY);
        schedule("q", time_wall_ms() + 2 * HOUR);
    }
    assert_int_equal(engine_reschedule(host.engine, wanted, time_wall_ms() + HOUR), BELFRY_COLD);
    assert_non_null(errand_begin(&host, &wanted, NULL));
    assert_int_equal(host.errands[ERRAND_GROWING].taken, 0);
    assert_int_equal(engine_get(host.engine, wanted, &v), BELFRY_COLD);
    assert_non_null(errand_begin(&host, &wanted, NULL)); /* needs no room */
    assert_int_equal(host.errands[ERRAND_PLAIN].taken, 1);
    while (!errands_idle(&host)) {
        turn_once();
        host_wake(&host);
    }
    assert_int_equal(seen.answered, 2);
    assert_false(partition_crammed(host.partition, STR("")));
}

static void an_owner_that_went_away_is_not_called(void **state)
{
    (void)state;
    wanted = make_cold();
    errand_drop(errand_begin(&host, &wanted, NULL));
    while (!errands_idle(&host))
        turn_once();
    assert_int_equal(seen.fetched, 0);
    assert_int_equal(seen.answered, 0);
}

static void after_a_failed_commit_memory_is_what_is_stored(void **state)
{
    struct job_id kept = schedule("q", time_wall_ms() + HOUR), lost;
    struct job_view v;

    (void)state;
    commit();
    atomic_store(&fenced, true);
    lost = schedule("q", time_wall_ms() + HOUR);
    while (seen.reopened == 0)
        turn_once();
    assert_int_equal(seen.failed, 1);
    assert_int_equal(engine_get(host.engine, kept, &v), 0);
    assert_int_equal(engine_get(host.engine, lost, &v), BELFRY_NOTFOUND);
    schedule("q", time_wall_ms() + HOUR);
    commit();
}

static void what_is_gathered_when_it_ends_is_written(void **state)
{
    struct job_id id = schedule("q", time_wall_ms() + HOUR);
    struct job_view v;

    (void)state;
    stop();
    start();
    assert_true(report.clean);
    assert_int_equal(engine_get(host.engine, id, &v), 0);
}

static void nothing_is_begun_while_it_rests(void **state)
{
    (void)state;
    commit();
    host_rest(&host);
    schedule("q", time_wall_ms() + HOUR);
    seen.settled = 0;
    for (int i = 0; i < 10; i++)
        turn_once();
    assert_int_equal(seen.settled, 0);
    assert_false(host_is_idle(&host));
}

static void a_host_that_was_never_started_can_be_ended(void **state)
{
    struct host none = { 0 };

    (void)state;
    host_stop(&none);
    host_fini(&none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_scheduled_becomes_durable_and_the_user_is_told),
        TEST(a_job_is_ready_at_its_time_though_nobody_asks),
        TEST(a_parked_worker_gets_its_job_unless_it_is_gone_or_its_time_is_up),
        TEST(a_herd_of_workers_gets_a_herd_of_jobs_in_several_turns),
        TEST(waits_that_end_together_are_answered_in_several_turns),
        TEST(a_lease_does_not_end_while_the_loop_stands_still),
        TEST(the_user_is_told_how_long_each_piece_of_work_took),
        TEST(a_request_that_needs_the_disk_is_executed_again),
        TEST(requests_that_come_back_from_the_disk_share_the_turns),
        TEST(groups_take_turns),
        TEST(errands_go_on_without_those_that_were_dropped),
        TEST(a_request_that_brings_a_job_to_memory_waits_for_room),
        TEST(an_owner_that_went_away_is_not_called),
        TEST(after_a_failed_commit_memory_is_what_is_stored),
        TEST(what_is_gathered_when_it_ends_is_written),
        TEST(nothing_is_begun_while_it_rests),
        cmocka_unit_test(a_host_that_was_never_started_can_be_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
