/* SPDX-License-Identifier: MIT */
#include "server/replies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define LARGE ((size_t)4 << 20) /* more than a socket takes at once */

static int fds[2];
static struct replies replies;

static int setup(void **state)
{
    (void)state;
    replies = (struct replies){ 0 };
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds);
}

static int teardown(void **state)
{
    (void)state;
    replies_fini(&replies);
    close(fds[0]);
    close(fds[1]);
    return 0;
}

static void reply(const char *text, uint64_t lsn, uint64_t durable_lsn)
{
    buf_text(&replies.bytes, text);
    assert_true(replies_hold(&replies, lsn, durable_lsn));
}

/* Sends what may be sent, and looks whether that is `text`. */
static void expect(const char *text)
{
    char got[64];
    size_t len = strlen(text);

    assert_int_equal(replies_send(&replies, fds[0]), len);
    assert_int_equal(read(fds[1], got, sizeof(got)), len ? (ssize_t)len : -1);
    assert_memory_equal(got, text, len);
}

static void a_reply_leaves_when_its_records_are_durable(void **state)
{
    (void)state;
    reply("one", 5, 4);
    assert_true(replies_are_held(&replies));
    expect("");
    replies_release(&replies, 4);
    expect("");
    replies_release(&replies, 5);
    assert_false(replies_are_held(&replies));
    assert_true(replies_are_stuck(&replies));
    expect("one");
    assert_int_equal(replies_unsent(&replies), 0);
}

static void a_reply_to_what_is_durable_leaves_at_once(void **state)
{
    (void)state;
    reply("one", 5, 5);
    reply("two", 0, 5);
    assert_false(replies_are_held(&replies));
    expect("onetwo");
}

static void replies_leave_in_order_though_a_later_one_waits_for_nothing(void **state)
{
    (void)state;
    reply("one", 7, 4);
    reply("two", 0, 4);
    reply("three", 9, 4);
    reply("four", 8, 4);
    expect("");
    replies_release(&replies, 8);
    expect("onetwo");
    assert_int_equal(replies_unsent(&replies), strlen("threefour"));
    replies_release(&replies, 9);
    expect("threefour");
}

static void a_reply_that_waits_for_nothing_stays_behind_one_that_was_not_released_yet(void **state)
{
    (void)state;
    reply("one", 5, 4);
    reply("two", 6, 6);
    expect("");
    replies_release(&replies, 6);
    expect("onetwo");
}

static size_t drain_socket(char byte)
{
    static char got[LARGE];
    ssize_t n = read(fds[1], got, sizeof(got));

    for (ssize_t i = 0; i < n; i++)
        assert_int_equal(got[i], byte);
    return n > 0 ? (size_t)n : 0;
}

/* What was sent is given back in between, and the held reply behind stays held. */
static void a_full_socket_is_gone_on_with_later(void **state)
{
    static char large[LARGE];
    size_t taken = 0;

    (void)state;
    memset(large, 'x', sizeof(large));
    buf_append(&replies.bytes, large, sizeof(large));
    assert_true(replies_hold(&replies, 1, 1));
    reply("held", 2, 1);
    for (int i = 0; replies_are_stuck(&replies); i++) {
        assert_true(i < 10000);
        assert_true(replies_send(&replies, fds[0]) >= 0);
        taken += drain_socket('x');
    }
    assert_int_equal(taken, LARGE);
    assert_int_equal(replies_unsent(&replies), strlen("held"));
    assert_true(replies.bytes.len < LARGE);
    expect("");
    replies_release(&replies, 2);
    expect("held");
}

static void a_broken_socket_is_told(void **state)
{
    (void)state;
    reply("one", 1, 1);
    shutdown(fds[0], SHUT_WR);
    assert_int_equal(replies_send(&replies, fds[0]), -1);
}

/* A client reads a little at a time: bytes that wait behind others are not moved each time. */
static void many_replies_leave_bit_by_bit(void **state)
{
    char *text = malloc(LARGE + 1), *got = malloc(LARGE);
    size_t all = 0, moved = 0;
    int large = 8 << 20;

    (void)state;
    assert_non_null(text);
    assert_non_null(got);
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    for (int i = 0; i < 4; i++)
        reply(text, 1, 1);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof(large)); /* where it may */
    while (all < 4 * LARGE) {
        size_t before = replies.sent;
        ssize_t sent = replies_send(&replies, fds[0]);

        assert_in_range(sent, 1, 1 << 20);
        all += (size_t)sent;
        if (replies.sent < before)
            moved += replies.bytes.len;
        assert_int_equal(replies_unsent(&replies), 4 * LARGE - all);
        for (ssize_t n; sent > 0; sent -= n)
            assert_true((n = read(fds[1], got, (size_t)sent)) > 0);
    }
    assert_true(moved <= 4 * LARGE);
    free(text);
    free(got);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reply_leaves_when_its_records_are_durable),
        TEST(a_reply_to_what_is_durable_leaves_at_once),
        TEST(replies_leave_in_order_though_a_later_one_waits_for_nothing),
        TEST(a_reply_that_waits_for_nothing_stays_behind_one_that_was_not_released_yet),
        TEST(a_full_socket_is_gone_on_with_later),
        TEST(many_replies_leave_bit_by_bit),
        TEST(a_broken_socket_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
