/* SPDX-License-Identifier: MIT */
/* Clients that wait for a commit are flushed in slices. */
#include "server/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MANY 1200
#define FEW  500 /* flushes in one go, at most */

static struct server server;
static struct client clients[MANY];
static int flushed;
static bool again[MANY]; /* waits for another commit, too */

static void flush(struct client *c)
{
    flushed++;
    if (!again[c - clients])
        list_remove(&c->uncommitted);
    again[c - clients] = false;
}

static const struct client_ops ops = { .flush = flush };

static int setup(void **state)
{
    (void)state;
    flushed = 0;
    memset(again, 0, sizeof(again));
    memset(&server, 0, sizeof(server));
    assert_int_equal(uv_loop_init(&server.loop), 0);
    uv_idle_init(&server.loop, &server.host.busy);
    lists_init(&server.host.uncommitted, &server.settled);
    for (int i = 0; i < MANY; i++) {
        clients[i] = (struct client){ .server = &server, .ops = &ops };
        list_init(&clients[i].uncommitted);
        client_await_commit(&clients[i]);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    uv_close((uv_handle_t *)&server.host.busy, NULL);
    uv_run(&server.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&server.loop), 0);
    return 0;
}

/* Makes turns until `all` clients were flushed. Each turn flushes a few. */
static void flush_all(int all)
{
    while (flushed < all) {
        int before = flushed;

        assert_true(uv_is_active((uv_handle_t *)&server.host.busy)); /* The loop does not sleep. */
        clients_flush(&server);
        assert_in_range(flushed - before, 1, FEW);
    }
    assert_int_equal(flushed, all);
}

static void many_clients_are_flushed_in_several_turns(void **state)
{
    (void)state;
    clients_settled(&server);
    assert_in_range(flushed, 1, FEW);
    flush_all(MANY);
    assert_true(list_empty(&server.host.uncommitted));
    clients_flush(&server);
    assert_int_equal(flushed, MANY);
}

static void a_client_that_waits_for_two_commits_is_flushed_twice(void **state)
{
    (void)state;
    again[3] = true;
    clients_settled(&server);
    flush_all(MANY);
    assert_ptr_equal(server.host.uncommitted.next, &clients[3].uncommitted);
    clients_flush(&server); /* nothing more is durable */
    assert_int_equal(flushed, MANY);
    clients_settled(&server);
    assert_int_equal(flushed, MANY + 1);
    assert_true(list_empty(&server.host.uncommitted));
}

static void a_commit_that_settles_meanwhile_goes_behind(void **state)
{
    (void)state;
    clients_settled(&server);
    again[MANY - 1] = true;
    client_await_commit(&clients[0]); /* it asked again */
    clients_settled(&server);
    flush_all(MANY + 1);
    assert_ptr_equal(server.host.uncommitted.next, &clients[MANY - 1].uncommitted);
    list_remove(&clients[MANY - 1].uncommitted); /* it closed */
    assert_true(list_empty(&server.host.uncommitted));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_clients_are_flushed_in_several_turns),
        TEST(a_client_that_waits_for_two_commits_is_flushed_twice),
        TEST(a_commit_that_settles_meanwhile_goes_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
