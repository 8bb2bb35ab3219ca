/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "server/events.h"
#include "server/server.h"

#define LINGER_MS INT64_C(300000) /* as in events.c */

static struct server server;

static int setup(void **state)
{
    (void)state;
    server = (struct server){ .host.engine = engine_new(&(struct engine_options){ .epoch = 1 }) };
    assert_non_null(server.host.engine);
    assert_int_equal(options_init(&server.options), 0);
    return events_init(&server);
}

static int teardown(void **state)
{
    (void)state;
    event_ring_close(&server.events.ring);
    engine_free(server.host.engine);
    options_fini(&server.options);
    return 0;
}

/* A stream may begin and end between two sweeps. Its reader connects again and goes on. */
static void events_are_kept_for_a_reader_that_no_sweep_has_seen(void **state)
{
    int64_t before = time_mono_ms();

    (void)state;
    assert_int_equal(events_want(&server), 0);
    events_sweep(&server, before + LINGER_MS - 1);
    assert_non_null(server.events.ring.bytes);
    events_sweep(&server, time_mono_ms() + LINGER_MS);
    assert_null(server.events.ring.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_are_kept_for_a_reader_that_no_sweep_has_seen, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
