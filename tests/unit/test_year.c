/* SPDX-License-Identifier: MIT */
/*
 * A year of one tenant, minute by minute: twenty recurrences in four zones, maintenance, workers
 * that take their time and fail, and a server that is down at the worst moments. What is given out
 * in each minute, and what the ledgers say at the end, is what a plain model says: it goes through
 * the days of the year with the C library's zones and knows nothing of the engine's.
 */
#include "unit/calendar.h"

#define OPEN_MAX 100
#define LATE_MIN 1 /* later than this it was missed */

/* ---- What happens to the server and its tenant, in minutes of the year ---- */

struct period {
    int from, minutes;
};

#define AT(day, hour, minute) (((day)*24 + (hour)) * 60 + (minute)) /* day 0: January 1st */

/* Down: for two minutes after a time, which is missed by that, and for one, which is not; restarts;
 * the nights in which clocks change; three days. */
static const struct period downs[] = {
    { AT(16, 1, 59), 3 },    { AT(23, 1, 59), 2 },   { AT(40, 3, 7), 0 },
    { AT(72, 5, 50), 150 },  { AT(86, 0, 20), 100 }, { AT(93, 14, 40), 200 },
    { AT(120, 6, 0), 1 },    { AT(150, 0, 10), 2 },  { AT(180, 12, 0), 61 },
    { AT(222, 9, 0), 4320 }, { AT(250, 0, 0), 0 },   { AT(275, 14, 50), 130 },
    { AT(303, 0, 5), 120 },  { AT(310, 5, 0), 300 }, { AT(340, 1, 14), 600 },
};

/* In maintenance: nothing is given out. */
static const struct period closed[] = {
    { AT(10, 1, 0), 180 },  { AT(24, 1, 0), 180 },       { AT(72, 7, 0), 240 },
    { AT(86, 0, 50), 60 },  { AT(160, 0, 0), 3 * 1440 }, { AT(223, 0, 0), 600 },
    { AT(303, 0, 30), 90 }, { AT(310, 6, 30), 15 },      { AT(330, 22, 0), 1000 },
};

static bool is_in(const struct period *p, size_t n, int minute)
{
    for (size_t i = 0; i < n; i++)
        if (minute >= p[i].from && minute < p[i].from + p[i].minutes)
            return true;
    return false;
}

static bool is_down(int minute)
{
    return is_in(downs, sizeof(downs) / sizeof(downs[0]), minute);
}

static bool restarts(int minute)
{
    for (size_t i = 0; i < sizeof(downs) / sizeof(downs[0]); i++)
        if (minute == downs[i].from + downs[i].minutes)
            return true;
    return false;
}

/* Whether the tenant's jobs are given out. Quiet hours belong here as soon as there are any: then
 * this is asked for each rule, some of whose jobs are marked NOTIFY, with the tenant's windows in
 * local time (clock_at of its zone), and those jobs are given out at the end of the window. */
static bool is_open(int minute)
{
    return !is_in(closed, sizeof(closed) / sizeof(closed[0]), minute);
}

/* ---- The model: one recurrence ---- */

/* One that was made. */
struct occurrence {
    int64_t nominal_ms;
    int number;   /* of those that were made */
    int ready_at; /* minute */
    int ends_at;  /* while a worker has it; -1: nobody does */
    int attempt;
};

struct model {
    struct times times;
    size_t next;              /* the first that is not decided about */
    int64_t queue[TIMES_MAX]; /* that wait for their turn */
    size_t queue_from, queue_to;
    struct occurrence open[OPEN_MAX];
    size_t open_count;
    int made;
    int64_t skip_ms; /* up to here they were missed */
    uint64_t totals[LEDGER_OUTCOME_COUNT];
};

static struct model models[PLANS];

static void make_one(struct model *m, int64_t nominal_ms, int minute)
{
    if (m->open_count == OPEN_MAX) {
        m->totals[LEDGER_CROWD]++;
        return;
    }
    m->open[m->open_count++] = (struct occurrence){ nominal_ms, m->made++, minute, -1, 0 };
    m->totals[LEDGER_OPEN]++;
}

static void take_turn(struct model *m, int minute)
{
    if (m->open_count == 0 && m->queue_from < m->queue_to)
        make_one(m, m->queue[m->queue_from++], minute);
}

static void decide(const struct plan *r, struct model *m, int minute)
{
    int64_t at = m->times.at[m->next++];
    bool missed = moment(minute) - at > LATE_MIN * MINUTE;
    bool queued = m->queue_from < m->queue_to;

    if (missed && !queued && r->catchup != CATCHUP_ALL && at > m->skip_ms)
        m->skip_ms =
            r->catchup == CATCHUP_LAST ? moment(minute) : moment(minute) - LATE_MIN * MINUTE - 1;
    if (at <= m->skip_ms && (r->catchup == CATCHUP_SKIP ||
                             (m->next < m->times.n && m->times.at[m->next] <= m->skip_ms))) {
        m->totals[LEDGER_MISSED]++;
    } else if (queued || (m->open_count > 0 &&
                          (r->overlap == OVERLAP_QUEUE || (missed && r->catchup == CATCHUP_ALL)))) {
        m->queue[m->queue_to++] = at;
    } else if (m->open_count > 0 && r->overlap == OVERLAP_SKIP) {
        m->totals[LEDGER_OVERLAP]++;
    } else {
        make_one(m, at, minute);
    }
}

/* How an attempt ends: some fail for good, some once. */
enum end { ENDS_WELL, ENDS_DEAD, ENDS_LATER };

#define RETRY_MINUTES 10

static enum end end_of(const struct occurrence *o)
{
    if (o->number % 7 == 3)
        return ENDS_DEAD;
    return o->number % 11 == 5 && o->attempt == 1 ? ENDS_LATER : ENDS_WELL;
}

static void end_one(struct model *m, size_t i, int minute)
{
    struct occurrence *o = &m->open[i];
    enum end how = end_of(o);

    if (how == ENDS_LATER) {
        o->ends_at = -1;
        o->ready_at = minute + RETRY_MINUTES;
        return;
    }
    m->totals[LEDGER_OPEN]--;
    m->totals[how == ENDS_DEAD ? LEDGER_FAILED : LEDGER_RAN]++;
    memmove(o, o + 1, (--m->open_count - i) * sizeof(*o));
}

/* ---- The engine beside it ---- */

static struct buf commits[3]; /* copies, what followed them, and what is being written */
static uint32_t segment;

static struct model *model_named(struct str name)
{
    for (size_t i = 0; i < PLANS; i++)
        if (str_eq(name, str_of(plans[i].name)))
            return &models[i];
    fail_msg("a job of a recurrence that there is not: %.*s", STR_ARG(name));
    return NULL;
}

/* Leases by job, as workers remember them. */
static struct held {
    struct job_id id;
    uint64_t token;
    struct model *m;
    int64_t nominal_ms;
} held[PLANS * OPEN_MAX];
static size_t held_count;

static void make_recurrences(void)
{
    for (size_t i = 0; i < PLANS; i++) {
        const struct plan *r = &plans[i];
        struct recurrence_spec s = {
            .tenant = STR("acme"),
            .name = str_of(r->name),
            .job = spec_of("acme@work"),
            .kind = r->kind,
            .rule = str_of(r->text),
            .zone = str_of(r->zone),
            .start_ms = YEAR_START,
            .catchup = r->catchup,
            .overlap = r->overlap,
        };

        s.job.retain_ms = (int64_t)(i % 2) * HOUR;
        list_times(r, &models[i].times);
        models[i].skip_ms = -1;
        if (engine_recur(e, &s))
            fail_msg("%s: %s", r->name, engine_detail(e));
    }
}

/* Another process, from copies of what lives: the journal's segment before that is gone. */
static void reboot(int minute)
{
    struct buf copies = { 0 };
    uint64_t hash = engine_hash(e);

    engine_direct(e, &copies, segment + 1, true, 2);
    for (int i = 0; i < 2; i++)
        if (commits[i].len > 0)
            assert_int_equal(engine_copy_forward(e, buf_view(&commits[i]), segment), 0);
    assert_int_equal(engine_copy_rest(e, segment), 0);
    engine_free(e);
    segment++;
    e = make(segment);
    assert_int_equal(engine_replay(e, buf_view(&copies), segment), 0);
    assert_int_equal(engine_hash(e), hash);
    buf_fini(&commits[0]);
    commits[0] = copies;
    commits[1].len = 0;
    engine_direct(e, &commits[1], segment, false, 0);
    wall = moment(minute);
    engine_start(e, wall, mono, false);
}

static void set_open(bool open)
{
    struct tenant_settings s = { .maintenance = !open };

    assert_int_equal(engine_tenant_set(e, STR("acme"), &s, 1u << TENANT_MAINTENANCE), 0);
}

/* ---- The year ---- */

static void fire_all(int minute)
{
    work();
    for (size_t i = 0; i < PLANS; i++) {
        struct model *m = &models[i];

        take_turn(m, minute);
        while (m->next < m->times.n && m->times.at[m->next] <= moment(minute))
            decide(&plans[i], m, minute);
    }
}

static size_t index_of(const struct model *m, int64_t nominal_ms)
{
    for (size_t i = 0; i < m->open_count; i++)
        if (m->open[i].nominal_ms == nominal_ms)
            return i;
    fail_msg("an occurrence that is not under way");
    return 0;
}

static void end_attempt(const struct held *h, enum end how)
{
    struct fail_result result;
    int err;

    if (how == ENDS_WELL)
        err = engine_complete(e, h->id, h->token, STR("fine"), -1);
    else
        err =
            engine_fail(e, h->id, h->token, STR("no"),
                        how == ENDS_LATER ? RETRY_MINUTES * MINUTE : -1, how == ENDS_DEAD, &result);
    if (err)
        fail_msg("an attempt cannot end: %s", error_name(err));
    work();
}

static void end_attempts(int minute)
{
    for (size_t i = 0; i < held_count;) {
        struct held h = held[i];
        size_t at = index_of(h.m, h.nominal_ms);

        if (h.m->open[at].ends_at > minute) {
            i++;
            continue;
        }
        end_attempt(&h, end_of(&h.m->open[at]));
        end_one(h.m, at, minute);
        take_turn(h.m, minute);
        held[i] = held[--held_count];
    }
}

/* One that a worker may have in this minute. */
static struct occurrence *expected(struct model *m, int64_t nominal_ms, int minute)
{
    struct occurrence *o = &m->open[index_of(m, nominal_ms)];

    assert_true(o->ends_at < 0 && o->ready_at <= minute);
    return o;
}

static size_t ready_jobs(int minute)
{
    size_t n = 0;

    for (size_t i = 0; i < PLANS; i++)
        for (size_t k = 0; k < models[i].open_count; k++)
            n += models[i].open[k].ends_at < 0 && models[i].open[k].ready_at <= minute;
    return n;
}

static void take_jobs(int minute)
{
    size_t n = is_open(minute) ? ready_jobs(minute) : 0;
    struct str queue = STR("acme@work");
    struct lease_request r = { .queues = &queue, .queue_count = 1, .count = 1, .for_ms = 6 * DAY };
    struct job *job;

    for (; engine_lease(e, &r, &job) == 1; n--) {
        struct job_view v;
        struct occurrence *o;
        struct model *m;

        engine_view(e, job, &v);
        m = model_named(v.recurrence);
        o = expected(m, v.nominal_ms, minute);
        assert_true(v.nominal_ms <= wall && n > 0);
        assert_int_equal(v.attempt, ++o->attempt);
        o->ends_at = minute + plans[m - models].takes;
        held[held_count++] = (struct held){ v.id, v.token, m, v.nominal_ms };
    }
    if (n > 0)
        fail_msg("minute %d: %zu jobs are not given out", minute, n);
}

static void check_ledgers(void)
{
    static struct recurrence_view v;

    for (size_t i = 0; i < PLANS; i++) {
        const struct model *m = &models[i];
        uint64_t sum = 0;

        assert_int_equal(engine_recurrence_get(e, STR("acme"), str_of(plans[i].name), &v), 0);
        for (int o = 0; o < LEDGER_OUTCOME_COUNT; o++) {
            sum += v.r.totals[o];
            if (v.r.totals[o] != m->totals[o])
                fail_msg("%s: %s %llu times, expected %llu", plans[i].name,
                         ledger_word((enum ledger_outcome)o), (unsigned long long)v.r.totals[o],
                         (unsigned long long)m->totals[o]);
        }
        assert_int_equal(v.r.queued, m->queue_to - m->queue_from);
        assert_int_equal(sum + v.r.queued, m->next); /* each nominal time, once */
        assert_int_equal(v.open, m->open_count);
    }
}

static void begin_year(void)
{
    wall = moment(0);
    mono = 0;
    segment = 1;
    cutting = false;
    e = make(1);
    buf_reserve(&commits[1], 1 << 16);
    engine_direct(e, &commits[1], 1, true, 0);
    engine_start(e, wall, mono, false);
    make_recurrences();
}

static void pass_minute(int minute)
{
    static bool open = true;

    mono += MINUTE;
    if (is_down(minute))
        return;
    if (restarts(minute)) {
        reboot(minute);
        engine_verify(e);
    }
    wall = moment(minute);
    engine_advance(e, wall, mono);
    if (is_open(minute) != open)
        set_open(open = !open);
    fire_all(minute);
    end_attempts(minute);
    take_jobs(minute);
}

static void a_year_goes_as_the_calendar_says(void **state)
{
    uint64_t all = 0;

    (void)state;
    begin_year();
    for (int minute = 0; minute < MINUTES; minute++) {
        pass_minute(minute);
        if (minute % 10000 == 0 && !is_down(minute))
            check_ledgers();
    }
    engine_verify(e);
    check_ledgers();
    for (size_t i = 0; i < PLANS; i++) {
        assert_int_equal(models[i].next, models[i].times.n);
        all += models[i].times.n;
    }
    assert_true(all > 36000);
    engine_free(e);
    for (int i = 0; i < 2; i++)
        buf_fini(&commits[i]);
    zonecache_fini(&zones);
}

/* What the year above rests on: how many of each there are, counted by hand. */
static void the_calendar_knows_the_nights_in_which_clocks_change(void **state)
{
    static const struct {
        const char *name;
        size_t n;
    } counts[] = {
        { "lon-gap", 365 },     { "lon-office", 261 }, { "lon-sunday", 52 },  { "lon-6h", 1460 },
        { "ny-month", 12 },     { "ny-hourly", 8760 }, { "ny-twice", 365 },   { "lhi-gap", 365 },
        { "lhi-hourly", 8761 }, { "lhi-90m", 5840 },   { "ktm-second", 183 }, { "ktm-sunday", 52 },
        { "ktm-mid", 12 },      { "ktm-1h", 8760 },
    };
    static struct times t;

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        list_times(&plans[model_named(str_of(counts[i].name)) - models], &t);
        if (t.n != counts[i].n)
            fail_msg("%s: %zu times, expected %zu", counts[i].name, t.n, counts[i].n);
    }
    list_times(&plans[0], &t); /* 01:30 in London on 2027-03-28 is 02:00 BST, 01:00Z */
    assert_int_equal(t.at[86], INT64_C(1806195600000));
    assert_int_equal(t.at[303], t.at[302] + DAY); /* the first of the two, still BST */
    assert_int_equal(t.at[304], t.at[303] + DAY + HOUR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calendar_knows_the_nights_in_which_clocks_change),
        cmocka_unit_test(a_year_goes_as_the_calendar_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
