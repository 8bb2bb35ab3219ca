/* SPDX-License-Identifier: MIT */
#include "host/alarm.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"

static void on_ring(uv_poll_t *handle, int status, int events)
{
    struct alarm *a = handle->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    if (read(a->fd, &expirations, sizeof(expirations)) < 0 && errno == EAGAIN)
        return;
    /* Also after ECANCELED: the wall clock was set. */
    a->set_us = -1;
    a->ring(a->arg);
}

int alarm_init(struct alarm *a, uv_loop_t *loop, clockid_t clock, void (*ring)(void *arg),
               void *arg)
{
    a->fd = timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
    if (a->fd < 0)
        return BELFRY_IO;
    if (uv_poll_init(loop, &a->poll, a->fd) != 0) {
        alarm_fini(a);
        return BELFRY_IO;
    }
    a->flags = TFD_TIMER_ABSTIME | (clock == CLOCK_REALTIME ? TFD_TIMER_CANCEL_ON_SET : 0);
    a->set_us = -1;
    a->ring = ring;
    a->arg = arg;
    a->poll.data = a;
    uv_poll_start(&a->poll, UV_READABLE, on_ring);
    return 0;
}

void alarm_set(struct alarm *a, int64_t at_us)
{
    struct itimerspec spec = { 0 };

    if (at_us == a->set_us)
        return;
    a->set_us = at_us;
    if (at_us != INT64_MAX) {
        at_us = at_us < 1 ? 1 : at_us;
        spec.it_value.tv_sec = at_us / 1000000;
        spec.it_value.tv_nsec = at_us % 1000000 * 1000;
    }
    timerfd_settime(a->fd, a->flags, &spec, NULL);
}

void alarm_fini(struct alarm *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}
