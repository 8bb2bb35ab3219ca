/* SPDX-License-Identifier: MIT */
/* Whose request comes next, if many wait for the loop. */
#include "server/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "server/server.h"

static struct server server;
static struct account many, few;
static struct client crowd[5], lone, stranger;

static int setup(void **state)
{
    (void)state;
    memset(&server, 0, sizeof(server));
    list_init(&server.resume);
    accounts_init(&server.accounts, (struct hash_key){ 1, 2 });
    lists_init(&many.waiting, &many.called, &many.turn);
    lists_init(&few.waiting, &few.called, &few.turn);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    accounts_fini(&server.accounts);
    return 0;
}

static void wants_to_go_on(struct client *c, struct account *a)
{
    c->holding.account = a;
    list_init(&c->resume);
    list_append(&server.resume, &c->resume);
}

/* As a client's turn begins. */
static struct client *next(void)
{
    struct client *c = accounts_next(&server);

    if (c)
        list_remove(&c->resume);
    return c;
}

static void accounts_take_turns(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        wants_to_go_on(&crowd[i], &many);
    wants_to_go_on(&lone, &few);
    wants_to_go_on(&stranger, NULL);
    accounts_call(&server);
    assert_true(list_empty(&server.resume));
    assert_ptr_equal(next(), &crowd[0]);
    assert_ptr_equal(next(), &lone);
    assert_ptr_equal(next(), &stranger);
    for (int i = 1; i < 5; i++)
        assert_ptr_equal(next(), &crowd[i]);
    assert_null(next());
    assert_true(list_empty(&server.accounts.turns));
}

static void who_comes_later_does_not_wait_for_all_of_another_account(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        wants_to_go_on(&crowd[i], &many);
    accounts_call(&server);
    assert_ptr_equal(next(), &crowd[0]);
    wants_to_go_on(&crowd[0], &many); /* it has more */
    wants_to_go_on(&lone, &few);
    accounts_call(&server);
    assert_ptr_equal(next(), &crowd[1]);
    assert_ptr_equal(next(), &lone);
    assert_ptr_equal(next(), &crowd[2]);
}

static void a_client_that_is_closed_leaves_the_turn_to_the_next(void **state)
{
    (void)state;
    wants_to_go_on(&crowd[0], &many);
    wants_to_go_on(&lone, &few);
    accounts_call(&server);
    list_remove(&crowd[0].resume);
    assert_ptr_equal(next(), &lone);
    assert_null(next());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(accounts_take_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(who_comes_later_does_not_wait_for_all_of_another_account,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_is_closed_leaves_the_turn_to_the_next, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
