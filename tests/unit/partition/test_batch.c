/* SPDX-License-Identifier: MIT */
/* How much one batch takes from memory to disk. */
#include "engine/engine_data.h"
#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "partition/internal.h"

#include "support/spilled.h"

#define SLOW 40 /* rounds that writing a batch takes */

static struct chore *feeding;
static int feed_left;
static uint64_t peak;

/* One turn of a host whose disk is slow, in one millisecond. */
static void turn(void)
{
    struct partition_stats s;

    advance(1);
    partition_work(p, INT64_MAX);
    if (feeding && --feed_left == 0) {
        assert_int_equal(partition_chore_done(p, feeding, chore_run(feeding)), 0);
        feeding = NULL;
    }
    for (int i = 0; i < CHORE_KINDS; i++) {
        struct chore *c = partition_chore(p, (enum chore_kind)i);

        if (c && i == CHORE_FEED) {
            feeding = c;
            feed_left = SLOW;
        } else if (c) {
            assert_int_equal(partition_chore_done(p, c, chore_run(c)), 0);
        }
    }
    assert_int_equal(partition_flush(p), 0);
    partition_stats(p, &s);
    peak = s.memory_bytes > peak ? s.memory_bytes : peak;
}

static void schedule_expiring(int jobs)
{
    for (int i = 0; i < jobs; i++) {
        struct job_spec spec = spec_of("q", HOUR - i); /* all at one moment */
        struct schedule_result r;

        spec.due_ms = START + HOUR;
        spec.expire_ms = 100;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        if (partition_pressed(p))
            settle();
    }
    settle();
}

static void a_backlog_that_expires_on_disk_stays_within_the_budget(void **state)
{
    (void)state;
    schedule_expiring(4 * MANY);
    pass(HOUR - 2000);
    peak = 0;
    for (int i = 0; i < 20000 && stats().jobs[JOB_EXPIRED] < 4 * MANY; i++)
        turn();
    assert_int_equal(stats().jobs[JOB_EXPIRED], 4 * MANY);
    if (peak > MEMORY + MEMORY / 8)
        fail_msg("%.2f of the budget", (double)peak / MEMORY);
    while (feeding)
        turn();
}

static void settle_to_feed(void)
{
    feeding = NULL;
    for (int i = 0; i < 1000 && !feeding; i++) {
        partition_work(p, INT64_MAX);
        feeding = partition_chore(p, CHORE_FEED);
    }
    assert_non_null(feeding);
}

static void end_feed(int result)
{
    partition_chore_done(p, feeding, result);
    feeding = NULL;
    assert_int_equal(partition_flush(p), 0);
    do
        partition_work(p, INT64_MAX);
    while (e->place.batch.fed);
}

static size_t queues_on_disk(enum cold_slot slot)
{
    size_t n = 0;

    list_each_of (const struct queue, q, &e->place.queues, link)
        n += q->cold[slot] > 0;
    return n;
}

/* Fills the tails of so many queues with due jobs. */
static void fill_tails(int queues)
{
    char name[16];

    while (!engine_feed_due(e))
        for (int i = 0; i < queues; i++) {
            struct job_spec spec;
            struct schedule_result r;

            snprintf(name, sizeof(name), "q%d", i);
            spec = spec_of(name, 0);
            assert_int_equal(engine_schedule(e, &spec, &r), 0);
        }
}

static void a_batch_takes_tails_of_some_classes_and_the_next_one_those_of_others(void **state)
{
    const int queues = 40;
    size_t before = 0;

    (void)state;
    partition_close(p);
    slice_jobs = 10; /* stands for thousands */
    open_partition();
    fill_tails(queues);
    settle_to_feed();
    end_feed(chore_run(feeding));
    assert_in_range(queues_on_disk(COLD_BACKLOG + 2), 1, 10);
    for (int i = 0; i < 20 && queues_on_disk(COLD_BACKLOG + 2) < (size_t)queues; i++) {
        assert_in_range(queues_on_disk(COLD_BACKLOG + 2) - before, 0, 10);
        before = queues_on_disk(COLD_BACKLOG + 2);
        fill_tails(queues);
        settle_to_feed();
        end_feed(chore_run(feeding));
    }
    assert_int_equal(queues_on_disk(COLD_BACKLOG + 2), queues);
    settle();
}

/* The jobs of a batch that could not be written go back, each to its place in the order. */
static void jobs_of_a_batch_that_failed_go_out_in_order(void **state)
{
    struct str name = STR("q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = -1 };
    uint64_t last = 0, all = 0;
    struct job *j;
    struct job_view v;

    (void)state;
    for (; !engine_feed_due(e); all++) {
        struct job_spec spec = spec_of("q", 0);
        struct schedule_result result;

        assert_int_equal(engine_schedule(e, &spec, &result), 0);
    }
    settle_to_feed();
    for (int i = 0; i < 20; i++, all++)
        assert_int_equal(engine_schedule(e,
                                         &(struct job_spec){ .queue = name,
                                                             .payload = STR("new"),
                                                             .due_ms = wall,
                                                             .priority = 3,
                                                             .attempts = -1,
                                                             .lease_ms = -1,
                                                             .retain_ms = -1 },
                                         &(struct schedule_result){ 0 }),
                         0);
    end_feed(BELFRY_IO);
    for (; all > 0; all--) {
        while (engine_lease(e, &r, &j) == 0) {
            assert_true(engine_owes(e, &r));
            settle();
        }
        engine_view(e, j, &v);
        assert_true(v.id.seq > last);
        last = v.id.seq;
        assert_int_equal(engine_complete(e, v.id, v.token, STR(""), -1), 0);
    }
}

/* One worker's turn at the queue, and one round of the chores. */
static int work_once(void)
{
    struct str name = STR("q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 64, .for_ms = -1 };
    struct job *jobs[64];
    struct job_view v[64];
    int n = engine_lease(e, &r, jobs);

    for (int i = 0; i < n; i++)
        engine_view(e, jobs[i], &v[i]);
    for (int i = 0; i < n; i++)
        assert_int_equal(engine_complete(e, v[i].id, v[i].token, STR("yes"), -1), 0);
    assert_int_equal(partition_flush(p), 0);
    drive_round(p, keep_error, NULL);
    return n;
}

/* Done jobs fill the memory, and cannot go to disk. */
static void a_backlog_comes_to_workers_though_the_disk_is_full(void **state)
{
    int left = 2 * MANY;

    (void)state;
    for (int i = 0; i < left; i++)
        schedule("q", 0);
    settle();
    atomic_store(&store.base.low, true);
    for (int idle = 0; left > 0; idle++) {
        int n = work_once();

        left -= n;
        idle = n > 0 ? 0 : idle;
        assert_true(idle < 100);
    }
    assert_true(e->place.bytes[WHERE_PAST] > MEMORY / 4);
    atomic_store(&store.base.low, false);
    settle();
}

static void fail_one(void)
{
    struct str name = STR("q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct fail_result failed;
    struct job_view v;
    struct job *j;

    schedule("q", 0);
    assert_int_equal(partition_flush(p), 0);
    assert_int_equal(engine_lease(e, &r, &j), 1);
    engine_view(e, j, &v);
    assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), -1, true, &failed), 0);
}

/* REDRIVE finds the dead jobs that a batch has, the oldest first, and takes no more than it puts
 * back out of the batch. */
static void dead_jobs_of_a_batch_are_put_back_one_by_one(void **state)
{
    uint64_t all = 0, left;

    (void)state;
    for (; !engine_feed_due(e); all++)
        fail_one();
    settle_to_feed();
    const struct queue *q = queue_find(e, STR("q"));
    assert_true(list_length(&q->batch.dead) > 10);
    for (left = list_length(&q->batch.dead); left > 0; left--, all--) {
        uint64_t first = container_of(q->batch.dead.next, struct trail, link)->job->seq;

        assert_int_equal(engine_redrive_queue(e, STR("q"), 1), 1);
        assert_int_equal(list_length(&q->batch.dead), left - 1);
        assert_int_equal(job_find(e, first)->state, JOB_READY);
    }
    for (; all > 0; all--)
        assert_int_equal(engine_redrive_queue(e, STR("q"), 1), 1);
    assert_int_equal(engine_redrive_queue(e, STR("q"), 1), 0);
    end_feed(chore_run(feeding));
}

static void schedule_until_crammed(struct str tenant, const char *queue)
{
    for (int i = 0; !partition_crammed(p, tenant); i++) {
        struct job_spec spec = spec_of(queue, HOUR);
        struct schedule_result r;

        assert_true(i < 10 * MANY);
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
    }
}

/* The tenant that fills memory waits until a batch has made room, and another one does not. */
static void a_tenant_that_fills_memory_leaves_others_some(void **state)
{
    struct partition_stats s;

    (void)state;
    schedule_until_crammed(STR("acme"), "acme@q");
    partition_stats(p, &s);
    assert_in_range(s.memory_bytes, MEMORY, MEMORY + MEMORY / 8 + 1024);
    assert_false(partition_crammed(p, STR("other")));
    schedule_until_crammed(STR("other"), "other@q");
    assert_true(engine_tenant_memory(e, STR("other")) > MEMORY / 64);
    assert_false(partition_crammed(p, STR("third")));
    schedule_until_crammed(STR("third"), "third@q");
    partition_stats(p, &s);
    assert_in_range(s.memory_bytes, MEMORY, MEMORY + MEMORY / 16 * 3);
    settle();
    assert_false(partition_crammed(p, STR("acme")));
    assert_int_equal(engine_tenant_memory(e, STR("nobody")), 0);
}

/* Each of many classes may have a little, though there is no room. All together must not fill the
 * memory: new jobs of all tenants would be refused. */
static void a_few_ready_jobs_in_each_of_many_queues_fill_no_memory(void **state)
{
    struct partition_stats s;
    char name[16];

    (void)state;
    for (int i = 0; i < 100 * 10; i++) {
        snprintf(name, sizeof(name), "acme@q%d", i % 100);
        schedule(name, 0);
        assert_false(partition_overfull(p));
    }
    settle();
    partition_stats(p, &s);
    assert_true(s.memory_bytes < MEMORY);
    assert_int_equal(stats().jobs[JOB_READY], 100 * 10);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "acme@q%d", i);
        assert_int_equal(work(name), 10);
    }
}

/* A merge needs the floors of all classes on disk. There may be tens of thousands, so each turn of
 * the loop notes those of some queues. */
static void a_merge_notes_the_floors_of_some_queues_in_a_turn(void **state)
{
    const int queues = 40;
    const struct merge *m;
    struct chore *c;
    int turns = 0, loaded = 0;
    char name[16];

    (void)state;
    partition_close(p);
    slice_jobs = 10; /* stands for hundreds */
    open_partition();
    m = &p->chores[CHORE_MERGE].merge;
    for (int i = 0; i < 20 && !m->noting; i++) {
        fill_tails(queues);
        settle_to_feed();
        end_feed(chore_run(feeding));
        advance(3000); /* merges wait for the end of a burst */
        assert_null(partition_chore(p, CHORE_MERGE));
    }
    assert_true(m->noting);
    for (; !(c = partition_chore(p, CHORE_MERGE)); turns++) {
        assert_true(turns < queues);
        partition_work(p, INT64_MAX);
    }
    assert_in_range(turns, queues / 10, queues / 10 + 1);
    assert_int_equal(partition_chore_done(p, c, chore_run(c)), 0);
    settle();
    for (int i = 0; i < queues; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        loaded += work(name);
    }
    assert_int_equal(loaded, stats().counters.scheduled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_backlog_that_expires_on_disk_stays_within_the_budget),
        TEST(a_batch_takes_tails_of_some_classes_and_the_next_one_those_of_others),
        TEST(jobs_of_a_batch_that_failed_go_out_in_order),
        TEST(a_backlog_comes_to_workers_though_the_disk_is_full),
        TEST(dead_jobs_of_a_batch_are_put_back_one_by_one),
        TEST(a_tenant_that_fills_memory_leaves_others_some),
        TEST(a_few_ready_jobs_in_each_of_many_queues_fill_no_memory),
        TEST(a_merge_notes_the_floors_of_some_queues_in_a_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
