/* SPDX-License-Identifier: MIT */
/*
 * libuv's pool of threads, for chores and fetches. libuv makes it when the first work is queued,
 * and aborts the process if a thread cannot be made. So it is made here, before anybody is served.
 */
#ifndef HOST_THREADPOOL_H
#define HOST_THREADPOOL_H

#include <uv.h>

#define THREADPOOL_VARIABLE "UV_THREADPOOL_SIZE"
#define THREADPOOL_DEFAULT  8 /* each lane of chores, and as many for fetches */

/* Makes as many threads as the variable says, on the loop's thread. 0, or an error of libuv: then
 * the system allows fewer, and the pool must not be used. */
int threadpool_start(uv_loop_t *loop);
/* How many there are to be. */
unsigned threadpool_size(void);

#endif
