/* SPDX-License-Identifier: MIT */
/* EXPLAIN names all causes, in their order, whether the job is in memory or on disk, and after a
 * restart: each cause by itself, and each two that can be there together. */
#include "support/explain.h"

/* ---- Facts that may keep a job from running ---- */

enum fact {
    LATER,    /* due in an hour */
    BACKOFF,  /* it failed, and is tried again in an hour */
    DEFERRED, /* quiet hours put it off */
    PARENT,
    KEYED, /* another job runs that has its ordering key */
    PAUSED,
    TENANT_STOPPED,
    MAINTENANCE,
    SHUT_LONG,    /* maintenance that ends in four hours */
    SHUT_BRIEFLY, /* likewise, in half an hour */
    QUIET,        /* now, and in an hour */
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
#define SHUT       (BIT(MAINTENANCE) | BIT(SHUT_LONG) | BIT(SHUT_BRIEFLY))
#define HELD       (BIT(FULL_QUEUE) | BIT(FULL_TENANT) | BIT(LADEN))
#define RATES      (BIT(RATED_QUEUE) | BIT(RATED_TENANT))
#define RATE       ((struct rate){ 1, 2 * HOUR, 0 })
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
    int64_t open_ms;  /* the end of maintenance; 0: it has none */
};

static bool can_be(unsigned facts)
{
    unsigned moments = facts & MOMENTS, shut = facts & SHUT;

    if (moments & (moments - 1) || shut & (shut - 1)) /* there is one of each */
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

static void be_shut(struct example *c)
{
    struct tenant_settings s = { .maintenance = true };

    if (!HAS(MAINTENANCE))
        s.maintenance_until_ms = c->open_ms = wall + (HAS(SHUT_LONG) ? 4 * HOUR : HOUR / 2);
    set_tenant(1u << TENANT_MAINTENANCE | 1u << TENANT_UNTIL, s);
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
    if (HAS(TENANT_STOPPED))
        set_tenant(1u << TENANT_PAUSED, (struct tenant_settings){ .paused = true });
    if (c->facts & SHUT)
        be_shut(c);
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

/* Those that hold the job at that moment. */
static void expect_gates(const struct example *c, int64_t when_ms, struct expected *x)
{
    expect(x, HAS(PAUSED), REASON_PAUSED, -1);
    expect(x, HAS(TENANT_STOPPED), REASON_TENANT_PAUSED, -1);
    expect(x, HAS(MAINTENANCE), REASON_MAINTENANCE, -1);
    expect(x, c->open_ms > when_ms, REASON_MAINTENANCE, c->open_ms);
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
    expect_gates(c, wall, x);
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
    expect_gates(c, c->at_ms, x);
    expect(x, HAS(QUIET), REASON_QUIET_HOURS, c->quiet_ms);
    expect_rates(c, HAS(QUIET) ? c->quiet_ms : c->at_ms, x);
}

static void expect_waiting(const struct example *c, struct expected *x)
{
    expect(x, true, REASON_PARENT, -1);
    expect(x, HAS(LATER), REASON_SCHEDULED, c->at_ms);
    expect_gates(c, wall, x);
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

/* The rates of a job on disk count all that are before it. */
static bool is_vague(const struct example *c, enum reason r)
{
    return r == REASON_RATE_LIMIT && c->place == ON_DISK;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_causes_are_told_of_a_job_in_memory),
        cmocka_unit_test(all_causes_are_told_of_a_job_on_disk),
        cmocka_unit_test(all_causes_are_told_after_a_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
