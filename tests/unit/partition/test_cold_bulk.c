/* SPDX-License-Identifier: MIT */
/* Bulks and keys on disk, while jobs come and go and the clock does. */
#include "support/bulks.h"
#include "support/spilled.h"

/* Only this, of all that goes on: what is near comes to memory. */
static void load_for(int64_t ms)
{
    struct chore *c;

    advance(ms);
    while ((c = partition_chore(p, CHORE_LOAD)))
        assert_int_equal(partition_chore_done(p, c, chore_run(c)), 0);
    assert_int_equal(partition_flush(p), 0);
}

/* One step of the engine's own work. */
static struct bulk_view step(struct job_id bulk)
{
    struct bulk_view v;
    int is;

    EXECUTE(is, engine_task(e));
    assert_true(is > 0);
    assert_int_equal(engine_bulk_get(e, STR("default"), bulk, &v), 0);
    return v;
}

static void a_dry_run_counts_each_job_once_while_some_are_loaded(void **state)
{
    struct bulk_spec s = bulk_of(BULK_CANCEL, "q");
    struct bulk_view v;
    struct job_id id;
    int steps = 0;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i * 1000);
    pass(HOUR - 2000);
    uint64_t cold = stats().cold_jobs;
    s.dry = true;
    assert_int_equal(engine_bulk(e, &s, &id), 0);
    do {
        load_for(3000); /* before the walk is on disk, and behind and before where it is there */
        v = step(id);
        assert_true(steps++ < MANY);
    } while (v.b.state == BULK_RUNNING);
    assert_true(cold > MANY / 2 && stats().cold_jobs < cold - 20);
    assert_int_equal(v.b.matched, MANY);
}

/* Nobody has noted it there: that comes first, and it may be gone by that. */
static void what_expired_on_disk_is_deleted_in_bulk(void **state)
{
    struct job_spec spec = spec_of("x", HOUR), after = spec_of("y", 0);
    struct bulk_spec s = bulk_of(BULK_DELETE, "x");
    struct schedule_result kept, gone, child;
    struct bulk_view v;
    struct job_view j;
    struct job_id id;
    int is;

    (void)state;
    spec.expire_ms = 1000;
    assert_int_equal(engine_schedule(e, &spec, &kept), 0);
    spec.retain_ms = 0;
    assert_int_equal(engine_schedule(e, &spec, &gone), 0);
    after.after = &kept.id;
    after.after_count = 1;
    assert_int_equal(engine_schedule(e, &after, &child), 0);
    push_out(kept.id);
    push_out(gone.id);
    advance(HOUR + 1000);
    assert_int_equal(engine_get(e, gone.id, &j), BELFRY_COLD);
    assert_int_equal(engine_bulk(e, &s, &id), 0);
    for (int i = 0; (v = step(id)).b.state == BULK_RUNNING; i++)
        assert_true(i < MANY);
    assert_int_equal(v.b.changed, 2);
    assert_int_equal(v.b.skipped, 0);
    EXECUTE(is, engine_get(e, kept.id, &j));
    assert_int_equal(is, BELFRY_NOTFOUND);
    EXECUTE(is, engine_get(e, child.id, &j)); /* was told before */
    assert_int_equal(is, 0);
    assert_int_equal(j.state, JOB_CANCELLED);
}

static bool is_on_disk(struct job_id id)
{
    struct job_view v;

    return engine_get(e, id, &v) == BELFRY_COLD;
}

/* A request that waits for several ended jobs on disk learns of one after the other. */
static void a_parent_that_is_deleted_meanwhile_is_not_found(void **state)
{
    struct bulk_spec s = bulk_of(BULK_DELETE, "parent");
    struct job_spec spec = spec_of("y", HOUR);
    struct schedule_result child;
    struct job_id parents[2], id;
    struct fetch *f;
    int is;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        id = schedule(i == 0 ? "parent" : "x", 2 * HOUR);
        if (i < 2)
            parents[i] = id;
        assert_true(engine_cancel(e, id) >= 0);
        settle();
    }
    assert_true(is_on_disk(parents[0]) && is_on_disk(parents[1]));
    spec.after = parents;
    spec.after_count = 2;
    assert_int_equal(engine_schedule(e, &spec, &child), BELFRY_COLD);
    f = partition_fetch(p);
    assert_non_null(f);
    is = fetch_run(f);
    assert_int_equal(is, 0);
    assert_int_equal(engine_bulk(e, &s, &id), 0);
    for (int i = 0; step(id).b.state == BULK_RUNNING; i++)
        assert_true(i < MANY);
    assert_int_equal(partition_fetched(p, f, is), 0);
    assert_int_equal(engine_schedule(e, &spec, &child), BELFRY_NOTFOUND);
    partition_fetch_end(p, f);
}

static int schedule_key(int64_t in_ms, int n, struct schedule_result *ret)
{
    struct job_spec spec = spec_of("k", in_ms);
    char key[20];
    int is;

    snprintf(key, sizeof(key), "key %d", n);
    spec.key = str_of(key);
    EXECUTE(is, engine_schedule(e, &spec, ret));
    return is;
}

/* Jobs of queue k that are done, most of them on disk; their keys are held for an hour. */
static struct job_id done_with_keys(void)
{
    struct queue_settings s = { .key_hold_ms = HOUR };
    struct schedule_result first = { 0 }, r;
    struct job_view v;

    assert_int_equal(engine_queue_set(e, STR("k"), &s, 1u << QUEUE_KEY_HOLD), 0);
    for (int n = 0; n < MANY; n++) {
        assert_int_equal(schedule_key(0, n, &r), 0);
        first = n == 0 ? r : first;
        if (n % 100 == 99)
            work("k");
    }
    assert_int_equal(engine_get(e, first.id, &v), BELFRY_COLD);
    return first.id;
}

/* Keys of jobs that are done are free when their hold is over, by the clock as it is. */
static void a_key_on_disk_may_be_held_again_when_the_clock_is_set_back(void **state)
{
    struct job_id first = done_with_keys(), id;
    int is;

    (void)state;
    advance(HOUR);
    EXECUTE(is, engine_find_key(e, STR("k"), STR(""), STR("key 0"), &id));
    assert_int_equal(is, BELFRY_NOTFOUND);
    wall -= HOUR / 2;
    engine_advance(e, wall, mono);
    EXECUTE(is, engine_find_key(e, STR("k"), STR(""), STR("key 0"), &id));
    assert_int_equal(is, 0);
    assert_int_equal(id.seq, first.seq);
}

/* They come to memory for that, one by one, and must not be in the way of who has their key now. */
static void what_is_done_can_be_deleted_when_others_have_its_keys(void **state)
{
    struct bulk_spec s = bulk_of(BULK_DELETE, "k");
    struct job_id first = done_with_keys(), id;
    struct schedule_result r = { 0 };
    struct bulk_view v;
    int is;

    (void)state;
    advance(HOUR);
    for (int n = 0; n < 20; n++)
        assert_int_equal(schedule_key(1000, n, &r), 0);
    assert_int_equal(engine_bulk(e, &s, &id), 0);
    for (int i = 0; (v = step(id)).b.state == BULK_RUNNING; i++)
        assert_true(i < 10 * MANY);
    assert_int_equal(v.b.changed, MANY);
    EXECUTE(is, engine_find_key(e, STR("k"), STR(""), STR("key 19"), &id));
    assert_int_equal(is, 0);
    assert_int_equal(id.seq, r.id.seq);
    EXECUTE(is, engine_find_key(e, STR("k"), STR(""), STR("key 0"), &id));
    assert_int_equal(is, 0);
    assert_true(id.seq != first.seq);
    engine_verify(e);
}

/* The clock was set back before the second job was done, so the holds of both jobs end together.
 * The job in memory keeps the key. */
static void of_two_holds_that_end_together_the_later_job_s_counts(void **state)
{
    struct job_id first = done_with_keys(), id;
    struct queue_settings s = { 0 };
    struct schedule_result second;
    struct job_view v;
    int64_t until;
    int is;

    (void)state;
    EXECUTE(is, engine_get(e, first, &v));
    assert_int_equal(is, 0);
    until = v.ended_ms + HOUR;
    advance(HOUR);
    assert_int_equal(schedule_key(0, 0, &second), 0);
    assert_true(second.id.seq != first.seq);
    wall -= HOUR / 2;
    engine_advance(e, wall, mono);
    s.key_hold_ms = until - wall;
    assert_int_equal(engine_queue_set(e, STR("k"), &s, 1u << QUEUE_KEY_HOLD), 0);
    advance(0);
    work("k");
    EXECUTE(is, engine_get(e, second.id, &v));
    assert_int_equal(v.state, JOB_DONE);
    assert_int_equal(v.ended_ms + s.key_hold_ms, until);
    EXECUTE(is, engine_delete(e, first)); /* it comes to memory for that */
    assert_int_equal(is, 0);
    EXECUTE(is, engine_find_key(e, STR("k"), STR(""), STR("key 0"), &id));
    assert_int_equal(is, 0);
    assert_int_equal(id.seq, second.id.seq);
    engine_verify(e);
}

static int count_job(void *arg, const struct job_view *v)
{
    (void)v;
    ++*(int *)arg;
    return 0;
}

static int count_listed(const struct list_filter *f)
{
    struct list_cursor c = { 0 };
    int n = 0, is;

    do {
        EXECUTE(is, engine_list(e, f, count_job, &n, &c));
        assert_int_equal(is, 0);
    } while (c.more);
    return n;
}

/* FROM is meant, TO is not: of jobs in memory, and on disk. */
static void to_is_the_first_moment_that_is_not_meant(void **state)
{
    struct bulk_spec s = bulk_of(BULK_CANCEL, "q");
    struct list_filter f = { .queue = STR("q"), .state = -1, .limit = 10 };
    int64_t start = wall;
    struct bulk_view v;
    struct job_id id;

    (void)state;
    for (int i = 0; i < MANY; i++)
        schedule("q", HOUR + i * 1000);
    assert_true(stats().cold_jobs > MANY / 2);
    for (int i = 0; i < 2; i++) { /* the first five are in memory then, and the others on disk */
        int from = i == 0 ? 0 : MANY / 2;

        s.dry = true;
        s.from_ms = f.from_ms = start + HOUR + from * 1000;
        s.to_ms = f.to_ms = start + HOUR + (from + 5) * 1000;
        if (i == 0)
            load_for(HOUR);
        assert_int_equal(count_listed(&f), 5);
        assert_int_equal(engine_bulk(e, &s, &id), 0);
        do
            v = step(id);
        while (v.b.state == BULK_RUNNING);
        assert_int_equal(v.b.matched, 5);
    }
}

struct met {
    uint64_t seqs[MANY];
    bool hot[MANY];
    int times[MANY];
};

static int meet(void *arg, const struct job_view *v)
{
    struct met *m = arg;

    for (int i = 0; i < MANY; i++)
        m->times[i] += m->seqs[i] == v->id.seq;
    return 0;
}

static bool is_hot(struct job_id id)
{
    struct job_view v;

    return engine_get(e, id, &v) == 0;
}

static void list_meets_a_job_that_stays_once_and_leaves_none_out(void **state)
{
    struct list_filter f = { .queue = STR("q"), .state = -1, .to_ms = INT64_MAX, .limit = 7 };
    static struct job_id ids[MANY];
    static struct met m;
    struct list_cursor c = { 0 };
    int is, moved = 0, again = 0;

    (void)state;
    m = (struct met){ 0 };
    for (int i = 0; i < MANY; i++) {
        ids[i] = schedule("q", HOUR + i * 1000);
        m.seqs[i] = ids[i].seq;
    }
    pass(HOUR - 2000);
    for (int i = 0; i < MANY; i++)
        m.hot[i] = is_hot(ids[i]);
    do {
        load_for(1000);
        EXECUTE(is, engine_list(e, &f, meet, &m, &c));
        assert_int_equal(is, 0);
    } while (c.more);
    for (int i = 0; i < MANY; i++) {
        bool stays = m.hot[i] == is_hot(ids[i]);

        assert_true(m.times[i] >= 1);
        if (stays)
            assert_int_equal(m.times[i], 1);
        moved += !stays;
        again += m.times[i] > 1;
    }
    assert_true(moved > 20 && moved < MANY && again > 0);
}

static int meet_some(void *arg, const struct job_view *v)
{
    meet(arg, v);
    return v->id.seq % 3 == 0;
}

static void a_list_whose_pages_are_cut_short_leaves_none_out(void **state)
{
    struct list_filter f = { .queue = STR("q"), .state = -1, .to_ms = INT64_MAX, .limit = 50 };
    static struct met m;
    struct list_cursor c = { 0 };
    int is, cut[3] = { 0 };

    (void)state;
    m = (struct met){ 0 };
    for (int i = 0; i < MANY; i++)
        m.seqs[i] = schedule("q", HOUR + i * 1000).seq;
    do {
        unsigned phase = c.phase;

        EXECUTE(is, engine_list(e, &f, meet_some, &m, &c));
        assert_true(is >= 0);
        cut[phase] += is;
    } while (c.more);
    assert_true(cut[LIST_MEMORY] > 5 && cut[LIST_DISK] > 5);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(m.times[i], 1);
}

static void a_page_from_disk_ends_at_its_bytes(void **state)
{
    enum { LARGE = 60, FIT = 7 }; /* so many reach 2 MiB */
    struct list_filter f = { .queue = STR("q"), .state = -1, .to_ms = INT64_MAX, .limit = 1000 };
    static char payload[300000];
    struct list_cursor c = { 0 };
    int is, n = 0, pages = 0;

    (void)state;
    for (int i = 0; i < LARGE; i++) {
        struct job_spec spec = spec_of("q", HOUR + i * 1000);
        struct schedule_result r;

        spec.payload = (struct str){ payload, sizeof(payload) };
        assert_int_equal(engine_schedule(e, &spec, &r), 0);
        settle();
    }
    assert_true(stats().cold_jobs > LARGE - FIT);
    do {
        int before = n;

        EXECUTE(is, engine_list(e, &f, count_job, &n, &c));
        assert_int_equal(is, 0);
        assert_true(n - before <= FIT);
        pages++;
    } while (c.more);
    assert_int_equal(n, LARGE);
    assert_true(pages > LARGE / FIT);
}

struct search {
    uint64_t seq;
    int times;
    int64_t last_due_ms;
};

static int search_one(void *arg, const struct job_view *v)
{
    struct search *s = arg;

    s->times += v->id.seq == s->seq;
    s->last_due_ms = v->due_ms;
    return 0;
}

/* Pages of a walk, until it is on disk and has come to a due time; or to its end. */
static void walk_to(struct search *s, struct list_cursor *c, int64_t due_ms)
{
    struct list_filter f = { .queue = STR("q"), .state = -1, .to_ms = INT64_MAX, .limit = 7 };
    bool disk;
    int is;

    do {
        disk = c->phase == LIST_DISK;
        EXECUTE(is, engine_list(e, &f, search_one, s, c));
        assert_int_equal(is, 0);
    } while (c->more && !(disk && s->last_due_ms >= due_ms));
}

/* Schedules jobs of all times until this one is on disk. */
static void spread_out(struct job_id id)
{
    for (int i = 0; is_hot(id); i++) {
        assert_true(i < 10 * MANY);
        schedule("q", (i % 1000 + 1) * HOUR);
        settle();
    }
}

/* A job that waits for another is behind all others. When it does not wait any more it goes to its
 * place among them, where the walk has been. */
static void list_leaves_out_no_job_that_goes_back_to_disk(void **state)
{
    struct job_id parent = schedule("parent", 0);
    struct job_spec spec = spec_of("q", HOUR);
    struct schedule_result child;
    struct list_cursor c = { 0 };
    struct search s = { 0 };

    (void)state;
    spec.after = &parent;
    spec.after_count = 1;
    assert_int_equal(engine_schedule(e, &spec, &child), 0);
    s.seq = child.id.seq;
    spread_out(child.id);
    walk_to(&s, &c, START + 2 * HOUR);
    assert_int_equal(work("parent"), 1);
    assert_true(is_hot(child.id));
    spread_out(child.id);
    walk_to(&s, &c, INT64_MAX);
    assert_int_equal(s.times, 1);
}

static struct job_id waits_in(const char *queue, struct job_id parent)
{
    struct job_spec spec = spec_of(queue, HOUR);
    struct schedule_result r;

    spec.after = &parent;
    spec.after_count = 1;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

/* A tenant waits for one job on disk of another tenant, and not for all of them. */
static void tenants_take_turns_in_telling_jobs_on_disk(void **state)
{
    struct job_id parent = schedule("a@p", HOUR), children[5], other, child;
    struct job_view v;
    int is;

    (void)state;
    for (int i = 0; i < 5; i++)
        children[i] = waits_in("a@q", parent);
    for (int i = 0; i < 5; i++)
        spread_out(children[i]);
    other = schedule("b@p", 0);
    child = waits_in("b@q", other);
    EXECUTE(is, engine_cancel(e, parent));
    assert_int_equal(is, CANCEL_CANCELLED);
    assert_int_equal(engine_cancel(e, other), CANCEL_CANCELLED);
    for (int i = 0; i < 2; i++) {
        EXECUTE(is, engine_task(e));
        assert_int_equal(is, 1);
    }
    assert_int_equal(engine_get(e, child, &v), 0);
    assert_int_equal(v.state, JOB_CANCELLED);
    for (int i = 0; i < 5; i++) {
        EXECUTE(is, engine_get(e, children[i], &v));
        assert_int_equal(is, 0);
        assert_int_equal(v.state, i == 4 ? JOB_CANCELLED : JOB_WAITING);
    }
}

struct shown {
    uint64_t first, last;
    int n;
};

static int note_bulk(void *arg, const struct bulk_view *v)
{
    struct shown *s = arg;

    s->first = s->n++ == 0 ? v->id.seq : s->first;
    assert_true(v->id.seq >= s->last);
    s->last = v->id.seq;
    return 0;
}

static void make_bulks(struct job_id *ids, int n)
{
    struct bulk_spec s = bulk_of(BULK_CANCEL, "none");

    for (int i = 0; i < n; i++) {
        assert_int_equal(engine_bulk(e, &s, &ids[i]), 0);
        while (step(ids[i]).b.state == BULK_RUNNING) {
        }
    }
}

/* Also if the oldest of them are on disk. */
static void the_last_hundred_bulks_are_shown(void **state)
{
    struct job_id ids[120];
    struct shown shown = { 0 };
    struct bulk_view v;
    int is;

    (void)state;
    make_bulks(ids, 60);
    done_with_keys();
    assert_int_equal(engine_bulk_get(e, STR("default"), ids[59], &v), BELFRY_COLD);
    make_bulks(ids + 60, 60);
    EXECUTE(is, (shown = (struct shown){ 0 }, engine_bulks(e, STR("default"), note_bulk, &shown)));
    assert_int_equal(is, 0);
    assert_int_equal(shown.n, 100);
    assert_int_equal(shown.first, ids[20].seq);
    assert_int_equal(shown.last, ids[119].seq);
}

static struct job_id dead(const char *queue)
{
    struct job_id id = schedule(queue, 0);
    struct str name = str_of(queue);
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = -1 };
    struct fail_result failed;
    struct job_view v;
    struct job *j;

    assert_int_equal(engine_lease(e, &r, &j), 1);
    engine_view(e, j, &v);
    assert_int_equal(engine_fail(e, id, v.token, STR("no"), -1, true, &failed), 0);
    return id;
}

/* A merge found that its time is over, and by a clock that was set back it is not. */
static void what_is_taken_from_a_run_that_goes_is_uncounted_once(void **state)
{
    struct job_id id = dead("d");
    struct job_view v;
    struct chore *c;
    uint64_t before;
    int is;

    (void)state;
    for (int n = 0; engine_get(e, id, &v) != BELFRY_COLD; n++) {
        assert_true(n < MANY);
        dead("q");
        settle();
    }
    /* The clock would forget those in memory, and a restart would bring them back. */
    EXECUTE(is, engine_redrive_queue(e, STR("q"), MANY));
    assert_int_equal(work("q"), is);
    advance(365 * 24 * HOUR);
    c = partition_chore(p, CHORE_MERGE);
    assert_non_null(c);
    wall = START;
    engine_advance(e, wall, mono);
    EXECUTE(is, engine_redrive_queue(e, STR("d"), 1));
    assert_int_equal(is, 1);
    assert_int_equal(partition_chore_done(p, c, chore_run(c)), 0);
    engine_verify(e);
    settle();
    before = engine_hash(e);
    partition_close(p);
    open_partition();
    assert_int_equal(engine_hash(e), before);
    assert_int_equal(work("d"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_dry_run_counts_each_job_once_while_some_are_loaded),
        TEST(what_expired_on_disk_is_deleted_in_bulk),
        TEST(a_parent_that_is_deleted_meanwhile_is_not_found),
        TEST(a_key_on_disk_may_be_held_again_when_the_clock_is_set_back),
        TEST(what_is_done_can_be_deleted_when_others_have_its_keys),
        TEST(of_two_holds_that_end_together_the_later_job_s_counts),
        TEST(tenants_take_turns_in_telling_jobs_on_disk),
        TEST(the_last_hundred_bulks_are_shown),
        TEST(list_meets_a_job_that_stays_once_and_leaves_none_out),
        TEST(a_list_whose_pages_are_cut_short_leaves_none_out),
        TEST(a_page_from_disk_ends_at_its_bytes),
        TEST(list_leaves_out_no_job_that_goes_back_to_disk),
        TEST(to_is_the_first_moment_that_is_not_meant),
        TEST(what_is_taken_from_a_run_that_goes_is_uncounted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
