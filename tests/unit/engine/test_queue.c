/* SPDX-License-Identifier: MIT */
/* Queues that come and go: their memory, their number, and the sums that stay. */
#include "engine/cold.h"
#include "support/tenants.h"

#define MANY 3000

static struct engine_stats stats(void)
{
    struct engine_stats s;

    engine_stats(e, &s);
    return s;
}

static struct job_id schedule_kept(const char *queue, int64_t retain_ms)
{
    struct job_spec spec = spec_of(queue);
    struct schedule_result r;

    spec.retain_ms = retain_ms;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

static void name_of(char ret[32], const char *tenant, int i)
{
    snprintf(ret, 32, "%s@q%d", tenant, i);
}

/* Schedules and cancels one job in each of n queues. */
static void use_once(const char *tenant, int n, int64_t retain_ms)
{
    char name[32];

    for (int i = 0; i < n; i++) {
        name_of(name, tenant, i);
        assert_int_equal(engine_cancel(e, schedule_kept(name, retain_ms)), CANCEL_CANCELLED);
    }
}

static void queues_without_jobs_are_forgotten_and_stay_in_the_sums(void **state)
{
    struct tenant_stats sums;

    (void)state;
    schedule("a@lasting");
    use_once("a", MANY, 0);
    assert_true(stats().queues <= 1002);
    assert_true(stats().queues_forgotten >= MANY - 1001);
    engine_tenant_stats(e, STR("a"), &sums);
    assert_int_equal(sums.counters.scheduled, MANY + 1);
    assert_int_equal(sums.counters.cancelled, MANY);
    assert_int_equal(sums.jobs[JOB_CANCELLED], 0);
    assert_int_equal(tenant("a").used_queues, 1);
}

static void queues_with_history_are_kept_until_it_is_over(void **state)
{
    struct queue_view v;

    (void)state;
    use_once("a", MANY, DAY);
    assert_int_equal(stats().queues, MANY);
    assert_int_equal(tenant("a").used_queues, MANY);
    pass(DAY + 1);
    assert_int_equal(tenant("a").used_queues, 0);
    schedule("a@other");
    assert_true(stats().queues <= 1001);
    assert_int_equal(engine_queue_get(e, STR("a@q0"), &v), BELFRY_NOTFOUND);
}

static void settings_keep_a_queue_until_they_are_the_defaults(void **state)
{
    struct queue_settings s = queue_defaults;
    struct queue_view v;
    int before = MANY;

    (void)state;
    s.paused = true;
    set_queue("a@set", QUEUE_PAUSED, s);
    use_once("b", MANY, 0);
    assert_int_equal(engine_queue_get(e, STR("a@set"), &v), 0);
    assert_true(v.settings->paused);
    replay();
    assert_int_equal(engine_queue_get(e, STR("a@set"), &v), 0);
    assert_true(v.settings->paused);
    s.paused = false;
    set_queue("a@set", QUEUE_PAUSED, s);
    assert_int_equal(engine_queue_get(e, STR("a@set"), &v), 0);
    assert_false(v.settings->paused);
    assert_int_equal(tenant("a").used_queues, 0);
    use_once("b", before, 0);
    assert_int_equal(engine_queue_get(e, STR("a@set"), &v), BELFRY_NOTFOUND);
}

/* Since when the oldest ready job of a queue waits; -1: none is ready. */
static int64_t oldest(const char *queue)
{
    struct queue_view v;

    assert_int_equal(engine_queue_get(e, str_of(queue), &v), 0);
    return v.oldest_ms;
}

static void the_age_of_the_oldest_ready_job_is_known(void **state)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct queue_view v;
    struct job_view j;
    int64_t first = engine_now(e);

    (void)state;
    schedule("q");
    pass(1000);
    spec.priority = 1; /* goes before the older one */
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    spec.due_ms = engine_now(e) + DAY;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    pass(1000);
    assert_int_equal(oldest("q"), first);
    assert_true(lease("q", &j));
    assert_int_equal(engine_queue_get(e, STR("q"), &v), 0);
    assert_int_equal(v.success_ms, 0);
    assert_int_equal(engine_complete(e, j.id, j.token, (struct str){ 0 }, -1), 0);
    assert_int_equal(engine_queue_get(e, STR("q"), &v), 0);
    assert_int_equal(v.success_ms, engine_now(e));
    assert_int_equal(oldest("q"), first);
    assert_true(lease("q", &j));
    assert_int_equal(oldest("q"), -1); /* the third is not due */
}

static void the_age_of_the_oldest_knows_ordering_keys(void **state)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct job_view j;
    int64_t first = engine_now(e);

    (void)state;
    spec.order = STR("a");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    pass(1000);
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(oldest("q"), first);
    assert_true(lease("q", &j));
    assert_int_equal(oldest("q"), -1); /* the second waits for its lane, not for a worker */
}

/* Nothing of it is copied forward, and nothing is missing when its segment is gone. */
static void settings_that_were_taken_back_stay_taken_back(void **state)
{
    struct queue_settings s = queue_defaults;
    struct queue_view v;

    (void)state;
    s.max_running = 3;
    set_queue("q", QUEUE_MAX_RUNNING, s);
    schedule("q");
    set_queue("q", QUEUE_MAX_RUNNING, queue_defaults);
    replay();
    assert_int_equal(engine_queue_get(e, STR("q"), &v), 0);
    assert_int_equal(v.settings->max_running, 0);
    assert_ptr_equal(v.settings, &queue_defaults);
}

static void a_queue_that_was_used_once_is_small(void **state)
{
    uint64_t before = engine_memory(e);
    struct job_view v;
    char name[32];

    (void)state;
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 0 });
    for (int i = 0; i < 4 * MANY; i++) {
        name_of(name, "a", i);
        schedule_kept(name, 0);
        assert_true(lease(name, &v));
        pass(10);
        if (i % 4) /* others stay leased */
            complete(v.id, v.token);
        else
            schedule_kept(name, 0);
    }
    /* Each queue is in the account, and takes little. */
    uint64_t each = (engine_memory(e) - before) / MANY;
    assert_in_range(each, 500, 3500);
}

static void many_queues_are_in_the_account(void **state)
{
    uint64_t before = engine_memory(e);

    (void)state;
    use_once("a", 9000, DAY);
    /* The job itself is about 500 bytes, and 4 MiB are free. */
    assert_in_range(engine_memory(e) - before + (4 << 20), 9000 * 1000, 9000 * 2500);
}

static void waiting_workers_are_in_the_account(void **state)
{
    struct waiter *w[200];
    uint64_t before;

    (void)state;
    use_once("b", 6000, DAY);
    before = engine_memory(e);
    for (int i = 0; i < 200; i++) {
        struct str queues[LEASE_QUEUES_MAX];
        static char names[LEASE_QUEUES_MAX][32];
        struct lease_request r = { .queues = queues, .queue_count = 40, .count = 1, .for_ms = -1 };

        for (int k = 0; k < 40; k++) {
            snprintf(names[k], 32, "a@w%d-%d", i, k);
            queues[k] = str_of(names[k]);
        }
        assert_int_equal(engine_wait(e, &r, 1000, NULL, &w[i]), 0);
    }
    assert_true(engine_memory(e) - before > 200 * 40 * 500);
    for (int i = 0; i < 200; i++)
        engine_wait_cancel(e, w[i]);
    schedule("c@q");
    assert_true(engine_memory(e) < before + 1200 * 1500);
}

/* ---- MAX_QUEUES ---- */

static void a_tenant_has_as_many_queues_as_it_may(void **state)
{
    struct job_spec spec = spec_of("a@third");
    struct schedule_result r;
    struct job_id first;

    (void)state;
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 2 });
    first = schedule_kept("a@first", 0);
    schedule_kept("a@second", 0);
    schedule_kept("a@second", 0);
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    assert_string_equal(engine_detail(e), "max_queues of a is 2");
    schedule("b@third"); /* others go on */
    schedule("third");
    replay();
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    assert_int_equal(engine_cancel(e, first), CANCEL_CANCELLED);
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    spec.queue = STR("a@first"); /* though it is still known */
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 0 });
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
}

static void settings_make_a_queue_that_counts(void **state)
{
    struct queue_settings s = { .paused = true };

    (void)state;
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 1 });
    set_queue("a@first", QUEUE_PAUSED, s);
    assert_int_equal(engine_queue_set(e, STR("a@second"), &s, 1u << QUEUE_PAUSED), BELFRY_LIMIT);
    set_queue("a@first", QUEUE_PAUSED, (struct queue_settings){ .paused = false });
    set_queue("a@second", QUEUE_PAUSED, s);
}

static void a_batch_counts_each_new_queue_once(void **state)
{
    struct job_spec specs[4] = { spec_of("a@1"), spec_of("a@2"), spec_of("a@1"), spec_of("a@2") };
    struct schedule_result r[4];
    size_t at;

    (void)state;
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 2 });
    assert_int_equal(engine_schedule_all(e, specs, 4, r, &at), 0);
    specs[3].queue = STR("a@3");
    assert_int_equal(engine_schedule_all(e, specs, 4, r, &at), BELFRY_LIMIT);
    assert_int_equal(at, 3);
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 3 });
    specs[0].queue = STR("a@4");
    assert_int_equal(engine_schedule_all(e, specs, 4, r, &at), BELFRY_LIMIT);
    assert_int_equal(at, 3);
    specs[3].queue = STR("a@4");
    assert_int_equal(engine_schedule_all(e, specs, 4, r, &at), 0);
    assert_false(engine_torn(e));
}

/* An item may end the only job of a queue that a later item uses again. The tenant has more queues
 * and jobs than it may, as its limits were lowered. */
static void a_batch_is_whole_though_its_queue_falls_out_of_use(void **state)
{
    struct job_spec specs[2] = { spec_of("a@1"), spec_of("a@1") };
    struct schedule_result r[2];
    struct job_view v;
    size_t at;

    (void)state;
    schedule("a@2");
    schedule("a@3");
    specs[0].key = specs[1].key = STR("k");
    specs[0].expire_ms = 1000;
    specs[0].retain_ms = 0;
    assert_int_equal(engine_schedule(e, &specs[0], &r[0]), 0);
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 1 });
    set_tenant("a", TENANT_MAX_PENDING, (struct tenant_settings){ .max_pending = 1 });
    specs[0].if_exists = IFEXISTS_REPLACE;
    specs[0].due_ms = START - 10000;
    assert_int_equal(engine_schedule_all(e, specs, 2, r, &at), 0);
    assert_false(engine_torn(e));
    assert_int_equal(r[1].outcome, SCHEDULE_CREATED);
    assert_int_equal(engine_get(e, r[1].id, &v), 0);
}

/* Jobs in all queues stop no worker, and workers stop no job. */
static void workers_wait_at_as_many_other_queues(void **state)
{
    struct str name = STR("a@w3");
    struct lease_request r = request_for(&name, 1);
    struct waiter *w1, *w2, *w;

    (void)state;
    set_tenant("a", TENANT_MAX_QUEUES, (struct tenant_settings){ .max_queues = 2 });
    schedule("a@1");
    schedule("a@2");
    w1 = wait_at("a@w1", 1);
    w2 = wait_at("a@w2", 1);
    assert_int_equal(engine_wait(e, &r, 1000, NULL, &w), BELFRY_LIMIT);
    assert_string_equal(engine_detail(e),
                        "max_queues of a is 2, and workers wait at as many that have no jobs");
    name = STR("a@w2");
    assert_int_equal(engine_wait(e, &r, 1000, NULL, &w), 0);
    engine_wait_cancel(e, w);
    engine_wait_cancel(e, w1);
    name = STR("a@w3");
    assert_int_equal(engine_wait(e, &r, 1000, NULL, &w), 0);
    engine_wait_cancel(e, w);
    engine_wait_cancel(e, w2);
}

/* ---- Memory ---- */

/* Parks LEASEs at 64 queues each until one is refused. Returns how many wait. */
static size_t park(const char *tenant, struct waiter **ret, size_t most)
{
    static char names[LEASE_QUEUES_MAX][32];
    struct str queues[LEASE_QUEUES_MAX] = { { 0 } };
    struct lease_request r = request_for(queues, 1);
    int err = 0;
    size_t n = 0;

    r.queue_count = LEASE_QUEUES_MAX;
    while (!err) {
        for (int k = 0; k < LEASE_QUEUES_MAX; k++) {
            name_of(names[k], tenant, (int)(n * LEASE_QUEUES_MAX) % 4096 + k);
            queues[k] = str_of(names[k]);
        }
        err = engine_wait(e, &r, 1000, NULL, &ret[n]);
        n += !err;
        assert_true(n < most);
    }
    assert_int_equal(err, BELFRY_LIMIT);
    return n;
}

/* A tenant that fills the memory of queues and of LEASEs that wait leaves others theirs. */
static void a_tenant_has_a_share_of_the_memory_of_queues(void **state)
{
    static struct waiter *mine[20000], *others[20000];
    struct job_spec spec = spec_of("a@q0");
    struct schedule_result r;

    (void)state;
    teardown(NULL);
    memory_bytes = 64 << 20;
    start(0);
    spec.due_ms = wall + DAY;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    size_t n = park("a", mine, 20000);
    assert_non_null(strstr(engine_detail(e), "queues and waiting requests of a take "));
    assert_true(tenant("a").queue_bytes >= tenant("a").queue_share);
    assert_in_range(engine_memory(e), 16 << 20, 28 << 20);
    assert_int_equal(engine_schedule(e, &spec, &r), 0); /* needs nothing new */
    spec.priority = 5;
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT); /* a class */
    size_t at;
    assert_int_equal(engine_schedule_all(e, &spec, 1, &r, &at), BELFRY_LIMIT);
    spec.queue = STR("a@new");
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    assert_int_equal(engine_schedule_all(e, &spec, 1, &r, &at), BELFRY_LIMIT);
    spec.queue = STR("b@new");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    size_t m = park("b", others, 20000);
    assert_in_range(m, n / 4, n);
    assert_in_range(engine_memory(e), 24 << 20, 48 << 20);
    for (size_t i = 0; i < n; i++)
        engine_wait_cancel(e, mine[i]);
    spec.queue = STR("a@new");
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    for (size_t i = 0; i < m; i++)
        engine_wait_cancel(e, others[i]);
    assert_true(tenant("b").queue_bytes < 10000);
    memory_bytes = UINT64_C(4) << 30;
}

/* ---- Pages ---- */

static int note(void *arg, const struct queue_view *v)
{
    snprintf(arg, 32, "%.*s", STR_ARG(v->name));
    return 0;
}

static void a_page_goes_on_behind_a_name(void **state)
{
    static const char *const names[] = { "a@b", "a@d", "b@c", "c", "x" };
    char last[32] = "", name[32];

    (void)state;
    schedule("x");
    schedule("b@c");
    schedule("a@d");
    schedule("c");
    schedule("a@b");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(engine_queues(e, STR("*"), str_of(last), 1, note, name), 0);
        assert_string_equal(name, names[i]);
        memcpy(last, name, sizeof(last));
    }
    *name = '\0';
    assert_int_equal(engine_queues(e, STR("*"), str_of(last), 1, note, name), 0);
    assert_string_equal(name, "");
    assert_int_equal(engine_queues(e, STR("default"), STR("c"), 1, note, name), 0);
    assert_string_equal(name, "x");
    assert_int_equal(engine_queues(e, STR("a"), STR("a@c"), 9, note, name), 0);
    assert_string_equal(name, "a@d");
}

/* The jobs of a batch, as many as there are of its entries. */
static size_t gather_batch(void)
{
    struct buf out = { 0 };
    size_t n = 0;

    engine_feed_begin(e);
    while (engine_feed_slice(e, &out, 500))
        ;
    for (size_t at = 0; at < out.len; n++) {
        uint16_t key;
        uint32_t body;

        memcpy(&key, out.ptr + at + 9, sizeof(key));
        memcpy(&body, out.ptr + at + 11, sizeof(body));
        at += 15 + key + body;
    }
    buf_fini(&out);
    return n;
}

/* Its record is applied in one go, and says something of each queue. */
static void a_batch_for_the_disk_has_the_jobs_of_some_thousand_queues(void **state)
{
    static const char *const tenants[] = { "b", "c", "d" };
    char name[32];
    size_t n;

    (void)state;
    teardown(NULL);
    memory_bytes = 16 << 20;
    start(0);
    use_once("a", 4500, 3600000);
    n = gather_batch();
    assert_in_range(n, 3000, 4000); /* ended ones */
    engine_feed_abort(e);
    for (int i = 0; i < 4500; i++) {
        struct job_spec spec;
        struct schedule_result r;

        name_of(name, tenants[i % 3], i);
        spec = spec_of(name);
        spec.due_ms = wall + 86400000;
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
    }
    n = gather_batch();
    assert_in_range(n, 7000, 8000); /* and those for later */
    engine_feed_abort(e);
    memory_bytes = UINT64_C(4) << 30;
}

/* A wait at 64 queues is as much work as 64 waits. */
static void waits_at_many_queues_end_a_few_at_a_time(void **state)
{
    char names[LEASE_QUEUES_MAX][8];
    struct str queues[LEASE_QUEUES_MAX];
    struct lease_request r = { .queues = queues, .queue_count = LEASE_QUEUES_MAX, .count = 1 };
    struct waiter *w;
    void *owner;
    int ended = 0, all = 0;

    (void)state;
    for (size_t i = 0; i < LEASE_QUEUES_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "q%zu", i);
        queues[i] = str_of(names[i]);
    }
    for (int i = 0; i < 200; i++)
        assert_int_equal(engine_wait(e, &r, 100, names, &w), 0);
    mono += 100;
    for (int i = 0; i < 4; i++, all += ended) {
        engine_advance(e, wall, mono);
        for (ended = 0; engine_timeout(e, &owner); ended++)
            ;
        assert_true(ended <= 1 + 5000 / LEASE_QUEUES_MAX);
    }
    assert_int_equal(all, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_age_of_the_oldest_ready_job_is_known),
        TEST(the_age_of_the_oldest_knows_ordering_keys),
        TEST(queues_without_jobs_are_forgotten_and_stay_in_the_sums),
        TEST(queues_with_history_are_kept_until_it_is_over),
        TEST(settings_keep_a_queue_until_they_are_the_defaults),
        TEST(settings_that_were_taken_back_stay_taken_back),
        TEST(a_queue_that_was_used_once_is_small),
        TEST(many_queues_are_in_the_account),
        TEST(waiting_workers_are_in_the_account),
        TEST(a_tenant_has_as_many_queues_as_it_may),
        TEST(settings_make_a_queue_that_counts),
        TEST(a_batch_counts_each_new_queue_once),
        TEST(a_batch_is_whole_though_its_queue_falls_out_of_use),
        TEST(workers_wait_at_as_many_other_queues),
        TEST(a_tenant_has_a_share_of_the_memory_of_queues),
        TEST(a_batch_for_the_disk_has_the_jobs_of_some_thousand_queues),
        TEST(waits_at_many_queues_end_a_few_at_a_time),
        TEST(a_page_goes_on_behind_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
