/* SPDX-License-Identifier: MIT */
#include "host/threadpool.h"

#include <stdlib.h>

#define SIZE_MAX_UV 1024
#define STACK_BYTES (8u << 20) /* the stack that libuv asks for */

unsigned threadpool_size(void)
{
    const char *text = getenv(THREADPOOL_VARIABLE);
    long n = text ? strtol(text, NULL, 10) : THREADPOOL_DEFAULT;

    return n < 1 ? 1 : n > SIZE_MAX_UV ? SIZE_MAX_UV : (unsigned)n;
}

static void wait_for_others(void *arg)
{
    uv_sem_wait(arg);
}

/* Whether the system allows so many threads at a time. libuv does not say so, it aborts. */
static int try_threads(unsigned count)
{
    const uv_thread_options_t options = { .flags = UV_THREAD_HAS_STACK_SIZE,
                                          .stack_size = STACK_BYTES };
    uv_thread_t *threads = calloc(count, sizeof(*threads));
    uv_sem_t over;
    unsigned n = 0;
    int err = threads ? uv_sem_init(&over, 0) : UV_ENOMEM;

    if (err) {
        free(threads);
        return err;
    }
    while (n < count && !err) {
        err = uv_thread_create_ex(&threads[n], &options, wait_for_others, &over);
        n += !err;
    }
    for (unsigned i = 0; i < n; i++)
        uv_sem_post(&over);
    for (unsigned i = 0; i < n; i++)
        uv_thread_join(&threads[i]);
    uv_sem_destroy(&over);
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
        err = uv_queue_work(loop, work, nothing, on_made); /* the first work makes the pool */
    if (err)
        free(work);
    return err;
}
