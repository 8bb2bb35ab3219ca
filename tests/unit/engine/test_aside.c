/* SPDX-License-Identifier: MIT */
/* Ordering keys that are stuck, with more jobs behind them than memory has room for; and tenants
 * many of whose jobs keep their keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/cold.h"
#include "support/drive.h"
#include "support/verify.h"

#define START  INT64_C(1794778000000)
#define HOUR   INT64_C(3600000)
#define MEMORY (64u << 10)
#define MANY   1500
#define KEYS   20

static struct store *store;
static struct partition *p;
static struct engine *e;
static int64_t wall, mono;

static void open_partition(void)
{
    struct partition_report report;
    struct partition_options o = { .segment_bytes = 64 << 10,
                                   .commit_bytes = 2000,
                                   .durable = true,
                                   .seed = 1,
                                   .memory_bytes = MEMORY,
                                   .block_bytes = 1024,
                                   .piece_bytes = 8192,
                                   .lookahead_ms = 1000 };

    assert_int_equal(partition_open(store, &o, wall, mono, &p, &report), 0);
    e = partition_engine(p);
}

static int setup(void **state)
{
    (void)state;
    wall = START;
    mono = 1000;
    if (store_open("memory:", NULL, &store) < 0)
        return -1;
    open_partition();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engine_verify(e);
    partition_close(p);
    store_close(store);
    return 0;
}

static void expect_well(void *arg, const char *name, int err)
{
    (void)arg, (void)name;
    assert_int_equal(err, 0);
}

static void settle(void)
{
    struct partition_stats s;

    assert_int_equal(drive_settle(p, 10000, expect_well, NULL), 0);
    partition_stats(p, &s);
    assert_true(s.memory_bytes < MEMORY + MEMORY / 2);
}

static void restart(void)
{
    uint64_t hash;

    settle();
    hash = engine_hash(e);
    partition_close(p);
    open_partition();
    assert_int_equal(engine_hash(e), hash);
    engine_verify(e);
    settle();
}

static struct job_id put_at(const char *queue, const char *order, bool notify, int64_t due_ms)
{
    struct job_spec spec = { .queue = str_of(queue),
                             .payload = STR("forty bytes or so of payload, as they say"),
                             .order = str_of(order),
                             .notify = notify,
                             .due_ms = due_ms,
                             .priority = 3,
                             .attempts = -1,
                             .lease_ms = -1,
                             .retain_ms = 0 };
    struct schedule_result r;

    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    if (partition_pressed(p))
        settle();
    return r.id;
}

static struct job_id put(const char *queue, const char *order, bool notify)
{
    return put_at(queue, order, notify, -1);
}

static bool take(const char *queue, struct job_view *ret)
{
    struct str name = str_of(queue);
    struct lease_request r = {
        .queues = &name, .queue_count = 1, .count = 1, .for_ms = 100 * HOUR
    };
    struct job *j;

    if (engine_lease(e, &r, &j) == 0)
        return false;
    engine_view(e, j, ret);
    return true;
}

static int key_of(struct str order)
{
    char text[16] = "";
    int key = -1;

    memcpy(text, order.ptr, order.len < sizeof(text) ? order.len : 0);
    return sscanf(text, "k%d", &key) == 1 && key <= KEYS ? key : -1;
}

/* Works until there is nothing to do; each key's jobs come in order. */
static int work(const char *queue, int restarts)
{
    uint64_t last[KEYS + 1] = { 0 };
    struct job_view v;
    int done = 0, idle = 0;

    for (; idle < 2; settle()) {
        if (!take(queue, &v)) {
            idle++;
            continue;
        }
        int key = key_of(v.order);

        idle = 0;
        assert_true(key < 0 || v.id.seq > last[key]);
        if (key >= 0)
            last[key] = v.id.seq;
        assert_int_equal(engine_complete(e, v.id, v.token, STR(""), -1), 0);
        if (++done % 400 == 0 && restarts-- > 0)
            restart();
    }
    return done;
}

static void put_keys(int n)
{
    for (int i = 0; i < n; i++) {
        char order[16];

        snprintf(order, sizeof(order), "k%d", 1 + i % KEYS);
        put("q", order, false);
        if (i % 100 == 0)
            settle();
    }
    settle();
}

static uint64_t cold_jobs(void)
{
    struct engine_stats s;

    engine_stats(e, &s);
    return s.cold_jobs;
}

static void what_is_behind_a_stuck_key_is_in_nobodys_way(void **state)
{
    struct job_view stuck;

    (void)state;
    put("q", "k0", false);
    assert_true(take("q", &stuck));
    for (int i = 0; i < MANY; i++)
        put("q", "k0", false);
    settle();
    assert_true(cold_jobs() > MANY / 2);
    put_keys(300);
    assert_int_equal(work("q", 0), 300);
    restart();
    put_keys(300);
    assert_int_equal(work("q", 1), 300);
    assert_int_equal(engine_complete(e, stuck.id, stuck.token, STR(""), -1), 0);
    put_keys(100);
    assert_int_equal(work("q", 3), MANY + 100);
    assert_int_equal(cold_jobs(), 0);
}

/* So that a backlog is read class by class, not lane by lane. */
static void nothing_is_set_aside_while_keys_move(void **state)
{
    const struct list *node;

    (void)state;
    put_keys(MANY);
    assert_true(cold_jobs() > MANY / 2);
    list_each (node, engine_runs(e))
        assert_int_not_equal(container_of(node, struct cold_run, link)->d.family, FAMILY_ASIDE);
    assert_int_equal(work("q", 1), MANY);
}

/* settle() sees to it that memory is bounded. */
static void what_is_not_due_yet_stays_on_disk(void **state)
{
    char order[16];

    (void)state;
    for (int i = 0; i < 2 * MANY; i++) {
        snprintf(order, sizeof(order), "k%d", 1 + i % KEYS);
        put_at("q", order, false, START + 3000 + i / 8);
        if (i % 100 == 0)
            settle();
    }
    for (int step = 0; step < 14; step++) {
        wall += 250;
        mono += 250;
        engine_advance(e, wall, mono);
        settle();
    }
    assert_true(cold_jobs() > MANY);
    assert_int_equal(work("q", 1), 2 * MANY);
}

static void one_that_waits_for_its_next_attempt_is_no_different(void **state)
{
    struct job_view stuck;
    struct fail_result r;

    (void)state;
    put("q", "k0", false);
    assert_true(take("q", &stuck));
    for (int i = 0; i < MANY; i++) {
        put("q", "k0", false);
        if (i % 5 == 0)
            put_keys(1);
    }
    assert_int_equal(engine_fail(e, stuck.id, stuck.token, STR("no"), 24 * HOUR, false, &r), 0);
    restart();
    assert_int_equal(work("q", 1), MANY / 5);
    wall += 24 * HOUR;
    mono += 24 * HOUR;
    engine_advance(e, wall, mono);
    assert_int_equal(work("q", 1), MANY + 1);
}

/* Jobs of several stuck keys at once, freed one after another. */
static void many_keys_may_be_stuck(void **state)
{
    struct job_view stuck[KEYS / 2], v;
    char order[16];

    (void)state;
    put_keys(KEYS);
    for (int i = 0; i < KEYS / 2; i++)
        assert_true(take("q", &stuck[i]));
    put_keys(50 * KEYS); /* half of them behind those */
    assert_int_equal(work("q", 0), 51 * KEYS / 2);
    restart();
    for (int i = 0; i < KEYS / 2; i++) {
        assert_false(take("q", &v));
        assert_int_equal(engine_complete(e, stuck[i].id, stuck[i].token, STR(""), -1), 0);
        assert_int_equal(work("q", 0), 50);
        snprintf(order, sizeof(order), "k%d", KEYS);
        put("q", order, false);
        assert_int_equal(work("q", 0), 1);
    }
    assert_int_equal(cold_jobs(), 0);
}

static int cancel(struct job_id id)
{
    int err = engine_cancel(e, id);
    struct fetch *f = NULL;

    while (err == BELFRY_COLD) {
        assert_int_equal(drive_fetch(p, &f), 0);
        err = engine_cancel(e, id);
    }
    drive_fetch_end(p, &f);
    return err;
}

static void those_that_are_aside_can_be_cancelled_and_overtaken_by_earlier_ones(void **state)
{
    static struct job_id ids[MANY];
    struct job_spec spec = { .queue = STR("q"),
                             .payload = STR("early"),
                             .order = STR("k0"),
                             .due_ms = START - HOUR,
                             .priority = 3,
                             .attempts = -1,
                             .lease_ms = -1,
                             .retain_ms = 0 };
    struct schedule_result early;
    struct job_view stuck, v;

    (void)state;
    put("q", "k0", false);
    assert_true(take("q", &stuck));
    for (int i = 0; i < MANY; i++)
        ids[i] = put("q", "k0", false);
    settle();
    for (int i = 0; i < MANY; i += 2)
        assert_int_equal(cancel(ids[i]), CANCEL_CANCELLED);
    restart();
    assert_int_equal(engine_schedule(e, &spec, &early), 0);
    settle();
    assert_int_equal(engine_complete(e, stuck.id, stuck.token, STR(""), -1), 0);
    settle();
    assert_true(take("q", &v));
    assert_int_equal(v.id.seq, early.id.seq);
    assert_int_equal(engine_complete(e, v.id, v.token, STR(""), -1), 0);
    assert_int_equal(work("q", 1), MANY / 2);
}

static void a_clock_set_back_lets_none_of_them_run_early(void **state)
{
    struct job_view stuck, v;

    (void)state;
    put("q", "k0", false);
    assert_true(take("q", &stuck));
    for (int i = 0; i < MANY; i++)
        put("q", "k0", false);
    settle();
    wall -= HOUR;
    engine_advance(e, wall, mono);
    assert_int_equal(engine_complete(e, stuck.id, stuck.token, STR(""), -1), 0);
    settle();
    assert_false(take("q", &v));
    engine_verify(e);
    wall += HOUR;
    mono += HOUR;
    engine_advance(e, wall, mono);
    assert_int_equal(work("q", 0), MANY);
}

/* What one tenant's quiet hours put off keeps its keys, and holds up nobody else. */
static void a_tenant_whose_jobs_keep_their_keys_holds_up_no_other(void **state)
{
    struct tenant_settings quiet = { .quiet = "21:00-05:30", .tz = "UTC" };
    struct job_view v;
    struct fail_result r;
    char order[16];
    int given = 0;

    (void)state;
    assert_int_equal(engine_tenant_set(e, STR("a"), &quiet, 1u << TENANT_QUIET | 1u << TENANT_TZ),
                     0);
    for (int i = 0; i < 400; i++) {
        snprintf(order, sizeof(order), "n%d", i);
        put("a@q", order, true);
        assert_false(take("a@q", &v));
        settle();
    }
    put("a@q", "x", false);
    settle();
    assert_false(take("a@q", &v)); /* it has all that it may have */
    for (int i = 0; i < 3; i++) {
        snprintf(order, sizeof(order), "n%d", i);
        put("b@q", order, false);
        settle();
        if (!take("b@q", &v))
            continue;
        given++;
        assert_int_equal(engine_fail(e, v.id, v.token, STR("no"), HOUR, false, &r), 0);
    }
    assert_int_equal(given, 3);
    put("c@q", "n", false);
    assert_int_equal(work("c@q", 0), 1);
    wall += 9 * HOUR;
    mono += 9 * HOUR;
    engine_advance(e, wall, mono);
    assert_int_equal(work("a@q", 0), 401);
    assert_int_equal(work("b@q", 0), 3);
}

/* ---- Walks ---- */

#define WALKED 36  /* keys: as many leased jobs as one tenant may have */
#define BEHIND 25  /* jobs of each */
#define CALM   200 /* jobs that nobody asks for */

static struct job_view held[WALKED];
static unsigned char met[4 * WALKED * (BEHIND + 2)]; /* how often */

static void hold_key(int i, int64_t due_ms)
{
    char order[16];

    snprintf(order, sizeof(order), "w%d", i);
    put_at("q", order, false, due_ms);
}

/* All keys are stuck, by one that is before all others. */
static void hold_keys(int64_t due_ms)
{
    for (int i = 0; i < WALKED; i++)
        hold_key(i, due_ms);
    settle();
    for (int i = 0; i < WALKED; i++)
        assert_true(take("q", &held[i]));
    settle();
}

static void free_keys(void)
{
    for (int i = 0; i < WALKED; i++)
        assert_int_equal(engine_complete(e, held[i].id, held[i].token, STR(""), -1), 0);
    settle();
}

static int meet(void *arg, const struct job_view *v)
{
    (void)arg;
    assert_true(v->id.seq < sizeof(met));
    met[v->id.seq]++;
    return 0;
}

static void list_page(struct list_cursor *c)
{
    struct list_filter f = { .state = -1, .to_ms = INT64_MAX, .limit = 50 };
    struct fetch *fetch = NULL;
    int err = engine_list(e, &f, meet, NULL, c);

    if (err == BELFRY_COLD) {
        assert_int_equal(drive_fetch(p, &fetch), 0);
        err = engine_list(e, &f, meet, NULL, c);
        drive_fetch_end(p, &fetch);
    }
    assert_int_equal(err, 0);
}

/* They come to memory before a walk is where they were, and are there again when it has passed. */
static void a_list_meets_what_is_set_aside_again_behind_it(void **state)
{
    static struct job_id ids[WALKED * BEHIND];
    struct list_cursor c = { 0 };
    struct job_id calm[CALM];
    bool freed = false, stuck = false, again = false;
    int pages = 0;

    (void)state;
    memset(met, 0, sizeof(met));
    hold_keys(START - HOUR);
    for (int i = 0; i < CALM; i++)
        calm[i] = put("calm", "", false);
    for (int i = 0; i < WALKED * BEHIND; i++) {
        char order[16];

        snprintf(order, sizeof(order), "w%d", i % WALKED);
        ids[i] = put("q", order, false);
    }
    settle();
    assert_true(cold_jobs() > WALKED * BEHIND / 2);
    do {
        list_page(&c);
        assert_true(pages++ < 1000);
        if (!freed && c.phase == LIST_DISK && c.key_len > 0 && c.key[0] == FAMILY_ASIDE) {
            free_keys();
            freed = true;
        }
        if (freed && !stuck && c.phase == LIST_LOADED && c.key_len == 0) {
            hold_keys(START - 2 * HOUR);
            stuck = true;
        }
        again = again || c.walk >> 12; /* a round of its own */
    } while (c.more);
    assert_true(stuck && again);
    for (int i = 0; i < CALM; i++)
        assert_int_equal(met[calm[i].seq], 1);
    for (int i = 0; i < WALKED * BEHIND; i++)
        assert_true(met[ids[i].seq]);
}

/* Takes and ends some, so that others come to memory. */
static void end_some(bool *ended)
{
    struct job_view v;

    for (int i = 0; i < 300; i++) {
        assert_true(take("q", &v));
        ended[v.id.seq] = true;
        assert_int_equal(engine_complete(e, v.id, v.token, STR(""), -1), 0);
        settle();
    }
}

static void a_list_goes_on_after_a_restart(void **state)
{
    static bool ended[sizeof(met)];
    static struct job_id ids[2 * MANY];
    struct list_cursor c = { 0 };

    (void)state;
    memset(met, 0, sizeof(met));
    memset(ended, 0, sizeof(ended));
    for (int i = 0; i < 2 * MANY; i++)
        ids[i] = put("q", "", false);
    settle();
    list_page(&c);
    end_some(ended);
    c = (struct list_cursor){ 0 }; /* not the engine's first walk */
    memset(met, 0, sizeof(met));
    do
        list_page(&c);
    while (c.phase == LIST_MEMORY);
    end_some(ended);
    restart();
    for (int pages = 0; c.more; pages++) {
        assert_true(pages < 1000);
        list_page(&c);
    }
    for (int i = 0; i < 2 * MANY; i++)
        assert_true(met[ids[i].seq] || ended[ids[i].seq]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_behind_a_stuck_key_is_in_nobodys_way),
        TEST(nothing_is_set_aside_while_keys_move),
        TEST(what_is_not_due_yet_stays_on_disk),
        TEST(one_that_waits_for_its_next_attempt_is_no_different),
        TEST(many_keys_may_be_stuck),
        TEST(those_that_are_aside_can_be_cancelled_and_overtaken_by_earlier_ones),
        TEST(a_clock_set_back_lets_none_of_them_run_early),
        TEST(a_tenant_whose_jobs_keep_their_keys_holds_up_no_other),
        TEST(a_list_meets_what_is_set_aside_again_behind_it),
        TEST(a_list_goes_on_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
