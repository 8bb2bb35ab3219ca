/* SPDX-License-Identifier: MIT */
/* Quiet hours and slow start. */
#include <stdio.h>

#include "sim/model_job.h"

#define SLOW_RUNNING 1000
#define WINDOWS_MAX  6 /* of quiet hours in a day */
#define MINUTE       INT64_C(60000)
#define DAY          (24 * 60 * MINUTE)

/* ---- Quiet hours: windows of every day, in UTC, none of which touches another ---- */

void gate_quiet(char ret[QUIET_MAX_BYTES + 1], int64_t period_ms, int64_t length_ms,
                int64_t from_ms)
{
    int64_t windows = period_ms < DAY / WINDOWS_MAX ? WINDOWS_MAX
                      : period_ms < DAY             ? DAY / period_ms
                                                    : 1;
    int64_t slot = DAY / MINUTE / windows;
    int64_t length = length_ms * slot / period_ms, from = from_ms * slot / period_ms;
    size_t used = 0;

    length = length > 0 ? length : 1;
    for (int64_t i = 0; i < windows; i++, from += slot) {
        int begin = (int)(from % (DAY / MINUTE)), end = (int)((from + length) % (DAY / MINUTE));

        used += (size_t)snprintf(ret + used, QUIET_MAX_BYTES + 1 - used, "%s%02d:%02d-%02d:%02d",
                                 i ? ";" : "", begin / 60, begin % 60, end / 60, end % 60);
    }
}

/* What "HH:MM" is, after midnight. */
static int64_t after_midnight(const char *at)
{
    int hours = (at[0] - '0') * 10 + (at[1] - '0'), minutes = (at[3] - '0') * 10 + (at[4] - '0');

    return (hours * 60 + minutes) * MINUTE;
}

/* The windows are as gate_quiet() writes them. The model asks for each job again and again, so this
 * must be quick. */
int64_t gate_quiet_until(struct str quiet, int64_t now_ms)
{
    const size_t bytes = sizeof("HH:MM-HH:MM") - 1;

    for (size_t i = 0; i + bytes <= quiet.len; i += bytes + sizeof(";") - 1) {
        int64_t begin = after_midnight(quiet.ptr + i);
        int64_t end = after_midnight(quiet.ptr + i + sizeof("HH:MM-") - 1);
        int64_t length = (end - begin + DAY) % DAY, phase = (now_ms - begin) % DAY;

        if (phase < length)
            return now_ms + length - phase;
    }
    return -1;
}

int64_t model_quiet_until(const struct model *m, const struct model_job *job)
{
    if (!job->notify || job->passing)
        return -1;
    return gate_quiet_until(str_of(m->tenants[tenants_of(job->queue)].quiet), m->now_ms);
}

bool model_may_give(const struct model *m, const struct model_job *job)
{
    return model_can_go(m, job) && !model_is_over(m, job) && model_quiet_until(m, job) < 0 &&
           (job->passing || !model_is_shut(m, tenants_of(job->queue)));
}

bool model_defer(struct model *m, struct model_job *job, int64_t at_ms)
{
    int64_t until = model_quiet_until(m, job);
    int64_t spread = m->tenants[tenants_of(job->queue)].spread_ms;

    if (job->state != JOB_READY || until < 0 || at_ms < until || at_ms > until + spread)
        return false;
    job->state = JOB_SCHEDULED;
    job->at_ms = job->deferred_ms = at_ms;
    job->deferrals++;
    job->holding = job->order != 0;
    m->queues[job->queue].counters.deferred++;
    m->changes++; /* no fact about the job for who gets it: that it was deferred is not shown then
                   */
    job->moved = job->placed = m->steps;
    job->calm_ms = m->calm_ms;
    job->calm_step = m->calm_step;
    return true;
}

/* ---- Slow start ---- */

static uint64_t limit_at(const struct model *m, int64_t mono_ms)
{
    uint64_t all = m->max_running ? m->max_running : SLOW_RUNNING;
    uint64_t least = all / 10 > 0 ? all / 10 : 1;

    if (mono_ms - m->start_mono_ms >= m->slow_start_ms)
        return m->max_running;
    return least +
           (all - least) * (uint64_t)(mono_ms - m->start_mono_ms) / (uint64_t)m->slow_start_ms;
}

uint64_t model_limit(const struct model *m)
{
    return limit_at(m, m->mono_ms);
}

int64_t model_slow_moment(const struct model *m, uint64_t running)
{
    int64_t low = m->mono_ms, high = m->start_mono_ms + m->slow_start_ms;

    if (high <= low || (m->max_running && running >= m->max_running))
        return INT64_MAX;
    while (high - low > 1) { /* not by `low`, but by `high` */
        int64_t middle = low + (high - low) / 2;
        if (limit_at(m, middle) > running)
            high = middle;
        else
            low = middle;
    }
    return high;
}
