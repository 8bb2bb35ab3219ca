/* SPDX-License-Identifier: MIT */
/* Figures over time: minutes, hours, clocks that are set, and many queues. */
#include "engine/series.h"

#include <stdio.h>

#include "engine/place/pulse.h"
#include "support/tenants.h"

#define HOUR (60 * MINUTE)

struct seen {
    size_t steps;
    uint64_t scheduled;
    struct series_step last;
};

static int note(void *arg, const struct series_step *s)
{
    struct seen *seen = arg;

    assert_true(seen->steps == 0 || s->from_ms > seen->last.from_ms);
    seen->steps++;
    seen->scheduled += s->row.counts[SERIES_scheduled];
    seen->last = *s;
    return 0;
}

static struct seen look(const char *tenant, const char *queue, bool hours)
{
    struct series_filter f = { str_of(tenant), str_of(queue), hours, 0, INT64_MAX, 1000 };
    struct list_cursor cursor = { 0 };
    struct seen seen = { 0 };

    do
        assert_int_equal(engine_series(e, &f, note, &seen, &cursor), 0);
    while (cursor.more);
    return seen;
}

/* When the engine wants to wake by the wall clock. */
static int64_t wake(void)
{
    int64_t at_wall, at_mono;

    engine_next_wake(e, &at_wall, &at_mono);
    return at_wall;
}

static void set_clock(int64_t to)
{
    wall = to;
    advance();
}

static void to_next_minute(void)
{
    pass(MINUTE - wall % MINUTE);
}

static void a_minute_is_shown_when_it_is_over(void **state)
{
    int64_t minute = wall - wall % MINUTE;

    (void)state;
    schedule("q");
    schedule("q");
    schedule("acme@q");
    assert_int_equal(look("*", "", false).steps, 0);
    assert_int_equal(wake(), minute + MINUTE);
    to_next_minute();
    assert_int_equal(look("*", "", false).scheduled, 3);
    assert_int_equal(look("default", "", false).scheduled, 2);
    assert_int_equal(look("acme", "", true).scheduled, 1);
    assert_int_equal(look("acme", "acme@q", false).scheduled, 1);
    struct seen q = look("default", "q", false);
    assert_int_equal(q.scheduled, 2);
    assert_int_equal(q.last.from_ms, minute);
    assert_int_equal(q.last.row.ready, 2);
    assert_int_equal(look("*", "never", false).steps, 0);
    assert_int_equal(wake(), INT64_MAX); /* it sleeps: nothing happened in this minute */
}

static void replay_gives_the_same_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 70; i++) {
        schedule("q");
        to_next_minute();
    }
    uint64_t before = series_hash(e);
    assert_int_equal(look("default", "q", true).scheduled, 70);
    schedule("q"); /* in the running minute, which is lost */
    replay();
    assert_int_equal(series_hash(e), before);
    assert_int_equal(look("default", "q", false).steps, 70);
    series_verify(e);
}

static void a_minute_that_comes_again_is_added(void **state)
{
    int64_t begin;

    (void)state;
    to_next_minute();
    begin = wall;
    schedule("q");
    set_clock(begin + 300 * HOUR); /* it ends at once, and there is no catching up */
    assert_int_equal(look("*", "", false).steps, 1);
    schedule("q");
    set_clock(begin);
    assert_int_equal(look("*", "", false).steps, 2);
    schedule("q");
    set_clock(begin + MINUTE);
    assert_int_equal(look("*", "", false).steps, 2);
    assert_int_equal(look("*", "", false).scheduled, 3);
    assert_int_equal(look("*", "", true).steps, 2);
    series_verify(e);
}

/* Steps far ahead, of a clock that was wrong, make room for those of the right day. */
static void old_steps_and_wrong_ones_go(void **state)
{
    (void)state;
    int64_t begin = wall + 400 * DAY;
    for (int i = 0; i < 5; i++) {
        set_clock(begin + i * MINUTE);
        schedule("q");
    }
    set_clock(START);
    for (int i = 0; i < STEP_MINUTES_MAX + 10; i++) {
        schedule("q");
        to_next_minute();
    }
    struct seen q = look("default", "q", false);
    assert_int_equal(q.steps, STEP_MINUTES_MAX);
    assert_true(q.last.from_ms < begin);
    assert_int_equal(look("default", "q", true).scheduled, STEP_MINUTES_MAX + 15);
}

/* 3000 queues, more than a slice. Some act again before the rows of their minute are made. */
static void counts_fall_into_their_minute(void **state)
{
    char name[32];

    (void)state;
    to_next_minute();
    int64_t minute = wall;
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "t%d@q%d", i % 3, i);
        schedule(name);
    }
    wall += MINUTE;
    mono += MINUTE;
    engine_advance(e, wall, mono);
    assert_int_equal(look("*", "", false).steps, 0); /* its rows are not all made */
    assert_int_equal(wake(), wall);
    for (int i = 0; i < 3000; i += 7) {
        snprintf(name, sizeof(name), "t%d@q%d", i % 3, i);
        schedule(name);
    }
    for (int i = 0; i < 20; i++)
        engine_advance(e, wall, mono);
    struct seen all = look("*", "", false);
    assert_int_equal(all.steps, 1);
    assert_int_equal(all.last.from_ms, minute);
    assert_int_equal(all.scheduled, 3000);
    assert_false(all.last.left_out);
    for (int t = 0; t < 3; t++) {
        snprintf(name, sizeof(name), "t%d", t);
        assert_int_equal(look(name, "", false).scheduled, 1000);
    }
    assert_true(look("t0", "t0@never", false).last.left_out);
    to_next_minute();
    assert_int_equal(look("*", "", false).last.row.counts[SERIES_scheduled], (3000 + 6) / 7);
    series_verify(e);
}

/* A tenant with one queue has a place, whatever the others have. */
static void a_small_tenant_keeps_its_place(void **state)
{
    char name[32];

    (void)state;
    to_next_minute();
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "big@q%d", i);
        schedule(name);
        schedule(name);
    }
    schedule("small@q");
    pass(MINUTE);
    for (int i = 0; i < 20; i++)
        engine_advance(e, wall, mono);
    struct seen small = look("small", "small@q", false);
    assert_int_equal(small.scheduled, 1);
    assert_false(small.last.left_out);
    assert_int_equal(look("big", "", false).scheduled, 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_minute_is_shown_when_it_is_over),  TEST(replay_gives_the_same_steps),
        TEST(a_minute_that_comes_again_is_added), TEST(old_steps_and_wrong_ones_go),
        TEST(counts_fall_into_their_minute),      TEST(a_small_tenant_keeps_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
