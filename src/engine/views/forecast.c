/* SPDX-License-Identifier: MIT */
/* How many jobs become due, and when. */
#include <string.h>

#include "engine/place/job.h"
#include "engine/place/queue.h"
#include "record/name.h"

/* The part of a run that is due before a moment, by its summary. The run has equally many entries
 * between any two neighbouring points of the summary. */
static double part_before(const struct run_desc *d, int64_t ms)
{
    unsigned n = d->spread_count;

    if (n == 0 || ms <= d->spread[0])
        return 0;
    for (unsigned i = 1; i < n; i++) {
        if (ms <= d->spread[i]) {
            double width = (double)(d->spread[i] - d->spread[i - 1]);

            return (i - 1 + (width > 0 ? (double)(ms - d->spread[i - 1]) / width : 1)) / (n - 1);
        }
    }
    return 1;
}

static uint64_t run_jobs(const struct engine *e, const struct run_desc *d, int64_t from, int64_t to)
{
    /* Jobs that the frontier has passed are in memory, or gone. */
    int64_t start = from > e->place.frontier.at_ms ? from : e->place.frontier.at_ms + 1;

    if (d->family != FAMILY_DUE || start >= to)
        return 0;
    return (uint64_t)((part_before(d, to) - part_before(d, start)) * (double)d->entries + 0.5);
}

#define SAMPLE_JOBS 16384

struct sample {
    int64_t from_ms;
    int64_t step_ms;
    size_t n;
    uint64_t *ret;
    uint64_t weight;
    const struct engine *e;
    struct str tenant;
};

static int sample_job(void *arg, struct table_node *node)
{
    struct sample *s = arg;
    const struct job *j = container_of(node, struct job, by_seq);
    int late_ms = MUTANT(s->e->o.mutant, FORECAST_OFF) ? 1 : 0;

    if (j->state == JOB_SCHEDULED && !j->queue->hidden && !job_is_waste(s->e, j) &&
        queue_is_of(j->queue, s->tenant) && j->timer.at_ms >= s->from_ms + late_ms &&
        (uint64_t)(j->timer.at_ms - s->from_ms) / (uint64_t)s->step_ms < s->n)
        s->ret[(j->timer.at_ms - s->from_ms) / s->step_ms] += s->weight;
    return 0;
}

/* Whether some of its jobs that are not due yet are on disk. */
static bool tenant_waits_on_disk(const struct engine *e, struct str tenant)
{
    const struct tenant *t = tenant_find(e, tenant);

    if (!t)
        return false;
    list_each_of (const struct queue, q, &t->queues, of_tenant)
        if (!q->hidden && q->cold[COLD_DUE] > 0)
            return true;
    return false;
}

/* Counts the jobs in memory of a tenant, or of all. */
static void sample_all(const struct engine *e, struct sample *s)
{
    unsigned log2 = 0;

    while (e->place.jobs.count >> log2 > SAMPLE_JOBS)
        log2++;
    s->weight = UINT64_C(1) << log2;
    table_each_stripe(&e->place.jobs, log2, 0, sample_job, s);
}

int engine_forecast_of(const struct engine *e, struct str tenant, int64_t from_ms, int64_t step_ms,
                       size_t n, uint64_t *ret)
{
    struct sample s = { from_ms, step_ms, n, ret, 1, e, tenant };

    if (tenant_waits_on_disk(e, tenant))
        return BELFRY_STATE;
    memset(ret, 0, n * sizeof(*ret));
    sample_all(e, &s);
    return 0;
}

void engine_forecast(const struct engine *e, int64_t from_ms, int64_t step_ms, size_t n,
                     uint64_t *ret)
{
    struct sample s = { from_ms, step_ms, n, ret, 1, e, STR(TENANT_ALL) };

    memset(ret, 0, n * sizeof(*ret));
    list_each_of (const struct cold_run, r, &e->cold.runs, link)
        for (size_t i = 0; i < n; i++)
            ret[i] += run_jobs(e, &r->d, from_ms + (int64_t)i * step_ms,
                               from_ms + (int64_t)(i + 1) * step_ms);
    sample_all(e, &s);
}
