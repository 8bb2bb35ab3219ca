/* SPDX-License-Identifier: MIT */
#include "host/committer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"

#define FULL_RETRY_NS INT64_C(50000000)
#define QUICK_US      500

struct committer {
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t work; /* for the thread: there is something to do */
    uv_cond_t idle; /* for the loop: nothing is under way */
    uv_async_t async;
    committer_done_fn *done;
    void *arg;
    int64_t sync_interval_ms;
    atomic_bool full; /* a commit waits for space */

    /* Under the mutex. */
    struct partition *partition;
    struct commit *commit; /* the commit to be written, or being written */
    bool busy;             /* The thread is in the store. */
    bool finished;         /* `result` is there for the loop. */
    int64_t sync_at_ms;    /* monotonic: when to sync; 0: everything written is synced */
    bool stop;
    bool leaving; /* The loop waits in committer_detach. */
    int result;
    int64_t typical_us; /* a moving average of the time of a write */
    char detail[256];
    char shown[256]; /* the loop's copy of `detail` */
};

/* Writes with the mutex released. */
static int write_once(struct committer *c, struct commit *commit)
{
    int64_t begun, took;
    int err;

    uv_mutex_unlock(&c->mutex);
    begun = time_mono_us();
    err = commit_write(commit);
    took = time_mono_us() - begun;
    uv_mutex_lock(&c->mutex);
    c->typical_us += (took - c->typical_us) / 8;
    if (c->sync_interval_ms && !c->sync_at_ms)
        c->sync_at_ms = time_mono_ms() + c->sync_interval_ms;
    if (err)
        snprintf(c->detail, sizeof(c->detail), "%s", store_detail());
    return err;
}

static void write_locked(struct committer *c)
{
    struct commit *commit = c->commit;
    int err;

    c->busy = true;
    do {
        err = write_once(c, commit);
        /* Without space nothing was written: the replies wait, and so does the thread. */
        if (err == BELFRY_FULL && !c->stop && !c->leaving) {
            if (!atomic_exchange(&c->full, true))
                uv_async_send(&c->async); /* tells the loop */
            uv_cond_timedwait(&c->work, &c->mutex, FULL_RETRY_NS);
        }
    } while (err == BELFRY_FULL && !c->stop && !c->leaving);
    atomic_store(&c->full, false);
    c->busy = false;
    c->result = err;
    c->finished = true;
    uv_cond_signal(&c->idle);
    uv_async_send(&c->async);
}

static void sync_locked(struct committer *c)
{
    struct partition *p = c->partition;
    int err;

    c->busy = true;
    c->sync_at_ms = 0;
    uv_mutex_unlock(&c->mutex);
    err = partition_sync(p);
    uv_mutex_lock(&c->mutex);
    if (err) { /* The log refuses appends now: the next write fails, and the host acts on it. */
        snprintf(c->detail, sizeof(c->detail), "%s", store_detail());
        c->sync_at_ms = time_mono_ms() + c->sync_interval_ms;
    }
    c->busy = false;
    uv_cond_signal(&c->idle);
}

static void run(void *arg)
{
    struct committer *c = arg;

    uv_mutex_lock(&c->mutex);
    while (!c->stop) {
        int64_t left_ms = c->sync_at_ms ? c->sync_at_ms - time_mono_ms() : INT64_MAX;

        /* A sync comes before the next commit, so that a steady stream of commits does not put it
         * off. */
        if (left_ms <= 0 && c->partition && !c->finished)
            sync_locked(c);
        else if (c->commit && !c->finished)
            write_locked(c);
        else if (left_ms == INT64_MAX || c->finished)
            uv_cond_wait(&c->work, &c->mutex);
        else
            uv_cond_timedwait(&c->work, &c->mutex, (uint64_t)(left_ms > 0 ? left_ms : 1) * 1000000);
    }
    uv_mutex_unlock(&c->mutex);
}

static void on_async(uv_async_t *handle)
{
    struct committer *c = handle->data;
    struct commit *commit;
    int result;

    uv_mutex_lock(&c->mutex);
    if (!c->finished) {
        uv_mutex_unlock(&c->mutex);
        return;
    }
    commit = c->commit;
    result = c->result;
    c->commit = NULL;
    c->finished = false;
    uv_mutex_unlock(&c->mutex);
    c->done(c->arg, commit, result);
    if (c->sync_interval_ms)
        uv_cond_signal(&c->work); /* it may be time to sync */
}

int committer_new(uv_loop_t *loop, int64_t sync_interval_ms, committer_done_fn *done, void *arg,
                  struct committer **ret)
{
    struct committer *c = calloc(1, sizeof(*c));

    if (!c)
        return BELFRY_NOMEM;
    c->done = done;
    c->arg = arg;
    c->sync_interval_ms = sync_interval_ms;
    c->typical_us = QUICK_US; /* assumed until writes were measured */
    uv_mutex_init(&c->mutex);
    uv_cond_init(&c->work);
    uv_cond_init(&c->idle);
    if (uv_thread_create(&c->thread, run, c) != 0) {
        uv_mutex_destroy(&c->mutex);
        uv_cond_destroy(&c->work);
        uv_cond_destroy(&c->idle);
        free(c);
        return BELFRY_NOMEM;
    }
    /* The handle is made after the thread: if the thread fails, the loop has no handle to close.
     * The thread first needs it for a commit. */
    uv_async_init(loop, &c->async, on_async);
    c->async.data = c;
    *ret = c;
    return 0;
}

void committer_write(struct committer *c, struct partition *p, struct commit *commit)
{
    uv_mutex_lock(&c->mutex);
    c->partition = p;
    c->commit = commit;
    uv_mutex_unlock(&c->mutex);
    uv_cond_signal(&c->work); /* after the unlock: the thread needs the lock */
}

int committer_write_now(struct committer *c, struct commit *commit)
{
    int err;

    uv_mutex_lock(&c->mutex);
    err = write_once(c, commit);
    uv_mutex_unlock(&c->mutex);
    return err;
}

bool committer_is_quick(struct committer *c)
{
    bool quick;

    uv_mutex_lock(&c->mutex);
    quick = !c->busy && c->sync_interval_ms == 0 && c->typical_us < QUICK_US;
    uv_mutex_unlock(&c->mutex);
    return quick;
}

bool committer_is_full(const struct committer *c)
{
    return atomic_load(&c->full);
}

const char *committer_detail(struct committer *c)
{
    uv_mutex_lock(&c->mutex);
    memcpy(c->shown, c->detail, sizeof(c->shown));
    uv_mutex_unlock(&c->mutex);
    return c->shown;
}

void committer_detach(struct committer *c)
{
    uv_mutex_lock(&c->mutex);
    c->leaving = true; /* else a commit without space would never end */
    uv_cond_signal(&c->work);
    while (c->busy)
        uv_cond_wait(&c->idle, &c->mutex);
    c->leaving = false;
    c->partition = NULL;
    c->commit = NULL;
    c->finished = false;
    c->sync_at_ms = 0; /* partition_flush syncs the rest */
    uv_mutex_unlock(&c->mutex);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void committer_free(struct committer *c)
{
    if (!c)
        return;
    uv_mutex_lock(&c->mutex);
    c->stop = true;
    uv_cond_signal(&c->work);
    uv_mutex_unlock(&c->mutex);
    uv_thread_join(&c->thread);
    uv_mutex_destroy(&c->mutex);
    uv_cond_destroy(&c->work);
    uv_cond_destroy(&c->idle);
    uv_close((uv_handle_t *)&c->async, on_closed);
}
