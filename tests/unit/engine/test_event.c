/* SPDX-License-Identifier: MIT */
/* What an engine tells of its jobs. */
#include "support/tenants.h"

#include "engine/audit.h"

static char seen[8192];
static size_t count;
static uint64_t last_lsn;
static struct job_event last; /* its slices are gone */

static void note(void *host, const struct job_event *ev)
{
    size_t n = strlen(seen);

    (void)host;
    assert_true(ev->lsn > last_lsn && ev->lsn == engine_lsn(e));
    assert_int_equal(ev->now_ms, wall);
    last_lsn = ev->lsn;
    last = *ev;
    count++;
    snprintf(seen + n, sizeof(seen) - n, "%.*s@%.*s %s>%s %s #%u%s%s%s%.*s%s%.*s%s%.*s; ",
             STR_ARG(ev->tenant), STR_ARG(ev->queue),
             ev->from < 0 ? "none" : job_state_name((enum job_state)ev->from),
             job_state_name(ev->state), event_cause_name(ev->cause), ev->attempt,
             ev->outcome < 0 ? "" : " ",
             ev->outcome < 0 ? "" : attempt_outcome_name((unsigned)ev->outcome),
             ev->worker.len ? " by " : "", STR_ARG(ev->worker), ev->error.len ? ": " : "",
             STR_ARG(ev->error), ev->trace.len ? " in " : "", STR_ARG(ev->trace));
}

static void open_engine(uint64_t epoch, bool listen)
{
    e = engine_new(&(struct engine_options){
        .epoch = epoch, .seed = 42, .zone = zone_named, .event = note, .listen = listen });
    buf_reserve(&journal, 4096);
}

static int listening(void **state)
{
    (void)state;
    wall = START;
    mono = 1000;
    seen[0] = '\0';
    count = last_lsn = 0;
    open_engine(1, true);
    engine_direct(e, &journal, 1, true, 0);
    engine_start(e, wall, mono, false);
    return 0;
}

/* What was told since this was last asked. */
static const char *told(void)
{
    static char copy[sizeof(seen)];

    strcpy(copy, seen);
    seen[0] = '\0';
    return copy;
}

static struct job_view take(const char *queue)
{
    struct str name = str_of(queue);
    struct lease_request r = request_for(&name, 1);
    struct job_view v;
    struct job *job;

    r.worker = STR("ann");
    assert_int_equal(engine_lease(e, &r, &job), 1);
    engine_view(e, job, &v);
    return v;
}

static void the_life_of_a_job_is_told_step_by_step(void **state)
{
    struct fail_result f;
    struct job_view v;
    struct job_id id = schedule("acme@q");

    (void)state;
    assert_string_equal(told(), "acme@q none>scheduled created #0; ");
    assert_int_equal(last.id.seq, id.seq);
    assert_int_equal(last.at_ms, START);
    pass(250);
    v = take("acme@q");
    assert_string_equal(told(), "acme@q ready>leased leased #1 by ann; ");
    assert_int_equal(last.late_ms, 250);
    pass(100);
    assert_int_equal(engine_fail(e, id, v.token, STR("boom"), 5000, false, &f), 0);
    assert_string_equal(told(), "acme@q leased>scheduled retried #1 failed by ann: boom; ");
    assert_int_equal(last.at_ms, wall + 5000);
    assert_int_equal(last.start_ms, wall - 100);
    assert_int_equal(last.due_ms, START);
    pass(5000);
    assert_string_equal(told(), ""); /* becoming ready is no event */
    v = take("acme@q");
    assert_int_equal(engine_release(e, id, v.token, 0), 0);
    assert_string_equal(told(), "acme@q ready>leased leased #2 by ann; "
                                "acme@q leased>scheduled released #2 released by ann; ");
    v = take("acme@q");
    assert_int_equal(engine_complete(e, id, v.token, (struct str){ 0 }, 1000), 0);
    assert_string_equal(told(), "acme@q ready>leased leased #2 by ann; "
                                "acme@q leased>scheduled again #2 again by ann; ");
    assert_int_equal(engine_reschedule(e, id, wall + 60000), 0);
    assert_string_equal(told(), "acme@q scheduled>scheduled rescheduled #0; ");
    assert_int_equal(last.due_ms, wall + 60000);
    pass(60000);
    v = take("acme@q");
    complete(id, v.token);
    assert_string_equal(told(), "acme@q ready>leased leased #1 by ann; "
                                "acme@q leased>done ended #1 done by ann; ");
    assert_int_equal(engine_delete(e, id),
                     0); /* it is done; that it is forgotten changes nothing */
    pass(DAY);
    assert_string_equal(told(), "");
}

static void stalls_deaths_and_those_put_back_are_told(void **state)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct fail_result f;
    struct job_view v;

    (void)state;
    spec.attempts = 2;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    take("q");
    told();
    pass(3600001);
    assert_string_equal(told(), "default@q leased>scheduled retried #1 stalled by ann: "
                                "the lease ended without a word; ");
    pass(DAY);
    v = take("q");
    assert_int_equal(engine_fail(e, r.id, v.token, STR("no"), -1, false, &f), 0);
    assert_string_equal(told(), "default@q ready>leased leased #2 by ann; "
                                "default@q leased>dead ended #2 failed by ann: no; ");
    assert_int_equal(engine_redrive(e, r.id), 0);
    assert_string_equal(told(), "default@q dead>scheduled redriven #0; ");
    assert_int_equal(engine_cancel(e, r.id), CANCEL_CANCELLED);
    assert_string_equal(told(), "default@q ready>cancelled ended #0; ");
}

static void a_cancelled_attempt_ends_once(void **state)
{
    struct job_id id = schedule("q");
    struct job_view v = take("q");
    struct fail_result f;

    (void)state;
    told();
    assert_int_equal(engine_cancel(e, id), CANCEL_RUNNING); /* a mark, no change yet */
    assert_string_equal(told(), "");
    assert_int_equal(engine_fail(e, id, v.token, STR("stopped"), -1, false, &f), 0);
    assert_string_equal(told(), "default@q leased>cancelled ended #1 failed by ann: stopped; ");
}

static void replacing_is_told_at_once_or_when_the_attempt_has_ended(void **state)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct job_view v;

    (void)state;
    spec.key = STR("k");
    spec.if_exists = IFEXISTS_REPLACE;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    told();
    spec.due_ms = wall + 1000;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_string_equal(told(), "default@q ready>scheduled replaced #0; ");
    assert_int_equal(last.due_ms, wall + 1000);
    pass(1000);
    v = take("q");
    told();
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_string_equal(told(), "");
    complete(r.id, v.token);
    assert_string_equal(told(), "default@q leased>scheduled replaced #1 done by ann; ");
    spec.if_exists = IFEXISTS_KEEP;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_string_equal(told(), "");
}

static void those_that_wait_are_told_of_when_they_no_longer_do(void **state)
{
    struct job_id parents[2] = { schedule("a"), schedule("a") };
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct job_view v;

    (void)state;
    told();
    spec.after = parents;
    spec.after_count = 2;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_string_equal(told(), "default@q none>waiting created #0; ");
    assert_int_equal(last.at_ms, -1);
    v = take("a");
    complete(v.id, v.token);
    while (engine_task(e) > 0)
        ;
    assert_string_equal(told(), "default@a ready>leased leased #1 by ann; "
                                "default@a leased>done ended #1 done by ann; ");
    v = take("a");
    complete(v.id, v.token);
    told();
    while (engine_task(e) > 0)
        ;
    assert_string_equal(told(), "default@q waiting>scheduled unblocked #0; ");
    assert_int_equal(last.at_ms, wall);
}

static void expiring_and_quiet_hours_are_told(void **state)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct job *job;

    (void)state;
    spec.expire_ms = 1000;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    pass(1000);
    assert_string_equal(told(), "default@q none>scheduled created #0; "
                                "default@q ready>expired ended #0; ");
    be_quiet("acme", MINUTE, 0);
    spec = spec_of("acme@q");
    spec.notify = true;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(lease_some("acme@q", 1, &job), 0);
    assert_string_equal(told(), "acme@q none>scheduled created #0; "
                                "acme@q ready>scheduled deferred #0; ");
    assert_int_equal(last.at_ms, wall + MINUTE);
}

static void the_trace_comes_along_and_an_overlong_one_is_none(void **state)
{
    char longer[EVENT_TRACE_MAX + 1];
    struct meta meta[] = { { STR("x"), STR("y") }, { STR("traceparent"), STR("00-ab-cd-01") } };
    struct job_spec spec = spec_of("q");
    struct schedule_result r;

    (void)state;
    spec.meta = meta;
    spec.meta_count = 2;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_string_equal(told(), "default@q none>scheduled created #0 in 00-ab-cd-01; ");
    take("q");
    assert_string_equal(told(), "default@q ready>leased leased #1 by ann in 00-ab-cd-01; ");
    memset(longer, 'a', sizeof(longer));
    meta[1].value = (struct str){ longer, sizeof(longer) };
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_string_equal(told(), "default@q none>scheduled created #0; ");
}

static void nobody_is_told_of_hidden_queues_refusals_or_a_replay(void **state)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;
    struct buf first;
    size_t before;

    (void)state;
    spec.priority = 9;
    assert_true(engine_schedule(e, &spec, &r) < 0);
    assert_int_equal(engine_audit(e, &(struct audit_entry){ .tenant = STR("acme"),
                                                            .verb = STR("QUEUE"),
                                                            .request = STR("x"),
                                                            .outcome = STR("OK") }),
                     0);
    assert_string_equal(told(), "");
    schedule_many("q", 5);
    take("q");
    before = count;
    assert_int_equal(before, 6);

    first = journal;
    engine_free(e);
    journal = (struct buf){ 0 };
    open_engine(2, true);
    assert_int_equal(engine_replay(e, buf_view(&first), 1), 0);
    engine_direct(e, &journal, 2, true, 1);
    engine_start(e, wall, mono, false);
    buf_fini(&first);
    assert_int_equal(count, before);
    last_lsn = 0;
    schedule("q");
    assert_int_equal(count, before + 1);
}

static void who_does_not_listen_is_not_told(void **state)
{
    (void)state;
    engine_listen(e, false);
    schedule("q");
    assert_int_equal(count, 0);
    engine_listen(e, true);
    take("q");
    assert_string_equal(told(), "default@q ready>leased leased #1 by ann; ");
}

#define LISTENING(name) cmocka_unit_test_setup_teardown(name, listening, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LISTENING(the_life_of_a_job_is_told_step_by_step),
        LISTENING(stalls_deaths_and_those_put_back_are_told),
        LISTENING(a_cancelled_attempt_ends_once),
        LISTENING(replacing_is_told_at_once_or_when_the_attempt_has_ended),
        LISTENING(those_that_wait_are_told_of_when_they_no_longer_do),
        LISTENING(expiring_and_quiet_hours_are_told),
        LISTENING(the_trace_comes_along_and_an_overlong_one_is_none),
        LISTENING(nobody_is_told_of_hidden_queues_refusals_or_a_replay),
        LISTENING(who_does_not_listen_is_not_told),
    };
    (void)setup;

    return cmocka_run_group_tests(tests, NULL, NULL);
}
