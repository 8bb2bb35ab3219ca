/* SPDX-License-Identifier: MIT */
/* An alarm on a loop, set to a moment of a clock of the system. It rings to the microsecond, where
 * the loop's own timers count in whole milliseconds. An alarm of the wall clock also rings when
 * that clock is set. */
#ifndef HOST_ALARM_H
#define HOST_ALARM_H

#include <time.h>
#include <uv.h>

struct alarm {
    uv_poll_t poll;
    int fd; /* -1: there is none */
    int flags;
    int64_t set_us; /* the moment to ring at; INT64_MAX: none; -1: it has rung */
    void (*ring)(void *arg);
    void *arg;
};

/* `clock` is CLOCK_REALTIME or CLOCK_MONOTONIC. IO, with nothing to be closed. */
int alarm_init(struct alarm *a, uv_loop_t *loop, clockid_t clock, void (*ring)(void *arg),
               void *arg);
/* Sets the moment to ring at; INT64_MAX: none. */
void alarm_set(struct alarm *a, int64_t at_us);
/* Call it when the loop has closed the handle. */
void alarm_fini(struct alarm *a);

#endif
