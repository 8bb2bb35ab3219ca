/* SPDX-License-Identifier: MIT */
/* The bytes that are kept of a tenant, and their limit. */
#include "engine/cold.h"
#include "engine/recurrence.h"
#include "record/coldkey.h"
#include "record/record_cold.h"
#include "support/tenants.h"

#define LARGE 10000

static char large[LARGE + 1];

static struct job_spec large_spec(const char *queue, size_t len)
{
    struct job_spec spec = spec_of(queue);

    memset(large, 'x', LARGE);
    spec.payload = (struct str){ large, len };
    return spec;
}

static int schedule_large(const char *queue, size_t len, struct job_id *ret)
{
    struct job_spec spec = large_spec(queue, len);
    struct schedule_result r = { 0 };
    int err = engine_schedule(e, &spec, &r);

    if (ret)
        *ret = r.id;
    return err;
}

static void limit(const char *name, int64_t bytes)
{
    set_tenant(name, TENANT_MAX_BYTES, (struct tenant_settings){ .max_bytes = bytes });
}

/* ---- What is counted ---- */

static void ended_jobs_count_until_they_are_forgotten(void **state)
{
    struct job_id id;
    struct job_view v;

    (void)state;
    assert_int_equal(schedule_large("a@q", 1000, &id), 0);
    assert_int_equal(engine_get(e, id, &v), 0);
    assert_true(v.kept_bytes > 1000 && v.kept_bytes < 1100);
    assert_int_equal(tenant("a").kept_bytes, v.kept_bytes);
    schedule("b@q");
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    assert_true(tenant("a").kept_bytes > 1000);
    replay();
    engine_verify(e);
    assert_int_equal(engine_get(e, id, &v), 0);
    assert_int_equal(tenant("a").kept_bytes, v.kept_bytes);
    pass(2 * DAY);
    engine_verify(e);
    assert_int_equal(tenant("a").kept_bytes, 0);
    assert_true(tenant("b").kept_bytes > 0);
}

static void a_result_counts(void **state)
{
    struct job_view v;

    (void)state;
    schedule("a@q");
    uint64_t before = tenant("a").kept_bytes;
    limit("a", (int64_t)before); /* completing goes on */
    assert_true(lease("a@q", &v));
    memset(large, 'r', LARGE);
    assert_int_equal(engine_complete(e, v.id, v.token, (struct str){ large, LARGE }, -1), 0);
    assert_true(tenant("a").kept_bytes > before + LARGE);
    engine_verify(e);
    assert_int_equal(schedule_large("a@q", 1, NULL), BELFRY_LIMIT);
}

/* ---- The limit ---- */

static void a_tenant_keeps_as_many_bytes_as_it_may(void **state)
{
    struct job_id id;

    (void)state;
    limit("a", 3000);
    assert_int_equal(schedule_large("a@q", 1000, NULL), 0);
    assert_int_equal(schedule_large("a@other", 1000, &id), 0);
    uint64_t kept = tenant("a").kept_bytes;
    assert_int_equal(schedule_large("a@third", 1000, NULL), BELFRY_LIMIT);
    assert_string_equal(engine_detail(e),
                        "max_bytes of a is 3000: 2108 are kept, and this takes 1056 more");
    assert_int_equal(tenant("a").kept_bytes, kept);
    assert_int_equal(schedule_large("a@third", 500, NULL), 0); /* a smaller one has room */
    assert_int_equal(schedule_large("b@third", LARGE, NULL), 0);
    replay();
    assert_int_equal(schedule_large("a@third", 1000, NULL), BELFRY_LIMIT);
    assert_int_equal(engine_cancel(e, id), CANCEL_CANCELLED);
    assert_int_equal(schedule_large("a@third", 1000, NULL), BELFRY_LIMIT); /* it is kept a day */
    pass(2 * DAY);
    assert_int_equal(schedule_large("a@third", 1000, NULL), 0);
    limit("a", 0);
    assert_int_equal(schedule_large("a@third", LARGE, NULL), 0);
}

static void a_replacement_may_not_grow_beyond_it(void **state)
{
    struct job_spec spec = large_spec("a@q", 1000);
    struct schedule_result r;
    struct job_view v;

    (void)state;
    spec.key = STR("k");
    spec.if_exists = IFEXISTS_REPLACE;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    limit("a", (int64_t)tenant("a").kept_bytes + 100);
    spec.payload.len = 1101;
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT);
    spec.payload.len = 1100;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(r.outcome, SCHEDULE_REPLACED);
    limit("a", 1);
    spec.payload.len = 1100;
    assert_int_equal(engine_schedule(e, &spec, &r), 0); /* it takes no more */
    spec.payload.len = 10;
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_true(lease("a@q", &v));
    assert_int_equal(engine_schedule(e, &spec, &r), BELFRY_LIMIT); /* both payloads are kept */
    limit("a", (int64_t)tenant("a").kept_bytes + 10);
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    assert_int_equal(engine_schedule(e, &spec, &r), 0); /* in place of the first replacement */
    engine_verify(e);
}

static void a_batch_has_room_as_a_whole(void **state)
{
    struct job_spec specs[3] = { large_spec("a@q", 1000), large_spec("a@r", 1000),
                                 large_spec("b@q", 1000) };
    struct schedule_result r[3];
    size_t at;

    (void)state;
    limit("a", 2000);
    assert_int_equal(engine_schedule_all(e, specs, 3, r, &at), BELFRY_LIMIT);
    assert_int_equal(at, 1);
    assert_int_equal(tenant("a").kept_bytes, 0);
    limit("a", 2200);
    assert_int_equal(engine_schedule_all(e, specs, 3, r, &at), 0);
    engine_verify(e);
}

static void a_recurrence_counts(void **state)
{
    struct recurrence_spec s = {
        .tenant = STR("a"),
        .name = STR("r"),
        .job = large_spec("a@q", 1000),
        .kind = RECUR_EVERY,
        .rule = STR("1h"),
        .zone = STR("UTC"),
        .start_ms = -1,
    };
    struct job_id id;

    (void)state;
    limit("a", 1500);
    assert_int_equal(engine_recur(e, &s), 0);
    assert_true(tenant("a").kept_bytes > 1000);
    engine_verify(e);
    s.job.payload.len = 2000;
    assert_int_equal(engine_recur(e, &s), BELFRY_LIMIT);
    s.name = STR("s");
    assert_int_equal(engine_recur(e, &s), BELFRY_LIMIT);
    assert_int_equal(engine_recurrence_run(e, STR("a"), STR("r"), &id), BELFRY_LIMIT);
    replay();
    engine_verify(e);
    assert_int_equal(engine_recurrence_delete(e, STR("a"), STR("r")), 0);
    assert_int_equal(tenant("a").kept_bytes, 0);
}

static void a_tenant_without_a_limit_has_that_of_the_server(void **state)
{
    (void)state;
    tenant_bytes = 3000;
    replay();
    assert_int_equal(schedule_large("new@q", LARGE, NULL), BELFRY_LIMIT);
    assert_string_equal(engine_detail(e), "tenant_bytes of the server is 3000: 0 of the tenant are "
                                          "kept, and this takes 10054 more");
    assert_int_equal(schedule_large("new@q", 2000, NULL), 0);
    assert_int_equal(schedule_large("new@q", 2000, NULL), BELFRY_LIMIT);
    limit("new", INT64_MAX);
    assert_int_equal(schedule_large("new@q", LARGE, NULL), 0);
    tenant_bytes = 0;
}

/* ---- Older versions ---- */

static void tallies_of_older_versions_have_a_guess(void **state)
{
    struct tally_entry t = { .queue = STR("q"), .slot = COLD_DONE, .n = 3, .bytes = 777 }, back;
    struct buf b = { 0 };
    struct wire_reader r;

    (void)state;
    tally_put(&b, &t);
    r = wire_reader_of(buf_view(&b));
    assert_true(tally_get(&r, &back));
    assert_int_equal(back.bytes, 777);
    b.len = 0;
    wire_put_bytes(&b, STR("q"));
    wire_put_u8(&b, COLD_DONE);
    wire_put_zigzag(&b, 3);
    r = wire_reader_of(buf_view(&b));
    assert_true(tally_get(&r, &back));
    assert_int_equal(back.n, 3);
    assert_int_equal(back.bytes, 3 * COLD_GUESS);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ended_jobs_count_until_they_are_forgotten),
        TEST(a_result_counts),
        TEST(a_tenant_keeps_as_many_bytes_as_it_may),
        TEST(a_replacement_may_not_grow_beyond_it),
        TEST(a_batch_has_room_as_a_whole),
        TEST(a_recurrence_counts),
        TEST(a_tenant_without_a_limit_has_that_of_the_server),
        TEST(tallies_of_older_versions_have_a_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
