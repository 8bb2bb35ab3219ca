/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: its wall clock says $CLOCK_AT_MS when the program starts, and goes on
 * from there. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS   1000000000
#define DESCRIPTORS 1024

static int64_t shift_ns;
static bool is_wall[DESCRIPTORS]; /* timers of the wall clock, by descriptor */

static void add_ns(struct timespec *t, int64_t ns)
{
    int64_t sum = t->tv_sec * SECOND_NS + t->tv_nsec + ns;

    t->tv_sec = sum / SECOND_NS;
    t->tv_nsec = sum % SECOND_NS;
}

__attribute__((constructor)) static void set_clock(void)
{
    struct timespec now;
    const char *at = getenv("CLOCK_AT_MS");

    if (!at || syscall(SYS_clock_gettime, CLOCK_REALTIME, &now))
        abort();
    shift_ns = strtoll(at, NULL, 10) * 1000000 - (now.tv_sec * SECOND_NS + now.tv_nsec);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ret);

    if (r == 0 && clock == CLOCK_REALTIME)
        add_ns(ret, shift_ns);
    return r;
}

int timerfd_create(clockid_t clock, int flags)
{
    int fd = (int)syscall(SYS_timerfd_create, clock, flags);

    if (fd >= DESCRIPTORS)
        abort();
    if (fd >= 0)
        is_wall[fd] = clock == CLOCK_REALTIME;
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *ret_before)
{
    struct itimerspec real = *at;
    bool armed = at->it_value.tv_sec != 0 || at->it_value.tv_nsec != 0;

    if (armed && (flags & TFD_TIMER_ABSTIME) && is_wall[fd])
        add_ns(&real.it_value, -shift_ns);
    return (int)syscall(SYS_timerfd_settime, fd, flags, &real, ret_before);
}
