/* SPDX-License-Identifier: MIT */
#include "server/figures.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/time.h"
#include "server/events.h"
#include "server/push/push.h"

static uint64_t rss_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long long size = 0, resident = 0;

    if (f) {
        if (fscanf(f, "%llu %llu", &size, &resident) != 2)
            resident = 0;
        fclose(f);
    }
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int64_t cpu_ms(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

static void of_system(const struct server *s, struct verb_host_stats *ret)
{
    struct statvfs v;

    ret->rss_bytes = rss_bytes();
    ret->cpu_ms = cpu_ms();
    ret->disk_low = s->host.low;
    ret->disk_bytes = ret->disk_free_bytes = 0;
    if (statvfs(s->options.data, &v) < 0)
        return;
    ret->disk_bytes = (uint64_t)v.f_blocks * v.f_frsize;
    ret->disk_free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
}

void figures_gather(const struct verb_host *h, struct verb_host_stats *ret)
{
    const struct server *s = container_of(h, struct server, verb_host);

    ret->uptime_ms = time_mono_us() / 1000 - s->started_mono_ms;
    ret->connections = s->client_count;
    ret->commands = s->commands;
    ret->memory_limit_bytes = (uint64_t)s->options.memory;
    ret->started_ms = time_wall_ms() - ret->uptime_ms;
    ret->fetch_us = &s->host.fetch_us;
    ret->commit_us = &s->host.commit_us;
    ret->auth_failures = s->guard.failures;
    ret->auth_refused = s->guard.refused;
    of_system(s, ret);
    events_stats(s, ret);
    ret->push = push_stats(s);
}
