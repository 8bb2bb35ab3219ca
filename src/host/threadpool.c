/* SPDX-License-Identifier: MIT */
#include "host/threadpool.h"

#include <stdbool.h>
#include <stdlib.h>

#define SIZE_MAX_UV 1024
#define STACK_BYTES (8u << 20) /* what libuv asks for */

struct trial {
    uv_mutex_t mutex;
    uv_cond_t over;
    bool is_over;
};

unsigned threadpool_size(void)
{
    const char *text = getenv(THREADPOOL_VARIABLE);
    long n = text ? strtol(text, NULL, 10) : THREADPOOL_DEFAULT;

    return n < 1 ? 1 : n > SIZE_MAX_UV ? SIZE_MAX_UV : (unsigned)n;
}

static void wait_for_others(void *arg)
{
    struct trial *t = arg;

    uv_mutex_lock(&t->mutex);
    while (!t->is_over)
        uv_cond_wait(&t->over, &t->mutex);
    uv_mutex_unlock(&t->mutex);
}

static void end_trial(struct trial *t, uv_thread_t *threads, unsigned n)
{
    uv_mutex_lock(&t->mutex);
    t->is_over = true;
    uv_cond_broadcast(&t->over);
    uv_mutex_unlock(&t->mutex);
    for (unsigned i = 0; i < n; i++)
        uv_thread_join(&threads[i]);
}

/* Whether the system allows so many threads at a time. libuv does not say, it aborts. */
static int try_threads(unsigned count)
{
    const uv_thread_options_t options = { .flags = UV_THREAD_HAS_STACK_SIZE,
                                          .stack_size = STACK_BYTES };
    uv_thread_t *threads = calloc(count, sizeof(*threads));
    struct trial t = { .is_over = false };
    unsigned n = 0;
    int err = threads ? uv_mutex_init(&t.mutex) : UV_ENOMEM;

    if (!err && (err = uv_cond_init(&t.over)) != 0)
        uv_mutex_destroy(&t.mutex);
    if (err) {
        free(threads);
        return err;
    }
    while (n < count && !err) {
        err = uv_thread_create_ex(&threads[n], &options, wait_for_others, &t);
        n += !err;
    }
    end_trial(&t, threads, n);
    uv_cond_destroy(&t.over);
    uv_mutex_destroy(&t.mutex);
    free(threads);
    return err;
}

static void nothing(uv_work_t *work)
{
    (void)work;
}

static void on_made(uv_work_t *work, int status)
{
    (void)status;
    free(work);
}

int threadpool_start(uv_loop_t *loop)
{
    uv_work_t *work = malloc(sizeof(*work));
    int err = work ? try_threads(threadpool_size()) : UV_ENOMEM;

    if (!err)
        err = uv_queue_work(loop, work, nothing, on_made); /* the first one makes the pool */
    if (err)
        free(work);
    return err;
}
