/* SPDX-License-Identifier: MIT */
/* The committer on a disk that is full for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "host/committer.h"
#include "support/fault.h"

#define TRIES    5
#define RETRY_US 50000

static atomic_int tries; /* appends that found no room */
static atomic_bool room;
static uv_loop_t loop;
static struct committer *committer;
static struct store *memory, *store;
static struct partition *partition;
static bool done, seen_full;
static int result;

static enum fault_action decide(void *arg, enum fault_point point)
{
    (void)arg;
    if (point != FAULT_APPEND_FULL || atomic_load(&room))
        return FAULT_GO;
    atomic_fetch_add(&tries, 1);
    return FAULT_FAIL;
}

static void on_done(void *arg, struct commit *c, int answer)
{
    (void)arg;
    partition_settle(partition, c);
    result = answer;
    done = true;
    uv_stop(&loop);
}

/* In each turn of the loop, as the server does. */
static void on_turn(uv_prepare_t *handle)
{
    (void)handle;
    seen_full = seen_full || committer_is_full(committer);
}

/* Lets the disk have room when it was tried often enough. */
static void on_look(uv_timer_t *timer)
{
    (void)timer;
    if (atomic_load(&tries) >= TRIES)
        atomic_store(&room, true);
}

static int setup(void **state)
{
    struct partition_options o = { .durable = true };
    struct partition_report report;

    (void)state;
    atomic_store(&room, true);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(store_open("memory:", NULL, &memory), 0);
    assert_int_equal(fault_new(memory, 1, decide, NULL, &store), 0);
    assert_int_equal(partition_open(store, &o, 1794778000000, 1000, &partition, &report), 0);
    assert_int_equal(committer_new(&loop, 0, on_done, NULL, &committer), 0);
    return 0;
}

static void on_closed(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static int teardown(void **state)
{
    (void)state;
    committer_detach(committer);
    committer_free(committer);
    uv_walk(&loop, on_closed, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    partition_close(partition);
    store_close(store);
    store_close(memory);
    return 0;
}

static void commit_without_room_is_tried_again_with_pauses_and_the_loop_knows(void **state)
{
    static uv_prepare_t turn; /* they outlive this: the loop is closed later */
    static uv_timer_t look;
    struct commit *c = partition_take(partition);
    int64_t begun = time_mono_us(), took;

    (void)state;
    assert_non_null(c);
    atomic_store(&room, false);
    uv_prepare_init(&loop, &turn);
    uv_prepare_start(&turn, on_turn);
    uv_timer_init(&loop, &look);
    uv_timer_start(&look, on_look, 10, 10);
    committer_write(committer, partition, c);
    while (!done)
        uv_run(&loop, UV_RUN_ONCE);
    took = time_mono_us() - begun;
    assert_int_equal(result, 0);
    assert_true(seen_full);
    assert_false(committer_is_full(committer));
    /* A slow machine makes fewer tries in a time, never more; the first pause may be cut short by
     * the signal that there is a commit. */
    assert_true(atomic_load(&tries) <= took / RETRY_US + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            commit_without_room_is_tried_again_with_pauses_and_the_loop_knows, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
