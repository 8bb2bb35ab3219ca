/* SPDX-License-Identifier: MIT */
/* LEASE takes a part of a job's view. It shows of it what the whole view shows. */
#include "verbs/handlers.h" /* first: its own names come before those of the tests */

#include "engine/holder.h"
#include "front/resp.h"
#include "support/tenants.h"

static struct buf shown_of(struct job_view *v)
{
    struct buf out = { 0 };
    struct resp_reply reply = resp_reply_of(&out, 3);

    if (v->recurrence.len == 0)
        v->nominal_ms = -1;
    shape_put(&reply.base, lease_fields, v);
    return out;
}

/* Members that a view leaves out keep bytes that no job has. */
static void assert_shown(const struct job *j)
{
    struct job_view whole, part;

    memset(&whole, 0xa5, sizeof(whole));
    memset(&part, 0x5a, sizeof(part));
    engine_view(e, j, &whole);
    engine_view_lease(e, j, &part);
    struct buf expected = shown_of(&whole), got = shown_of(&part);
    assert_true(str_eq(buf_view(&got), buf_view(&expected)));
    buf_fini(&expected);
    buf_fini(&got);
}

static void lease_shows_what_the_whole_view_shows(void **state)
{
    struct job_spec plain = spec_of("acme@q"), full = spec_of("acme@q"), labelled;
    struct str tags[] = { STR("red"), STR("blue") };
    struct meta meta[] = { { STR("trace"), STR("1-2") } };
    struct schedule_result r;
    struct job *jobs[3];

    (void)state;
    full.key = STR("key");
    full.order = STR("order");
    full.payload = STR("payload");
    full.priority = 2;
    full.lease_ms = 12345;
    labelled = plain;
    labelled.tags = tags;
    labelled.tag_count = 2;
    labelled.meta = meta;
    labelled.meta_count = 1;
    assert_int_equal(engine_schedule(e, &plain, &r), 0);
    assert_int_equal(engine_schedule(e, &full, &r), 0);
    assert_int_equal(engine_schedule(e, &labelled, &r), 0);
    assert_int_equal(lease_some("acme@q", 3, jobs), 3);
    for (int i = 0; i < 3; i++)
        assert_shown(jobs[i]);
}

static void lease_shows_the_recurrence_of_a_job(void **state)
{
    struct recurrence_spec spec = {
        .tenant = STR(TENANT_DEFAULT),
        .name = STR("hourly"),
        .job = spec_of("q"),
        .kind = RECUR_EVERY,
        .rule = STR("1h"),
        .zone = STR("UTC"),
        .start_ms = -1,
    };
    struct job_id id;
    struct job *job;

    (void)state;
    assert_int_equal(engine_recur(e, &spec), 0);
    assert_int_equal(engine_recurrence_run(e, spec.tenant, spec.name, &id), 0);
    pass(MINUTE);
    assert_int_equal(lease_some("q", 1, &job), 1);
    assert_shown(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lease_shows_what_the_whole_view_shows),
        TEST(lease_shows_the_recurrence_of_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
