/* SPDX-License-Identifier: MIT */
/*
 * METRICS: all figures as text that Prometheus reads. Families follow one another, so the figures
 * of queues are gathered first. Cardinality is bounded: verb_host.metrics_queues queues have series
 * of their own, the first ones by name. All others have one together, of tenant and queue `~other`,
 * which is no valid name. There are some ninety lines for each queue, so they are written without
 * printf.
 */
#include <stdio.h>
#include <stdlib.h>

#include "verbs/handlers.h"

/* Upper edges of buckets, as powers of two. Histograms are exact at the number below such an edge.
 */
static const unsigned edges[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22
};

#define EDGES (sizeof(edges) / sizeof(edges[0]))

struct metrics {
    struct figures f;
    struct tenant_stats t; /* the sums of one tenant */
    struct buf *out;
    int64_t now_ms;
    char le[EDGES][16]; /* the edges in seconds */
    size_t n;
    struct queue_view queues[];
};

static void family(struct metrics *m, const char *name, const char *type, const char *help)
{
    buf_printf(m->out, "# HELP belfry_%s %s\n# TYPE belfry_%s %s\n", name, help, name, type);
}

static void put_figures(struct metrics *m, const struct shape_field *rows, const void *view)
{
    for (const struct shape_field *row = rows; row->type != SHAPE_END; row++) {
        size_t len = row->metric ? strlen(row->metric) : 0;
        bool total = len > 6 && strcmp(row->metric + len - 6, "_total") == 0;

        if (!row->metric)
            continue;
        family(m, row->metric, total ? "counter" : "gauge", row->help);
        buf_printf(m->out, "belfry_%s %llu\n", row->metric,
                   (unsigned long long)shape_integer(row, view));
    }
}

/* The name of a sample and its labels, up to their closing brace. Names need no escapes. */
static void begin_sample(struct metrics *m, const char *name, const char *suffix, size_t i)
{
    struct str tenant = STR("~other"), queue = STR("~other");

    if (i < m->n)
        scope_split(m->queues[i].name, &tenant, &queue);
    buf_text(m->out, "belfry_");
    buf_text(m->out, name);
    buf_text(m->out, suffix);
    buf_text(m->out, "{tenant=\"");
    buf_str(m->out, tenant);
    buf_text(m->out, "\",queue=\"");
    buf_str(m->out, queue);
    buf_text(m->out, "\"");
}

/* Adds a label to the labels of a sample. */
static void put_label(struct metrics *m, const char *name, const char *value)
{
    buf_text(m->out, ",");
    buf_text(m->out, name);
    buf_text(m->out, "=\"");
    buf_text(m->out, value);
    buf_text(m->out, "\"");
}

static void end_sample(struct metrics *m, uint64_t value)
{
    buf_text(m->out, "} ");
    buf_int(m->out, (int64_t)value);
    buf_text(m->out, "\n");
}

static void put_sample(struct metrics *m, const char *name, size_t i, const char *state,
                       uint64_t value)
{
    begin_sample(m, name, "", i);
    if (state)
        put_label(m, "state", state);
    end_sample(m, value);
}

/* The part of a total that belongs to queues without series of their own. */
static uint64_t left(uint64_t total, uint64_t shown)
{
    return total > shown ? total - shown : 0;
}

static void put_states(struct metrics *m)
{
    family(m, "jobs", "gauge", "Jobs by state.");
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        uint64_t shown = 0;

        for (size_t i = 0; i < m->n; i++) {
            put_sample(m, "jobs", i, job_state_name((enum job_state)state),
                       m->queues[i].jobs[state]);
            shown += m->queues[i].jobs[state];
        }
        put_sample(m, "jobs", m->n, job_state_name((enum job_state)state),
                   left(m->f.s.jobs[state], shown));
    }
}

static void put_waiters(struct metrics *m)
{
    family(m, "queue_waiting_workers", "gauge", "LEASE requests that wait for a job of the queue.");
    for (size_t i = 0; i < m->n; i++)
        put_sample(m, "queue_waiting_workers", i, NULL, m->queues[i].waiters);
}

static void put_seconds(struct metrics *m, const char *name, size_t i, int64_t ms)
{
    begin_sample(m, name, "", i);
    buf_printf(m->out, "} %.3f\n", (double)ms * 1e-3);
}

/* Moments have no sum, so queues without series of their own are not among these. */
static void put_moments(struct metrics *m)
{
    family(m, "queue_oldest_ready_seconds", "gauge",
           "For how long the oldest ready job has waited for a worker; 0: none is ready.");
    for (size_t i = 0; i < m->n; i++) {
        int64_t since = m->queues[i].oldest_ms;

        put_seconds(m, "queue_oldest_ready_seconds", i,
                    since >= 0 && since < m->now_ms ? m->now_ms - since : 0);
    }
    family(m, "queue_last_success_timestamp_seconds", "gauge",
           "When a job was last completed, since 1970. Queues without one since the start have no "
           "sample.");
    for (size_t i = 0; i < m->n; i++)
        if (m->queues[i].success_ms > 0)
            put_seconds(m, "queue_last_success_timestamp_seconds", i, m->queues[i].success_ms);
}

static void put_counter(struct metrics *m, const struct shape_field *row)
{
    uint64_t shown = 0;

    family(m, row->metric, "counter", row->help);
    for (size_t i = 0; i < m->n; i++) {
        uint64_t v = (uint64_t)shape_integer(row, m->queues[i].counters);

        put_sample(m, row->metric, i, NULL, v);
        shown += v;
    }
    put_sample(m, row->metric, m->n, NULL,
               left((uint64_t)shape_integer(row, &m->f.s.counters), shown));
}

/* The buckets of `h` without those of `less`, which may be NULL; both are in milliseconds. */
static void put_buckets(struct metrics *m, const char *name, size_t i, const struct hist *h,
                        const struct hist *less)
{
    uint64_t count = left(h->count, less ? less->count : 0);

    for (size_t k = 0; k < EDGES; k++) {
        uint64_t edge = (UINT64_C(1) << edges[k]) - 1;

        begin_sample(m, name, "_bucket", i);
        put_label(m, "le", m->le[k]);
        end_sample(m, left(h->count ? hist_upto(h, edge) : 0, less ? hist_upto(less, edge) : 0));
    }
    begin_sample(m, name, "_bucket", i);
    put_label(m, "le", "+Inf");
    end_sample(m, count);
    begin_sample(m, name, "_sum", i);
    buf_printf(m->out, "} %.3f\n", (double)left(h->sum, less ? less->sum : 0) * 1e-3);
    begin_sample(m, name, "_count", i);
    end_sample(m, count);
}

/* A histogram that each queue has at this place of its view. */
static void put_hist(struct metrics *m, const char *name, const char *help,
                     const struct hist *total, size_t at)
{
    struct hist *shown = calloc(1, sizeof(*shown));

    if (!shown) {
        m->out->failed = true;
        return;
    }
    family(m, name, "histogram", help);
    for (size_t i = 0; i < m->n; i++) {
        const char *place = (const char *)&m->queues[i] + at;
        const struct hist *h = *(const struct hist *const *)(const void *)place;

        put_buckets(m, name, i, h, NULL);
        hist_merge(shown, h);
    }
    put_buckets(m, name, m->n, total, shown);
    free(shown);
}

/* A histogram of the whole server, in microseconds. */
static void put_server_hist(struct metrics *m, const char *name, const char *help,
                            const struct hist *h)
{
    family(m, name, "histogram", help);
    for (size_t k = 0; k < EDGES; k++) {
        uint64_t edge = (UINT64_C(1) << (edges[k] + 4)) - 1;

        buf_printf(m->out, "belfry_%s_bucket{le=\"%g\"} %llu\n", name, (double)edge * 1e-6,
                   (unsigned long long)hist_upto(h, edge));
    }
    buf_printf(m->out,
               "belfry_%s_bucket{le=\"+Inf\"} %llu\nbelfry_%s_sum %.6f\nbelfry_%s_count %llu\n",
               name, (unsigned long long)h->count, name, (double)h->sum * 1e-6, name,
               (unsigned long long)h->count);
}

static void put_server(struct metrics *m)
{
    family(m, "build_info", "gauge", "The version that runs.");
    buf_printf(m->out, "belfry_build_info{version=\"%s\"} 1\n", BELFRY_VERSION);
    family(m, "uptime_seconds", "gauge", "Since the start.");
    buf_printf(m->out, "belfry_uptime_seconds %.3f\n", (double)m->f.h.uptime_ms / 1e3);
    put_figures(m, server_metrics, &m->f);
    put_server_hist(m, "fetch_seconds", "What requests waited for jobs that were on disk.",
                    m->f.h.fetch_us);
    put_server_hist(m, "commit_seconds", "From handing records to the disk until they are durable.",
                    m->f.h.commit_us);
}

static void put_pushes(struct metrics *m)
{
#define NAME(name, help) #name,
    static const char *const names[] = { PUSH_OUTCOMES(NAME) };

    family(m, "push_requests_total", "counter", "Pushes by what became of them.");
    for (size_t i = 0; i < PUSH_OUTCOME_COUNT; i++)
        buf_printf(m->out, "belfry_push_requests_total{outcome=\"%s\"} %llu\n", names[i],
                   (unsigned long long)m->f.h.push->outcomes[i]);
    put_figures(m, push_metrics, m->f.h.push);
    put_server_hist(m, "push_seconds", "From a push's start to its answer.", &m->f.h.push->took_us);
}

/* Figures of the process, by the names that every exporter uses. */
static void put_process(struct metrics *m)
{
    buf_printf(m->out,
               "# HELP process_resident_memory_bytes Resident memory.\n"
               "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %llu\n"
               "# HELP process_cpu_seconds_total Processor time, user and system.\n"
               "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.2f\n"
               "# HELP process_start_time_seconds Since 1970.\n"
               "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.3f\n",
               (unsigned long long)m->f.h.rss_bytes, (double)m->f.h.cpu_ms / 1e3,
               (double)m->f.h.started_ms / 1e3);
}

static int queue_add(void *arg, const struct queue_view *v)
{
    struct metrics *m = arg;

    m->queues[m->n++] = *v;
    return 0;
}

/* All families that have series by queue. */
static void put_queues(struct metrics *m)
{
    put_states(m);
    put_waiters(m);
    put_moments(m);
    for (const struct shape_field *row = counter_fields; row->type != SHAPE_END; row++)
        put_counter(m, row);
    put_hist(m, "lateness_seconds", "From the moment a job was to run until its delivery.",
             m->f.s.lateness, offsetof(struct queue_view, lateness));
    put_hist(m, "runtime_seconds", "From a job's delivery until its attempt ended.", m->f.s.runtime,
             offsetof(struct queue_view, runtime));
    put_hist(m, "wait_seconds", "How long a LEASE waited until it got jobs.", m->f.s.wait,
             offsetof(struct queue_view, wait));
}

struct tenants_shown {
    struct metrics *m;
    uint64_t bytes;
};

static int put_kept(void *arg, const struct tenant_view *v)
{
    struct tenants_shown *t = arg;

    t->bytes += v->kept_bytes;
    buf_printf(t->m->out, "belfry_tenant_kept_bytes{tenant=\"%.*s\"} %llu\n", STR_ARG(v->name),
               (unsigned long long)v->kept_bytes);
    return 0;
}

/* At most `most` tenants have series of their own, as with queues. */
static void put_tenants(struct metrics *m, const struct engine *e, struct str tenant, size_t most)
{
    struct tenants_shown t = { .m = m };
    struct tenant_view v;

    family(m, "tenant_kept_bytes", "gauge",
           "Bytes that are kept of a tenant, which MAX_BYTES limits.");
    if (!str_eq(tenant, STR(TENANT_ALL))) {
        if (engine_tenant_get(e, tenant, &v) == 0)
            put_kept(&t, &v);
        return;
    }
    engine_tenants(e, (struct str){ "", 0 }, most, put_kept, &t);
    if (m->f.s.kept_bytes > t.bytes)
        put_kept(&t, &(struct tenant_view){ .name = STR("~other"),
                                            .kept_bytes = m->f.s.kept_bytes - t.bytes });
}

/* Replaces the sums of all queues by those of the tenant. */
static void take_tenant(struct metrics *m, const struct engine *e, struct str tenant)
{
    engine_tenant_stats(e, tenant, &m->t);
    memcpy(m->f.s.jobs, m->t.jobs, sizeof(m->f.s.jobs));
    m->f.s.counters = m->t.counters;
    m->f.s.lateness = m->t.lateness;
    m->f.s.runtime = m->t.runtime;
    m->f.s.wait = m->t.wait;
}

int metrics_text(struct engine *e, struct partition *p, const struct verb_host *host,
                 struct str tenant, struct buf *out)
{
    bool all = str_eq(tenant, STR(TENANT_ALL));
    struct metrics *m = calloc(1, sizeof(*m) + host->metrics_queues * sizeof(m->queues[0]));
    int err;

    if (!m)
        return BELFRY_NOMEM;
    m->out = out;
    m->now_ms = engine_now(e);
    for (size_t k = 0; k < EDGES; k++)
        snprintf(m->le[k], sizeof(m->le[k]), "%g", (double)((UINT64_C(1) << edges[k]) - 1) * 1e-3);
    figures_look(e, p, host, &m->f);
    err = engine_queues(e, tenant, (struct str){ "", 0 }, host->metrics_queues, queue_add, m);
    if (!err && all) {
        put_server(m);
        put_figures(m, storage_metrics, &m->f);
        put_pushes(m);
        put_tenants(m, e, tenant, host->metrics_queues);
        put_queues(m);
        put_process(m);
    } else if (!err) {
        take_tenant(m, e, tenant);
        put_tenants(m, e, tenant, 1);
        put_queues(m);
    }
    if (!err && out->failed)
        err = BELFRY_NOMEM;
    free(m);
    return err;
}

void run_metrics(struct verb_call *c)
{
    struct buf text = { 0 };
    int err = metrics_text(c->engine, c->partition, c->host, c->tenant, &text);

    if (err)
        verb_error(c, err, "");
    else
        reply_bytes(c->reply, buf_view(&text));
    buf_fini(&text);
}
