/* SPDX-License-Identifier: MIT */
/* EXPLAIN names all causes, in their order, whether the job is in memory or on disk, and after a
 * restart: each cause by itself, and each two that can be there together. */
#include "support/spilled.h"

#define MINUTE INT64_C(60000)

/* ---- Requests ---- */

static struct explanation explain(struct job_id id)
{
    struct explanation x;
    int err;

    EXECUTE(err, engine_explain(e, id, &x));
    assert_int_equal(err, 0);
    assert_int_equal(x.reason, x.causes[0].reason);
    assert_int_equal(x.until_ms, x.causes[0].until_ms);
    assert_string_equal(x.why, x.causes[0].why);
    return x;
}

static struct job_id put(const struct job_spec *spec)
{
    struct schedule_result r;
    int err;

    EXECUTE(err, engine_schedule(e, spec, &r));
    assert_int_equal(err, 0);
    return r.id;
}

static size_t ask(const char *queue, size_t count, struct job_view *ret)
{
    struct str name = str_of(queue);
    struct lease_request r = {
        .queues = &name, .queue_count = 1, .count = count, .for_ms = 10 * HOUR
    };
    struct job *jobs[10];
    int n = engine_lease(e, &r, jobs);

    assert_true(n >= 0 && n <= 10);
    for (int i = 0; i < n; i++)
        engine_view(e, jobs[i], &ret[i]);
    return (size_t)n;
}

static struct job_view take(const char *queue)
{
    struct job_view v;

    assert_int_equal(ask(queue, 1, &v), 1);
    return v;
}

static void fail_it(const struct job_view *v, int64_t retry_ms, bool final)
{
    struct fail_result r;

    assert_int_equal(engine_fail(e, v->id, v->token, STR("no\tluck"), retry_ms, final, &r), 0);
}

static void set_queue(unsigned field, struct queue_settings s)
{
    assert_int_equal(engine_queue_set(e, STR("a@q"), &s, 1u << field), 0);
}

static void set_tenant(unsigned fields, struct tenant_settings s)
{
    assert_int_equal(engine_tenant_set(e, STR("a"), &s, fields), 0);
}

/* Quiet hours from the last full minute on; returns their end. */
static int64_t be_quiet(int64_t ms)
{
    struct tenant_settings s = { .tz = "UTC" };
    int64_t from = wall - wall % MINUTE, to = from + ms;
    int begin = (int)(from / MINUTE % 1440), end = (int)(to / MINUTE % 1440);

    snprintf(s.quiet, sizeof(s.quiet), "%02d:%02d-%02d:%02d", begin / 60, begin % 60, end / 60,
             end % 60);
    set_tenant(1u << TENANT_QUIET | 1u << TENANT_TZ, s);
    return to;
}

static void reopen(void)
{
    assert_int_equal(partition_flush(p), 0);
    engine_verify(e);
    partition_close(p);
    open_partition();
}

/* ---- Facts that may keep a job from running ---- */

enum fact {
    LATER,    /* due in an hour */
    BACKOFF,  /* it failed, and is tried again in an hour */
    DEFERRED, /* quiet hours put it off */
    PARENT,
    KEYED, /* another job runs that has its ordering key */
    PAUSED,
    MAINTENANCE,
    QUIET, /* now, and in an hour */
    FULL_QUEUE,
    FULL_TENANT,
    RATED_QUEUE, /* one in two hours */
    RATED_TENANT,
    LADEN,
    ASKED,  /* a worker asked just now, and not two minutes ago */
    BEHIND, /* a job of lower rank is ready */
    FACTS
};

#define BIT(fact)  (1u << (fact))
#define MOMENTS    (BIT(LATER) | BIT(BACKOFF) | BIT(DEFERRED))
#define HELD       (BIT(FULL_QUEUE) | BIT(FULL_TENANT) | BIT(LADEN))
#define RATES      (BIT(RATED_QUEUE) | BIT(RATED_TENANT))
#define RATE       ((struct rate){ 1, 2 * HOUR })
#define HAS(fact)  (c->facts >> (fact)&1)
#define DISK_FRONT 1500 /* ready jobs before one that is to be on disk */

enum place { IN_MEMORY, ON_DISK, RESTARTED, PLACES_COUNT };

struct example {
    unsigned facts;
    enum place place;
    struct job_id id;
    int64_t at_ms;    /* its moment, if it is not ready */
    int64_t quiet_ms; /* the end of quiet hours */
    int64_t rate_ms;  /* when the rate was used up */
};

static bool can_be(unsigned facts)
{
    unsigned moments = facts & MOMENTS;

    if (moments & (moments - 1)) /* there is one moment */
        return false;
    if (facts & BIT(DEFERRED) && facts & BIT(QUIET))
        return false; /* they are the same quiet hours */
    /* A job that was leased waits for no other, and has its ordering key. */
    return !(facts & (BIT(BACKOFF) | BIT(DEFERRED)) && facts & (BIT(PARENT) | BIT(KEYED)));
}

static struct job_spec spec(const struct example *c, const struct job_id *parent)
{
    struct job_spec s = spec_of("a@q", 0);

    s.due_ms = HAS(LATER) ? wall + HOUR : -1;
    s.notify = HAS(QUIET) || HAS(DEFERRED);
    s.order = HAS(KEYED) ? STR("o") : (struct str){ 0 };
    s.after = parent;
    s.after_count = HAS(PARENT);
    return s;
}

/* A job that was given out before it waits. */
static void begin_job(struct example *c)
{
    struct job_spec s = spec(c, NULL);

    c->id = put(&s);
    if (HAS(DEFERRED)) {
        c->at_ms = be_quiet(3 * HOUR);
        assert_int_equal(ask("a@q", 1, NULL), 0);
    } else {
        struct job_view v = take("a@q");

        fail_it(&v, HOUR, false);
        c->at_ms = wall + HOUR;
    }
}

/* Other jobs that run, and the limits that they reach. */
static void begin_others(struct example *c)
{
    struct job_spec s = spec_of("a@q", 0);

    if (HAS(KEYED)) {
        s.order = STR("o");
        put(&s);
        take("a@q");
        s.order = (struct str){ 0 };
    }
    if (HAS(RATED_QUEUE))
        set_queue(QUEUE_RATE, (struct queue_settings){ .rate = RATE });
    if (HAS(RATED_TENANT))
        set_tenant(1u << TENANT_RATE, (struct tenant_settings){ .rate = RATE });
    if (c->facts & (HELD | RATES)) {
        put(&s);
        take("a@q");
        c->rate_ms = wall;
    }
    if (HAS(FULL_QUEUE))
        set_queue(QUEUE_MAX_RUNNING, (struct queue_settings){ .max_running = 1 });
    if (HAS(FULL_TENANT))
        set_tenant(1u << TENANT_MAX_RUNNING, (struct tenant_settings){ .max_running = 1 });
    if (HAS(LADEN))
        set_tenant(1u << TENANT_MAX_LEASED, (struct tenant_settings){ .max_leased = 1 });
}

static void begin(struct example *c)
{
    struct job_spec first = spec_of("a@q", 0), other = spec_of("a@p", 24 * HOUR);
    struct job_id parent = put(&other);

    if (c->facts & (BIT(BACKOFF) | BIT(DEFERRED)))
        begin_job(c);
    begin_others(c);
    if (HAS(PAUSED))
        set_queue(QUEUE_PAUSED, (struct queue_settings){ .paused = true });
    if (HAS(MAINTENANCE))
        set_tenant(1u << TENANT_MAINTENANCE, (struct tenant_settings){ .maintenance = true });
    if (HAS(QUIET))
        c->quiet_ms = be_quiet(3 * HOUR);
    if (HAS(BEHIND))
        put(&first);
    if (c->id.seq == 0) {
        struct job_spec s = spec(c, &parent);

        c->id = put(&s);
        c->at_ms = s.due_ms;
    }
    pass(2 * MINUTE);
    if (HAS(ASKED))
        ask("a@q", 0, NULL);
}

/* ---- What EXPLAIN has to say ---- */

struct expected {
    size_t n;
    struct {
        enum reason reason;
        int64_t until_ms;
    } causes[CAUSES_MAX];
};

static void expect(struct expected *x, bool holds, enum reason r, int64_t until_ms)
{
    if (!holds)
        return;
    x->causes[x->n].reason = r;
    x->causes[x->n++].until_ms = until_ms;
}

static void expect_gates(const struct example *c, struct expected *x)
{
    expect(x, HAS(PAUSED), REASON_PAUSED, -1);
    expect(x, HAS(MAINTENANCE), REASON_MAINTENANCE, -1);
}

static void expect_rates(const struct example *c, int64_t when_ms, struct expected *x)
{
    int64_t until_ms = c->rate_ms + 2 * HOUR * (HAS(BEHIND) ? 2 : 1);

    for (int rate = RATED_QUEUE; rate <= RATED_TENANT; rate++)
        expect(x, HAS(rate) && until_ms > when_ms, REASON_RATE_LIMIT, until_ms);
}

static void expect_ready(const struct example *c, struct expected *x)
{
    bool asked = HAS(ASKED) && c->place != RESTARTED;

    expect(x, HAS(KEYED), REASON_ORDERING_KEY, -1);
    expect_gates(c, x);
    expect(x, HAS(QUIET), REASON_QUIET_HOURS, c->quiet_ms);
    expect(x, HAS(FULL_QUEUE), REASON_RUNNING_LIMIT, -1);
    expect(x, HAS(FULL_TENANT), REASON_RUNNING_LIMIT, -1);
    expect_rates(c, wall, x);
    expect(x, HAS(LADEN), REASON_LEASED_MEMORY, -1);
    expect(x, !asked || (x->n == 0 && !HAS(BEHIND) && c->place != ON_DISK), REASON_NO_WORKER, -1);
    expect(x, c->place == ON_DISK, REASON_ON_DISK, -1);
    expect(x, HAS(BEHIND) && c->place != ON_DISK && !HAS(KEYED), REASON_BEHIND, -1);
}

static void expect_later(const struct example *c, struct expected *x)
{
    expect(x, true,
           HAS(BACKOFF)    ? REASON_BACKOFF
           : HAS(DEFERRED) ? REASON_QUIET_HOURS
                           : REASON_SCHEDULED,
           c->at_ms);
    expect_gates(c, x);
    expect(x, HAS(QUIET), REASON_QUIET_HOURS, c->quiet_ms);
    expect_rates(c, HAS(QUIET) ? c->quiet_ms : c->at_ms, x);
}

static void expect_waiting(const struct example *c, struct expected *x)
{
    expect(x, true, REASON_PARENT, -1);
    expect(x, HAS(LATER), REASON_SCHEDULED, c->at_ms);
    expect_gates(c, x);
}

/* The moment follows from the causes. */
static int64_t expect_moment(const struct explanation *x)
{
    int64_t at_ms = wall;

    for (size_t i = 0; i < x->cause_count; i++) {
        enum reason r = x->causes[i].reason;

        if (r == REASON_BEHIND || r == REASON_ON_DISK)
            continue;
        if (x->causes[i].until_ms < 0)
            return -1;
        at_ms = x->causes[i].until_ms > at_ms ? x->causes[i].until_ms : at_ms;
    }
    return at_ms;
}

/* Rates begin anew with a start, and those of a job on disk count all that are before it. */
static bool is_vague(const struct example *c, enum reason r)
{
    return r == REASON_RATE_LIMIT && c->place != IN_MEMORY;
}

static size_t without_vague(const struct example *c, struct explanation *x)
{
    size_t n = 0;

    for (size_t i = 0; i < x->cause_count; i++)
        if (!is_vague(c, x->causes[i].reason))
            x->causes[n++] = x->causes[i];
    return n;
}

static void check(const struct example *c)
{
    struct explanation x = explain(c->id);
    struct expected want = { 0 };
    int64_t moment = expect_moment(&x);
    size_t n = 0;

    assert_int_equal(x.at_ms, moment);
    if (HAS(PARENT))
        expect_waiting(c, &want);
    else if (c->facts & MOMENTS)
        expect_later(c, &want);
    else
        expect_ready(c, &want);
    for (size_t i = 0; i < want.n; i++)
        if (!is_vague(c, want.causes[i].reason))
            want.causes[n++] = want.causes[i];
    if (without_vague(c, &x) != n)
        fail_msg("facts %x, place %u: %zu causes, %s first, expected %zu", c->facts, c->place,
                 x.cause_count, reason_name(x.reason), n);
    for (size_t i = 0; i < n; i++)
        if (x.causes[i].reason != want.causes[i].reason ||
            x.causes[i].until_ms != want.causes[i].until_ms || x.causes[i].why[0] == '\0')
            fail_msg("facts %x, place %u: cause %zu is %s until %lld, expected %s until %lld",
                     c->facts, c->place, i, reason_name(x.causes[i].reason),
                     (long long)x.causes[i].until_ms, reason_name(want.causes[i].reason),
                     (long long)want.causes[i].until_ms);
}

/* ---- In memory, on disk, after a restart ---- */

static bool is_ready(const struct example *c)
{
    return !(c->facts & (MOMENTS | BIT(PARENT)));
}

/* A job that is ready goes to disk behind many others. Some facts need a queue of few jobs. */
static bool can_be_cold(const struct example *c)
{
    return !is_ready(c) || !(c->facts & (HELD | RATES | BIT(KEYED) | BIT(BEHIND)));
}

static void make_cold(struct example *c)
{
    struct job_view v;

    if (!is_ready(c)) {
        push_out(c->id);
        return;
    }
    for (int i = 0; engine_get(e, c->id, &v) != BELFRY_COLD; i++) {
        struct job_spec s = spec_of("a@q", 0);

        assert_true(i < 4 * MANY);
        put(&s);
        settle();
    }
}

static void run_example(unsigned facts, enum place place)
{
    struct example c = { .facts = facts, .place = place };
    void *state = NULL;

    if (place == ON_DISK && !can_be_cold(&c))
        return;
    assert_int_equal(setup(&state), 0);
    if (place == ON_DISK && is_ready(&c))
        for (int i = 0; i < DISK_FRONT; i++) {
            struct job_spec s = spec_of("a@q", 0);

            put(&s);
            settle();
        }
    begin(&c);
    if (place == ON_DISK)
        make_cold(&c);
    if (place == RESTARTED)
        reopen();
    check(&c);
    teardown(&state);
}

static void every_cause_and_every_two(enum place place)
{
    for (unsigned a = 0; a < FACTS; a++)
        for (unsigned b = a; b < FACTS; b++)
            if (can_be(BIT(a) | BIT(b)))
                run_example(BIT(a) | BIT(b), place);
}

static void all_causes_are_told_of_a_job_in_memory(void **state)
{
    (void)state;
    run_example(0, IN_MEMORY);
    every_cause_and_every_two(IN_MEMORY);
    run_example(BIT(PAUSED) | BIT(MAINTENANCE) | BIT(QUIET) | HELD | RATES | BIT(BEHIND),
                IN_MEMORY);
    run_example(BIT(LATER) | BIT(PAUSED) | BIT(MAINTENANCE) | BIT(QUIET) | RATES | BIT(BEHIND),
                IN_MEMORY);
}

static void all_causes_are_told_of_a_job_on_disk(void **state)
{
    (void)state;
    every_cause_and_every_two(ON_DISK);
}

static void all_causes_are_told_after_a_restart(void **state)
{
    (void)state;
    every_cause_and_every_two(RESTARTED);
}

/* ---- Single answers ---- */

static void assert_says(const struct explanation *x, const char *text)
{
    if (!strstr(x->why, text))
        fail_msg("no '%s' in: %s", text, x->why);
}

static void assert_names(const struct explanation *x, struct job_id id)
{
    char text[ID_TEXT + 1] = { 0 };

    id_format(id, text);
    assert_says(x, text);
}

static struct job_id ready(void)
{
    struct job_spec s = spec_of("a@q", 0);

    return put(&s);
}

static void the_only_job_waits_for_a_worker_since_one_last_asked(void **state)
{
    struct job_id id;
    struct explanation x;

    (void)state;
    ready();
    take("a@q");
    id = ready();
    x = explain(id);
    assert_int_equal(x.reason, REASON_NO_WORKER);
    assert_int_equal(x.asked_ms, wall);
    assert_int_equal(x.ahead, 0);
    assert_int_equal(x.ahead_most, 0);
    assert_int_equal(x.at_ms, -1);
    assert_says(&x, "since 2026-11-");
    pass(HOUR);
    x = explain(id);
    assert_int_equal(x.asked_ms, wall - HOUR);
    reopen();
    x = explain(id);
    assert_int_equal(x.asked_ms, -1);
    assert_says(&x, "when the server started");
    pass(5000);
    x = explain(schedule("a@new", 0));
    assert_says(&x, "when the queue was made");
}

static void a_worker_that_waited_has_asked_until_it_went(void **state)
{
    struct str name = STR("a@q");
    struct lease_request r = { .queues = &name, .queue_count = 1, .count = 1, .for_ms = HOUR };
    struct waiter *w;
    struct job_id id;

    (void)state;
    assert_int_equal(engine_wait(e, &r, HOUR, NULL, &w), 0);
    advance(1000);
    id = ready();
    assert_int_equal(explain(id).reason, REASON_NEXT);
    assert_int_equal(explain(id).at_ms, wall);
    ready();
    assert_int_equal(explain(ready()).reason, REASON_BEHIND);
    engine_wait_cancel(e, w);
    advance(1000);
    assert_int_equal(explain(id).reason, REASON_NO_WORKER);
    assert_int_equal(explain(id).asked_ms, wall - 1000);
}

static void a_job_that_was_moved_is_not_tried_again(void **state)
{
    struct job_id id = ready();
    struct job_view v = take("a@q");
    struct explanation x;

    (void)state;
    fail_it(&v, HOUR, false);
    x = explain(id);
    assert_int_equal(x.reason, REASON_BACKOFF);
    assert_says(&x, "attempt 1 failed at 2026-11-");
    assert_says(&x, "no luck");
    assert_int_equal(engine_reschedule(e, id, wall + 2 * HOUR), 0);
    x = explain(id);
    assert_int_equal(x.reason, REASON_SCHEDULED);
    assert_int_equal(x.until_ms, wall + 2 * HOUR);
    assert_int_equal(x.attempt, 1);
    assert_int_equal(engine_reschedule(e, id, wall), 0);
    v = take("a@q");
    assert_int_equal(engine_release(e, id, v.token, HOUR), 0);
    assert_int_equal(explain(id).reason, REASON_BACKOFF);
    push_out(id);
    x = explain(id);
    assert_says(&x, "was given back");
}

static void each_job_behind_a_rate_has_a_time_of_its_own(void **state)
{
    struct job_id ids[5];

    (void)state;
    set_queue(QUEUE_RATE, (struct queue_settings){ .rate = { 2, 2 * HOUR } });
    for (int i = 0; i < 5; i++)
        ids[i] = ready();
    assert_int_equal(explain(ids[1]).cause_count, 2); /* no worker, and others before it */
    assert_int_equal(explain(ids[2]).causes[2].reason, REASON_RATE_LIMIT);
    assert_int_equal(explain(ids[2]).causes[2].until_ms, wall + HOUR);
    assert_int_equal(explain(ids[4]).causes[2].until_ms, wall + 3 * HOUR);
    take("a@q");
    take("a@q");
    for (int i = 2; i < 5; i++) {
        struct explanation x = explain(ids[i]);

        assert_int_equal(x.reason, REASON_RATE_LIMIT);
        assert_int_equal(x.until_ms, wall + (i - 1) * HOUR);
        assert_int_equal(x.at_ms, x.until_ms);
        assert_int_equal(x.ahead, i - 2);
        assert_true(i == 2 ? x.first.seq == 0 : x.first.seq == ids[2].seq);
    }
}

/* A job of lower rank goes first, though it came later. */
static void those_ahead_are_counted_by_rank(void **state)
{
    struct job_id id = ready();
    struct job_spec s = spec_of("a@q", 0);
    struct explanation x;

    (void)state;
    s.priority = 1;
    put(&s);
    s.priority = 5;
    put(&s);
    x = explain(id);
    assert_int_equal(x.ahead, 1);
    assert_int_equal(x.ahead_most, 1);
    assert_int_equal(x.ready, 3);
    pass(5 * MINUTE);
    x = explain(ready());
    assert_int_equal(x.ahead, 3); /* all have waited for long */
}

static void cancelled_says_which_parent_or_that_a_request_did_it(void **state)
{
    struct job_spec s = spec_of("a@q", HOUR);
    struct job_id parent = schedule("a@p", HOUR), child, grandchild;
    struct explanation x;

    (void)state;
    s.after = &parent;
    s.after_count = 1;
    child = put(&s);
    s.after = &child;
    grandchild = put(&s);
    assert_int_equal(explain(child).parent.seq, parent.seq);
    assert_int_equal(engine_cancel(e, parent), CANCEL_CANCELLED);
    settle();
    x = explain(parent);
    assert_int_equal(x.reason, REASON_ENDED);
    assert_int_equal(x.parent.seq, 0);
    assert_int_equal(x.ended_ms, wall);
    assert_says(&x, "a request cancelled it at 2026-11-");
    for (int i = 0; i < 2; i++) {
        x = explain(child);
        assert_int_equal(x.parent.seq, parent.seq);
        assert_names(&x, parent);
        assert_int_equal(explain(grandchild).parent.seq, child.seq);
        reopen();
    }
}

/* A worker may say what it likes: only the engine's own words name a parent. */
static void words_of_a_worker_name_no_parent(void **state)
{
    static const char words[] =
        "the job 01M7QYR3W0000000000000000A that it waited for was not done";
    struct job_id id = ready();
    struct job_view v = take("a@q");
    struct fail_result r;
    struct explanation x;

    (void)state;
    assert_int_equal(engine_fail(e, id, v.token, str_of(words), HOUR, false, &r), 0);
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    x = explain(id);
    assert_int_equal(x.parent.seq, 0);
    assert_says(&x, "a request cancelled it, and it ended at 2026-11-");
    assert_says(&x, "attempt 1 failed");
}

static void dead_says_of_what_when_and_after_how_many_attempts(void **state)
{
    struct job_id id = ready();
    struct job_view v;
    struct explanation x;

    (void)state;
    v = take("a@q");
    fail_it(&v, 0, false);
    v = take("a@q");
    pass(MINUTE);
    fail_it(&v, -1, true);
    for (int i = 0; i < 2; i++) {
        x = explain(id);
        assert_int_equal(x.reason, REASON_ENDED);
        assert_int_equal(x.attempt, 2);
        assert_int_equal(x.ended_ms, wall);
        assert_true(str_eq(x.error, STR("no\tluck")));
        assert_says(&x, "after 2 attempts: no luck; REDRIVE");
        reopen();
    }
}

static void done_and_expired_say_when(void **state)
{
    struct job_spec s = spec_of("a@q", 0);
    struct job_view v;
    struct job_id id = put(&s);
    struct explanation x;

    (void)state;
    v = take("a@q");
    assert_int_equal(engine_complete(e, id, v.token, STR(""), -1), 0);
    x = explain(id);
    assert_says(&x, "by attempt 1");
    assert_int_equal(x.ended_ms, wall);
    s.expire_ms = MINUTE;
    id = put(&s);
    pass(MINUTE);
    x = explain(id);
    assert_int_equal(x.state, JOB_EXPIRED);
    assert_int_equal(x.ended_ms, wall);
    assert_says(&x, "EXPIRE");
}

static void a_job_that_can_only_expire_says_so(void **state)
{
    struct job_spec s = spec_of("a@q", MINUTE);
    struct explanation x;

    (void)state;
    be_quiet(3 * HOUR);
    s.notify = true;
    s.expire_ms = HOUR;
    x = explain(put(&s));
    assert_int_equal(x.cause_count, 3);
    assert_int_equal(x.causes[2].reason, REASON_EXPIRY);
    assert_int_equal(x.causes[2].until_ms, wall + MINUTE + HOUR);
    assert_int_equal(x.at_ms, -1);
    s.expire_ms = 4 * HOUR;
    x = explain(put(&s));
    assert_int_equal(x.cause_count, 2);
    assert_int_equal(x.at_ms, x.causes[1].until_ms);
}

/* A start gives a lease its grace, and the clock on the wall may be set. */
static void no_lease_ends_in_the_past(void **state)
{
    struct job_id id = ready();
    struct explanation x;

    (void)state;
    take("a@q");
    assert_int_equal(explain(id).until_ms, wall + 10 * HOUR);
    assert_int_equal(partition_flush(p), 0);
    partition_close(p);
    wall += 11 * HOUR;
    open_partition();
    x = explain(id);
    assert_int_equal(x.reason, REASON_RUNNING);
    assert_int_equal(x.until_ms, wall + LEASE_GRACE_MS);
    advance(1000);
    assert_int_equal(explain(id).until_ms, wall + LEASE_GRACE_MS - 1000);
    wall += HOUR;
    advance(0);
    assert_int_equal(explain(id).until_ms, wall + LEASE_GRACE_MS - 1000);
}

/* The last of many is known from the other end, one in the middle by bounds. */
static void many_jobs_ahead_are_counted_in_few_steps(void **state)
{
    enum { COUNT = 5000 };
    struct engine *big = engine_new(&(struct engine_options){ .epoch = 1, .seed = 1 });
    struct buf journal = { 0 };
    struct job_id ids[COUNT];
    struct explanation x;

    (void)state;
    buf_reserve(&journal, 4096);
    engine_direct(big, &journal, 1, true, 0);
    engine_start(big, wall, mono, false);
    for (int i = 0; i < COUNT; i++) {
        struct job_spec s = spec_of("a@q", 0);
        struct schedule_result r;

        assert_int_equal(engine_schedule(big, &s, &r), 0);
        ids[i] = r.id;
    }
    assert_int_equal(engine_explain(big, ids[900], &x), 0);
    assert_true(x.ahead == 900 && x.ahead_most == 900);
    assert_int_equal(engine_explain(big, ids[2500], &x), 0);
    assert_true(x.ahead == 1000 && x.ahead_most == COUNT - 1);
    assert_int_equal(engine_explain(big, ids[COUNT - 1], &x), 0);
    assert_true(x.ahead == COUNT - 1 && x.ahead_most == COUNT - 1);
    assert_int_equal(x.first.seq, ids[0].seq);
    engine_free(big);
    buf_fini(&journal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_causes_are_told_of_a_job_in_memory),
        cmocka_unit_test(all_causes_are_told_of_a_job_on_disk),
        cmocka_unit_test(all_causes_are_told_after_a_restart),
        TEST(the_only_job_waits_for_a_worker_since_one_last_asked),
        TEST(a_worker_that_waited_has_asked_until_it_went),
        TEST(a_job_that_was_moved_is_not_tried_again),
        TEST(each_job_behind_a_rate_has_a_time_of_its_own),
        TEST(those_ahead_are_counted_by_rank),
        TEST(cancelled_says_which_parent_or_that_a_request_did_it),
        TEST(words_of_a_worker_name_no_parent),
        TEST(dead_says_of_what_when_and_after_how_many_attempts),
        TEST(done_and_expired_say_when),
        TEST(a_job_that_can_only_expire_says_so),
        TEST(no_lease_ends_in_the_past),
        TEST(many_jobs_ahead_are_counted_in_few_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
