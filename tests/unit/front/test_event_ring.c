/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "front/event_ring.h"

static struct event_ring ring;
static char text[1200];

/* An event that tells its number in each of its parts. */
static void put(uint64_t n, size_t more)
{
    char error[1100];
    struct job_event ev = { .lsn = n, .attempt = (uint32_t)n };
    size_t len = (size_t)snprintf(error, sizeof(error), "%llu", (unsigned long long)n);

    memset(error + len, 'x', more);
    ev.tenant = STR("acme");
    ev.queue = STR("q");
    ev.error = (struct str){ error, len + more };
    event_ring_put(&ring, &ev);
}

static void expect(struct event_cursor *c, uint64_t n)
{
    struct job_event ev;
    uint64_t missed;

    assert_int_equal(event_ring_read(&ring, c, &ev, &missed), EVENT_READ_ONE);
    assert_int_equal(ev.attempt, n);
    assert_int_equal(c->number, n + 1);
    snprintf(text, sizeof(text), "%.*s", STR_ARG(ev.error));
    assert_int_equal(strtoull(text, NULL, 10), n);
    assert_true(str_eq(ev.tenant, STR("acme")) && str_eq(ev.queue, STR("q")) && !ev.worker.len);
}

static void expect_none(struct event_cursor *c)
{
    struct job_event ev;
    uint64_t missed;

    assert_int_equal(event_ring_read(&ring, c, &ev, &missed), EVENT_READ_NONE);
}

static uint64_t expect_gap(struct event_cursor *c)
{
    struct job_event ev;
    uint64_t missed;

    assert_int_equal(event_ring_read(&ring, c, &ev, &missed), EVENT_READ_GAP);
    return missed;
}

static int open_ring(void **state)
{
    (void)state;
    ring = (struct event_ring){ 0 };
    return event_ring_open(&ring, EVENT_RING_MIN);
}

static int close_ring(void **state)
{
    (void)state;
    event_ring_close(&ring);
    return 0;
}

static void nothing_is_read_before_it_is_durable(void **state)
{
    struct event_cursor c = event_ring_end(&ring);

    (void)state;
    for (uint64_t n = 1; n <= 5; n++)
        put(n, 0);
    expect_none(&c);
    assert_false(event_ring_settle(&ring, 0));
    assert_true(event_ring_settle(&ring, 2));
    expect(&c, 1);
    expect(&c, 2);
    expect_none(&c);
    assert_false(event_ring_settle(&ring, 2));
    assert_true(event_ring_settle(&ring, 99));
    for (uint64_t n = 3; n <= 5; n++)
        expect(&c, n);
    expect_none(&c);
}

/* A reader at every distance, sizes of every kind: each reads all in order, or is told exactly how
 * many it missed. */
static void readers_get_every_event_or_the_number_missed(void **state)
{
    struct event_cursor readers[8];
    uint64_t pending[8] = { 0 };
    uint64_t random = 42, last = 0;
    size_t gaps = 0;

    (void)state;
    for (int i = 0; i < 8; i++)
        readers[i] = event_ring_end(&ring);
    while (last < 20000) {
        int i = (int)(random >> 40) % 8;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        put(++last, random >> 60 == 0 ? (random >> 50) % 1000 : (random >> 50) % 60);
        if (random >> 33 & 1)
            event_ring_settle(&ring, last - (random >> 35) % 3);
        if (i > (int)(random >> 57) % 64 / 8) /* some hardly ever read */
            continue;
        while (readers[i].number < ring.settled) {
            if (readers[i].number < ring.first) {
                uint64_t was = readers[i].number;

                assert_int_equal(expect_gap(&readers[i]), ring.first - was);
                assert_int_equal(readers[i].number, ring.first);
                gaps++;
            } else {
                expect(&readers[i], readers[i].number);
                pending[i]++;
            }
        }
    }
    assert_true(gaps > 3);
    for (int i = 0; i < 4; i++)
        assert_true(pending[i] > 100);
    assert_true(ring.next - ring.first < 1000 && ring.next - ring.first > 100);
}

/* The reader stopped behind the last event before the ring wraps. A lap later other bytes stand at
 * that place. The event that the reader reads next is still at the start of the ring. */
static void a_reader_that_stopped_where_the_ring_wraps_goes_on_at_the_start(void **state)
{
    struct event_cursor c = event_ring_end(&ring);
    uint64_t n = 0, at_start;
    size_t bare;

    (void)state;
    for (size_t head = 0; ring.head >= head;) {
        while (c.number < ring.settled)
            expect(&c, c.number);
        head = ring.head;
        put(++n, 700);
        event_ring_settle(&ring, n);
    }
    at_start = n;
    assert_int_equal(c.number, at_start);
    bare = ring.head - 700;
    while (ring.head + 2 * bare + 100 < c.at) {
        put(++n, 0);
        event_ring_settle(&ring, n);
    }
    put(++n, ring.size - ring.head - bare - 16); /* its text is where the reader stopped */
    event_ring_settle(&ring, n);
    assert_true(ring.head > c.at && ring.first <= at_start); /* what was behind it is overwritten */
    for (uint64_t i = at_start; i <= n; i++)
        expect(&c, i);
    expect_none(&c);
}

static void what_was_not_durable_and_was_overwritten_is_missed(void **state)
{
    struct event_cursor c = event_ring_end(&ring);

    (void)state;
    for (uint64_t n = 1; n <= 2000; n++)
        put(n, 100);
    assert_true(ring.first > 1);
    assert_int_equal(expect_gap(&c), ring.first - 1);
    expect_none(&c);
    event_ring_settle(&ring, ring.first);
    expect(&c, ring.first);
    expect_none(&c);
}

static void who_comes_back_goes_on_behind_what_it_saw(void **state)
{
    struct event_cursor c;

    (void)state;
    for (uint64_t n = 1; n <= 10; n++)
        put(n, 0);
    event_ring_settle(&ring, 8);
    c = event_ring_behind(&ring, 0);
    expect(&c, 1);
    c = event_ring_behind(&ring, 5);
    expect(&c, 6);
    c = event_ring_behind(&ring, 8);
    expect_none(&c);
    event_ring_settle(&ring, 9);
    expect(&c, 9);
    c = event_ring_behind(&ring, 10); /* nobody was shown that one */
    assert_true(expect_gap(&c) == EVENTS_UNKNOWN);
    expect(&c, 1);
    for (uint64_t n = 11; n <= 2000; n++)
        put(n, 100);
    c = event_ring_behind(&ring, 3);
    assert_int_equal(expect_gap(&c), ring.first - 4);
    c = event_ring_lost(&ring);
    assert_true(expect_gap(&c) == EVENTS_UNKNOWN);
}

static void after_a_break_nobody_knows_how_many_were_missed(void **state)
{
    struct event_cursor c, end;

    (void)state;
    put(1, 0);
    put(2, 0);
    event_ring_settle(&ring, 2);
    event_ring_close(&ring);
    assert_int_equal(event_ring_open(&ring, EVENT_RING_MIN), 0);
    c = event_ring_behind(&ring, 2);
    assert_true(expect_gap(&c) == EVENTS_UNKNOWN);
    expect_none(&c);
    end = event_ring_end(&ring);
    c = event_ring_behind(&ring, end.number - 1); /* as a stream's first id says */
    expect_none(&c);
}

#define RING(name) cmocka_unit_test_setup_teardown(name, open_ring, close_ring)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING(nothing_is_read_before_it_is_durable),
        RING(readers_get_every_event_or_the_number_missed),
        RING(a_reader_that_stopped_where_the_ring_wraps_goes_on_at_the_start),
        RING(what_was_not_durable_and_was_overwritten_is_missed),
        RING(who_comes_back_goes_on_behind_what_it_saw),
        RING(after_a_break_nobody_knows_how_many_were_missed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
