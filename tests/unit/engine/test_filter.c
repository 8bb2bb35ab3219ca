/* SPDX-License-Identifier: MIT */
/* Which jobs a filter of LIST lets pass. */
#include "support/tenants.h"

static struct list_filter any(void)
{
    return (struct list_filter){ .state = -1, .to_ms = INT64_MAX, .limit = 100 };
}

/* Sequence numbers as bits. */
static int note(void *arg, const struct job_view *v)
{
    *(uint64_t *)arg |= UINT64_C(1) << v->id.seq;
    return 0;
}

static uint64_t listed(struct list_filter f)
{
    struct list_cursor c = { 0 };
    uint64_t seen = 0;

    assert_int_equal(engine_list(e, &f, note, &seen, &c), 0);
    assert_false(c.more);
    return seen;
}

static uint64_t bit(struct job_id id)
{
    return UINT64_C(1) << id.seq;
}

static struct job_id add(const char *key, const char *order)
{
    struct job_spec spec = spec_of("q");
    struct schedule_result r;

    spec.key = str_of(key);
    spec.order = str_of(order);
    assert_int_equal(engine_schedule(e, &spec, &r), 0);
    return r.id;
}

/* Leases the next job for a worker of this name. */
static uint64_t take(const char *worker)
{
    struct str queue = STR("q");
    struct lease_request r = request_for(&queue, 1);
    struct job *job;
    struct job_view v;

    r.worker = str_of(worker);
    assert_int_equal(engine_lease(e, &r, &job), 1);
    engine_view(e, job, &v);
    return v.token;
}

static void give_up(struct job_id id, uint64_t token, const char *why)
{
    struct fail_result f;

    assert_int_equal(engine_fail(e, id, token, str_of(why), -1, true, &f), 0);
}

static void keys_are_known_by_their_beginning_and_by_their_order(void **state)
{
    struct job_id one = add("user-1/a", ""), two = add("user-1/b", "o"),
                  other = add("user-10", "oo");
    struct list_filter f = any();

    (void)state;
    add("", "");
    f.key_prefix = STR("user-1/");
    assert_int_equal(listed(f), bit(one) | bit(two));
    f.key_prefix = STR("user-1");
    assert_int_equal(listed(f), bit(one) | bit(two) | bit(other));
    f.order = STR("o");
    assert_int_equal(listed(f), bit(two));
    f = any();
    f.order = STR("oo");
    assert_int_equal(listed(f), bit(other));
    f.key_prefix = STR("user-10/");
    assert_int_equal(listed(f), 0);
}

static void a_worker_has_its_present_jobs_and_its_past_ones(void **state)
{
    struct job_id now = add("", ""), past = add("", ""), others = add("", "");
    struct list_filter f = any();

    (void)state;
    take("w");
    give_up(past, take("w"), "no");
    take("x");
    add("", "");
    f.worker = STR("w");
    assert_int_equal(listed(f), bit(now) | bit(past));
    f.states = 1u << JOB_LEASED;
    assert_int_equal(listed(f), bit(now));
    f.worker = STR("x");
    assert_int_equal(listed(f), bit(others));
    f.worker = STR("xx");
    assert_int_equal(listed(f), 0);
}

static void errors_are_found_by_a_part_of_them(void **state)
{
    struct job_id one = add("", ""), two = add("", "");
    struct list_filter f = any();

    (void)state;
    add("", "");
    give_up(one, take("w"), "connect: timeout after 5 s");
    give_up(two, take("w"), "refused");
    f.error = STR("timeout");
    assert_int_equal(listed(f), bit(one));
    f.error = STR("refused");
    assert_int_equal(listed(f), bit(two));
    f.error = STR("refused.");
    assert_int_equal(listed(f), 0);
    f.error = STR("e");
    assert_int_equal(listed(f), bit(one) | bit(two));
}

static void ends_are_within_their_window(void **state)
{
    struct job_id one = add("", ""), two = add("", "");
    struct list_filter f = any();
    int64_t first = wall;

    (void)state;
    add("", "");
    give_up(one, take("w"), "no");
    pass(MINUTE);
    give_up(two, take("w"), "no");
    f.ended_from_ms = first;
    assert_int_equal(listed(f), bit(one) | bit(two));
    f.ended_from_ms = first + 1;
    assert_int_equal(listed(f), bit(two));
    f.ended_to_ms = wall;
    assert_int_equal(listed(f), 0);
    f.ended_from_ms = 0;
    assert_int_equal(listed(f), bit(one));
    f.ended_to_ms = wall + 1;
    assert_int_equal(listed(f), bit(one) | bit(two));
}

static void several_states_pass_together(void **state)
{
    struct job_id leased = add("", ""), dead = add("", ""), ready = add("", "");
    struct list_filter f = any();

    (void)state;
    take("w");
    give_up(dead, take("w"), "no");
    f.states = 1u << JOB_LEASED | 1u << JOB_DEAD;
    assert_int_equal(listed(f), bit(leased) | bit(dead));
    f.states = 1u << JOB_READY | 1u << JOB_DONE;
    assert_int_equal(listed(f), bit(ready));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(keys_are_known_by_their_beginning_and_by_their_order),
        TEST(a_worker_has_its_present_jobs_and_its_past_ones),
        TEST(errors_are_found_by_a_part_of_them),
        TEST(ends_are_within_their_window),
        TEST(several_states_pass_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
