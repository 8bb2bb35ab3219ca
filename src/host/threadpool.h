/* SPDX-License-Identifier: MIT */
/*
 * libuv's pool of threads, for chores and fetches. libuv makes it when the first work is queued,
 * and aborts the process if a thread cannot be made. So the server makes it before it serves.
 */
#ifndef HOST_THREADPOOL_H
#define HOST_THREADPOOL_H

#include <uv.h>

#define THREADPOOL_VARIABLE "UV_THREADPOOL_SIZE"
#define THREADPOOL_DEFAULT  8 /* for each kind of chore, and some for fetches */

/* Makes as many threads as the variable says. 0, or an error of libuv: then the system allows
 * fewer, and the pool must not be used. For the loop's thread. */
int threadpool_start(uv_loop_t *loop);
/* How many threads the variable asks for. */
unsigned threadpool_size(void);

#endif
