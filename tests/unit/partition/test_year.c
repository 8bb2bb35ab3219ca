/* SPDX-License-Identifier: MIT */
/* A year of one tenant with quiet hours, maintenance, twenty recurrences and a partition that is
 * down at times, held against what was to happen by a plain model of it. */
#include "support/year.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/recurrence.h"
#include "support/drive.h"
#include "store/store.h"
#include "support/verify.h"

#define MINUTE_MS INT64_C(60000)
#define YEAR_MS   (YEAR_S * 1000)
#define DAY_MS    INT64_C(86400000)
#define LEAD_MS   (60 * MINUTE_MS) /* it is all set up so long before the year begins */
#define LOOK      (12 * 60)        /* the ledgers are read so often */
#define OUTAGES   23
#define EVENTS    24 /* maintenance on and off, each month */

static struct store *store;
static struct partition *p;
static struct engine *e;
static int64_t now_ms;

static struct outage {
    int from, to;
} outages[OUTAGES];

static struct event {
    int at;
    bool on;
} events[EVENTS];

static int next_outage, next_event;
static uint64_t delivered_count, outage_count, failed_count;

static int minute_of(int64_t ms)
{
    return (int)((ms - YEAR_MS) / MINUTE_MS);
}

static const char *when(int minute)
{
    static char text[8][40];
    static int turn;
    time_t at = (time_t)YEAR_S + (time_t)minute * 60;
    struct tm tm;

    if (minute >= SPAN)
        return "never";
    turn = (turn + 1) % 8; /* a message has several */
    gmtime_r(&at, &tm);
    strftime(text[turn], sizeof(text[turn]), "%Y-%m-%dT%H:%MZ", &tm);
    return text[turn];
}

/* ---- The script ---- */

static void plan_outages(void)
{
    for (int i = 0; i < OUTAGES; i++) {
        outages[i].from = 9000 + i * 22000 + i * 377 % 1440;
        outages[i].to = outages[i].from + 60 + i * 397 % 900;
    }
    outages[5] = (struct outage){ 86 * 1440 + 20, 86 * 1440 + 160 }; /* London sets its clock */
    outages[4].to = outages[4].from + 1;
    outages[8].to = outages[8].from + 3 * 1440;
    outages[13].to = outages[13].from + 2;
    for (int i = 0; i < OUTAGES; i++) {
        assert_true(i == 0 || outages[i].from > outages[i - 1].to);
        fill_span(is_down, outages[i].from, outages[i].to);
    }
}

static void plan_maintenance(void)
{
    for (int i = 0; i < EVENTS / 2; i++) {
        int from = i * 43800 + 6000 + i * 137, to = from + 120 + i * 31;

        events[2 * i] = (struct event){ from, true };
        events[2 * i + 1] = (struct event){ to, false };
        fill_span(in_maintenance, from, to);
    }
}

/* ---- The partition ---- */

static void open_partition(void)
{
    struct partition_options o = { .segment_bytes = 4 << 20, .durable = true, .seed = 1 };
    struct partition_report report;

    assert_int_equal(partition_open(store, &o, now_ms, now_ms - YEAR_MS + DAY_MS, &p, &report), 0);
    e = partition_engine(p);
}

static void commit_all(void)
{
    assert_int_equal(partition_flush(p), 0);
}

static int64_t next_wake(void)
{
    int64_t wall, mono;

    engine_next_wake(e, &wall, &mono);
    mono = mono == INT64_MAX ? mono : mono + YEAR_MS - DAY_MS;
    return wall < mono ? wall : mono;
}

static void expect_well(void *arg, const char *name, int err)
{
    (void)arg;
    if (err < 0)
        fail_msg("%s: %s", name, store_detail());
}

/* All that is to be done at this moment, but for requests. */
static void settle(void)
{
    bool more = true;

    for (int turns = 0; more; turns++) {
        engine_advance(e, now_ms, now_ms - YEAR_MS + DAY_MS);
        more = drive_round(p, expect_well, NULL);
        commit_all();
        more = more || next_wake() <= now_ms;
        if (turns > 100000)
            fail_msg("%s: it does not come to rest", when(minute_of(now_ms)));
    }
}

/* ---- Requests ---- */

static struct str name_of(size_t plan)
{
    static char text[8];

    snprintf(text, sizeof(text), "r%02zu", plan);
    return str_of(text);
}

static void set_up_plan(size_t i)
{
    static const enum recur_kind kinds[] = { RECUR_RRULE, RECUR_CRON, RECUR_EVERY };
    static const enum catchup catchups[] = { CATCHUP_LAST, CATCHUP_SKIP, CATCHUP_ALL };
    static const enum overlap overlaps[] = { OVERLAP_SKIP, OVERLAP_ALLOW, OVERLAP_QUEUE };
    const struct plan *x = &plans[i];
    struct recurrence_spec s = {
        .tenant = STR("acme"),
        .name = name_of(i),
        .job = { .queue = i % 2 ? STR("acme@odd") : STR("acme@even"),
                 .payload = STR("x"),
                 .due_ms = -1,
                 .priority = 1 + (int)i % 5,
                 .attempts = -1,
                 .lease_ms = -1,
                 .retain_ms = (int64_t)i * MINUTE_MS,
                 .notify = x->notify,
                 .passing = x->pass },
        .kind = kinds[x->kind],
        .rule = str_of(x->rule),
        .zone = str_of(x->zone),
        .start_ms = YEAR_MS,
        .catchup = catchups[x->late],
        .overlap = overlaps[x->busy],
    };

    if (engine_recur(e, &s) < 0)
        fail_msg("%s: %s", x->rule, engine_detail(e));
}

static void set_up(void)
{
    struct tenant_settings t = { .quiet = QUIET, .tz = LONDON };

    assert_int_equal(engine_tenant_set(e, STR("acme"), &t, 1u << TENANT_QUIET | 1u << TENANT_TZ),
                     0);
    for (size_t i = 0; i < PLANS; i++)
        set_up_plan(i);
    settle();
}

static void maintain(bool on)
{
    struct tenant_settings t = { .maintenance = on };

    assert_int_equal(engine_tenant_set(e, STR("acme"), &t, 1u << TENANT_MAINTENANCE), 0);
}

/* ---- Deliveries ---- */

static void fail_delivery(size_t plan, const struct occurrence *o, int now, const char *why)
{
    fail_msg("r%02zu (%s, %s), the one of %s: delivered at %s, time %d, but %s "
             "(it was to be made at %s, delivered at %s and to end at %s)",
             plan, plans[plan].rule, plans[plan].zone, when(o->nominal), when(now), o->seen + 1,
             why, when(o->made), when(o->delivery[0]), when(o->end));
}

static struct occurrence *check_delivery(const struct job_view *v)
{
    size_t plan = v->recurrence.len == 3
                      ? (size_t)((v->recurrence.ptr[1] - '0') * 10 + v->recurrence.ptr[2] - '0')
                      : PLANS;
    int now = minute_of(now_ms), nominal = minute_of(v->nominal_ms);
    struct occurrence *o = plan < PLANS ? occurrence_at(plan, nominal) : NULL;
    const struct plan *x = &plans[plan];

    if (!o || v->nominal_ms != YEAR_MS + nominal * MINUTE_MS)
        fail_msg("%.*s: one of %lld ms (%s), which the rule does not have, delivered at %s",
                 (int)v->recurrence.len, v->recurrence.ptr, (long long)v->nominal_ms, when(nominal),
                 when(now));
    if (now_ms < v->nominal_ms)
        fail_delivery(plan, o, now, "that is early");
    if (!x->pass && in_maintenance[now])
        fail_delivery(plan, o, now, "the tenant is in maintenance");
    if (!x->pass && x->notify && is_quiet[now])
        fail_delivery(plan, o, now, "these are quiet hours");
    if (o->fate != MADE || o->made > now)
        fail_delivery(plan, o, now, "it was not to be made");
    if (o->job && o->job != v->id.seq)
        fail_delivery(plan, o, now, "it was made twice");
    if (o->seen >= o->deliveries)
        fail_delivery(plan, o, now, "it has ended");
    if (now_ms != YEAR_MS + o->delivery[o->seen] * MINUTE_MS)
        fail_delivery(plan, o, now, "that is not the time");
    o->job = v->id.seq;
    o->seen++;
    return o;
}

static void do_job(const struct job_view *v)
{
    const struct occurrence *o = check_delivery(v);
    struct fail_result r;

    delivered_count++;
    if (o->seen < o->deliveries) {
        failed_count++;
        assert_int_equal(
            engine_fail(e, v->id, v->token, STR("later"), RETRY * MINUTE_MS, false, &r), 0);
        assert_int_equal(r.state, JOB_SCHEDULED);
    } else if (o->dies) {
        assert_int_equal(engine_fail(e, v->id, v->token, STR("no"), -1, true, &r), 0);
    } else {
        assert_int_equal(engine_complete(e, v->id, v->token, (struct str){ 0 }, -1), 0);
    }
}

/* Everything that can be had is done at once. */
static void work(void)
{
    struct str queues[] = { STR("acme@even"), STR("acme@odd") };
    struct lease_request r = { .queues = queues, .queue_count = 2, .count = 50, .for_ms = 1000 };
    struct job *jobs[50];
    struct job_view *views = calloc(50, sizeof(*views));
    int n;

    while ((n = engine_lease(e, &r, jobs)) > 0) {
        for (int i = 0; i < n; i++)
            engine_view(e, jobs[i], &views[i]);
        for (int i = 0; i < n; i++)
            do_job(&views[i]);
        settle();
    }
    free(views);
}

/* ---- Ledgers ---- */

/* What the ledger is to say of it; LEDGER_OUTCOME_COUNT: nothing, it waits for its turn. */
static enum ledger_outcome outcome_at(const struct occurrence *o, int now)
{
    static const enum ledger_outcome skipped[] = {
        [SKIPPED_BUSY] = LEDGER_OVERLAP, [SKIPPED_LATE] = LEDGER_MISSED
    };

    if (o->fate != MADE)
        return skipped[o->fate];
    if (o->made > now)
        return LEDGER_OUTCOME_COUNT;
    return o->end > now ? LEDGER_OPEN : o->dies ? LEDGER_FAILED : LEDGER_RAN;
}

static int check_entry(size_t plan, const struct ledger_entry *x, int now, int before)
{
    const struct occurrence *o = occurrence_at(plan, minute_of(x->nominal_ms));
    const struct occurrence *end = forecasts[plan].all + forecasts[plan].count;
    uint64_t n = 0;

    for (; o && o < end && o->nominal <= minute_of(x->upto_ms); o++, n++)
        if (outcome_at(o, now) != x->outcome)
            fail_msg("r%02zu (%s), the one of %s: the ledger says %s %s at %s; made %s, end %s, "
                     "fate %d",
                     plan, plans[plan].rule, when(o->nominal), ledger_word(x->outcome),
                     ledger_why(x->outcome), when(now), when(o->made), when(o->end), o->fate);
    if (n != x->count || x->count == 0)
        fail_msg("r%02zu (%s): the ledger tells of %d from %s to %s, not %d", plan,
                 plans[plan].rule, (int)x->count, when(minute_of(x->nominal_ms)),
                 when(minute_of(x->upto_ms)), (int)n);
    if (minute_of(x->nominal_ms) <= before)
        fail_msg("r%02zu (%s): %s is in the ledger twice or behind a later one", plan,
                 plans[plan].rule, when(minute_of(x->nominal_ms)));
    return minute_of(x->upto_ms);
}

/* Each nominal time up to now is decided about, once, and as it is to be. */
static void check_ledger(size_t plan, int now)
{
    static struct recurrence_view v;
    uint64_t expected[LEDGER_OUTCOME_COUNT + 1] = { 0 };
    int before = -1;

    assert_int_equal(engine_recurrence_get(e, STR("acme"), name_of(plan), &v), 0);
    assert_false(v.damaged);
    for (int i = 0; i < forecasts[plan].count && forecasts[plan].all[i].nominal <= now; i++)
        expected[outcome_at(&forecasts[plan].all[i], now)]++;
    for (size_t i = 0; i < v.r.ledger_count; i++)
        before = check_entry(plan, &v.r.ledger[i], now, before);
    for (int i = 0; i < LEDGER_OUTCOME_COUNT; i++)
        if (v.r.totals[i] != expected[i])
            fail_msg("r%02zu (%s) at %s: %d %s %s, not %d", plan, plans[plan].rule, when(now),
                     (int)v.r.totals[i], ledger_word((enum ledger_outcome)i),
                     ledger_why((enum ledger_outcome)i), (int)expected[i]);
    if (v.r.queued != expected[LEDGER_OUTCOME_COUNT])
        fail_msg("r%02zu (%s) at %s: %d are queued, not %d", plan, plans[plan].rule, when(now),
                 (int)v.r.queued, (int)expected[LEDGER_OUTCOME_COUNT]);
}

static void check_ledgers(void)
{
    for (size_t i = 0; i < PLANS; i++)
        check_ledger(i, minute_of(now_ms));
}

/* ---- The year ---- */

static void follow_script(void)
{
    for (; next_event < EVENTS && events[next_event].at <= minute_of(now_ms); next_event++)
        maintain(events[next_event].on);
}

/* Every other time it crashes, in the middle of what it does at that moment. */
static void go_down(const struct outage *x)
{
    if (outage_count++ % 2) {
        engine_advance(e, now_ms, now_ms - YEAR_MS + DAY_MS);
        partition_work(p, INT64_MAX);
    }
    partition_close(p);
    now_ms = YEAR_MS + x->to * MINUTE_MS;
    open_partition();
}

static void run_moment(void)
{
    bool down = next_outage < OUTAGES && now_ms == YEAR_MS + outages[next_outage].from * MINUTE_MS;

    if (down)
        go_down(&outages[next_outage++]);
    engine_advance(e, now_ms, now_ms - YEAR_MS + DAY_MS);
    follow_script();
    settle();
    work();
    if (now_ms >= YEAR_MS && minute_of(now_ms) < YEAR &&
        (down || (now_ms - YEAR_MS) % (LOOK * MINUTE_MS) == 0))
        check_ledgers();
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* From one wake to the next, up to a minute that is included. */
static void run_up_to(int last)
{
    int64_t end_ms = YEAR_MS + last * MINUTE_MS;

    while (now_ms < end_ms) {
        int64_t next = earlier(next_wake(), end_ms);
        int64_t since = now_ms - YEAR_MS + LEAD_MS, look = LOOK * MINUTE_MS;

        next = earlier(next, YEAR_MS - LEAD_MS + (since / look + 1) * look);
        if (now_ms >= YEAR_MS)
            next = earlier(next, YEAR_MS + ((now_ms - YEAR_MS) / look + 1) * look);
        if (next_outage < OUTAGES)
            next = earlier(next, YEAR_MS + outages[next_outage].from * MINUTE_MS);
        if (next_event < EVENTS)
            next = earlier(next, YEAR_MS + events[next_event].at * MINUTE_MS);
        assert_true(next > now_ms);
        now_ms = next;
        run_moment();
    }
}

static void check_all_delivered(void)
{
    int fates[FATES] = { 0 };

    for (size_t i = 0; i < PLANS; i++) {
        for (int k = 0; k < forecasts[i].count; k++) {
            const struct occurrence *o = &forecasts[i].all[k];
            int due = o->fate == MADE && o->made < SPAN ? o->deliveries : 0;

            fates[o->fate]++;
            if (o->seen != due)
                fail_msg("r%02zu (%s), the one of %s: delivered %d times, not %d; it was to be at "
                         "%s",
                         i, plans[i].rule, when(o->nominal), o->seen, due, when(o->delivery[0]));
        }
        assert_true(forecasts[i].count > 0);
    }
    print_message("%d made, %d skipped as one was under way, %d missed; %d deliveries "
                  "of which %d failed at first\n",
                  fates[MADE], fates[SKIPPED_BUSY], fates[SKIPPED_LATE], (int)delivered_count,
                  (int)failed_count);
    for (int i = 0; i < FATES; i++)
        assert_true(fates[i] > 0); /* the script is good for something */
}

static void foresee_all(void)
{
    const char *zones[] = { LONDON, NEW_YORK, LORD_HOWE, KATHMANDU };

    plan_outages();
    plan_maintenance();
    fill_quiet();
    for (int i = 0; i < 4; i++)
        fill_zone(zones[i]);
    assert_int_equal(clock_at(0).hour * 60 + clock_at(0).min, 5 * 60 + 45); /* there are zones */
    for (size_t i = 0; i < PLANS; i++)
        foresee(i);
    setenv("TZ", "UTC", 1);
    tzset();
}

static void a_year_goes_as_foreseen(void **state)
{
    struct engine_stats s;

    (void)state;
    foresee_all();
    now_ms = YEAR_MS - LEAD_MS;
    assert_int_equal(store_open("memory:", NULL, &store), 0);
    open_partition();
    set_up();
    run_up_to(YEAR - 1);
    check_ledgers();
    for (size_t i = 0; i < PLANS; i++)
        assert_int_equal(engine_recurrence_delete(e, STR("acme"), name_of(i)), 0);
    run_up_to(SPAN - 1);
    check_all_delivered();
    engine_stats(e, &s);
    assert_int_equal(s.jobs[JOB_SCHEDULED] + s.jobs[JOB_READY] + s.jobs[JOB_LEASED], 0);
    engine_verify(e);
    partition_close(p);
    store_close(store);
    for (size_t i = 0; i < PLANS; i++)
        free(forecasts[i].all);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_year_goes_as_foreseen) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
