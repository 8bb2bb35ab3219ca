/* SPDX-License-Identifier: MIT */
/* Clients that go together: how many connections end in one turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "server/conn_data.h"
#include "server/server.h"

#define CLIENTS 1000

static struct server server;
static struct conn conns[CLIENTS];

/* A connection that is not watched, as far as the poll is concerned. */
static int setup(void **state)
{
    (void)state;
    memset(&server, 0, sizeof(server));
    memset(conns, 0, sizeof(conns));
    uv_loop_init(&server.loop);
    uv_idle_init(&server.loop, &server.host.busy);
    list_init(&server.going.conns);
    for (int i = 0; i < CLIENTS; i++) {
        conns[i].client.server = &server;
        conns[i].closed = true;
        list_init(&conns[i].going);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    uv_close((uv_handle_t *)&server.host.busy, NULL);
    uv_run(&server.loop, UV_RUN_DEFAULT);
    return uv_loop_close(&server.loop);
}

/* All clients have gone. Returns how many connections end now. */
static int end_some(void)
{
    int n = 0;

    for (int i = 0; i < CLIENTS; i++) {
        if (!conns[i].client.server || !list_empty(&conns[i].going) || conn_put_off(&conns[i]))
            continue;
        conns[i].client.server = NULL;
        server.going.closes++;
        n++;
    }
    return n;
}

static void connections_end_in_slices(void **state)
{
    int turns = 0;

    (void)state;
    for (int left = CLIENTS; left > 0; turns++) {
        int n = end_some();

        assert_in_range(n, 1, 250);
        left -= n;
        assert_int_equal(list_length(&server.going.conns), left);
        conns_let_go(&server);
    }
    assert_int_equal(turns, 4);
}

static void few_connections_end_at_once(void **state)
{
    (void)state;
    for (int i = 100; i < CLIENTS; i++)
        conns[i].client.server = NULL;
    assert_int_equal(end_some(), 100);
    assert_true(list_empty(&server.going.conns));
    conns_let_go(&server);
    assert_false(uv_is_active((uv_handle_t *)&server.host.busy)); /* the loop may sleep */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(connections_end_in_slices, setup, teardown),
        cmocka_unit_test_setup_teardown(few_connections_end_at_once, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
