/* SPDX-License-Identifier: MIT */
/*
 * METRICS: all figures as text that Prometheus reads. One family after the other, so what is said
 * of queues is gathered first. Cardinality is bounded: QUEUES_MAX queues by name have series of
 * their own, all others together are one, of tenant and queue `~other`, which is nobody's name.
 */
#include "verbs/handlers.h"

#include <stdlib.h>

#define QUEUES_MAX 100

struct figures {
    struct engine_stats s;
    struct partition_stats p;
    struct verb_host_stats h;
    struct tenant_stats t; /* for one tenant */
    struct queue_view queues[QUEUES_MAX];
    size_t n;
    size_t tokens;
    struct buf *out;
};

/* Upper edges of buckets: at one less than a power of two the histograms are exact. */
static const unsigned edges[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22
};

static void family(struct figures *f, const char *name, const char *type, const char *help)
{
    buf_printf(f->out, "# HELP belfry_%s %s\n# TYPE belfry_%s %s\n", name, help, name, type);
}

static void one(struct figures *f, const char *name, const char *type, const char *help,
                uint64_t value)
{
    family(f, name, type, help);
    buf_printf(f->out, "belfry_%s %llu\n", name, (unsigned long long)value);
}

static void seconds(struct figures *f, const char *name, const char *type, const char *help,
                    double value)
{
    family(f, name, type, help);
    buf_printf(f->out, "belfry_%s %.3f\n", name, value);
}

/* Names hold nothing that would have to be escaped. */
static void labels(struct figures *f, size_t i)
{
    struct str tenant = STR("~other"), queue = STR("~other");

    if (i < f->n)
        scope_split(f->queues[i].name, &tenant, &queue);
    buf_printf(f->out, "tenant=\"%.*s\",queue=\"%.*s\"", STR_ARG(tenant), STR_ARG(queue));
}

static void sample(struct figures *f, const char *name, size_t i, const char *state, uint64_t value)
{
    buf_printf(f->out, "belfry_%s{", name);
    labels(f, i);
    if (state)
        buf_printf(f->out, ",state=\"%s\"", state);
    buf_printf(f->out, "} %llu\n", (unsigned long long)value);
}

/* What is left of a total for those that have no series of their own. */
static uint64_t left(uint64_t total, uint64_t shown)
{
    return total > shown ? total - shown : 0;
}

static void put_states(struct figures *f)
{
    family(f, "jobs", "gauge", "Jobs by state.");
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        uint64_t shown = 0;

        for (size_t i = 0; i < f->n; i++) {
            sample(f, "jobs", i, job_state_name((enum job_state)state), f->queues[i].jobs[state]);
            shown += f->queues[i].jobs[state];
        }
        sample(f, "jobs", f->n, job_state_name((enum job_state)state),
               left(f->s.jobs[state], shown));
    }
}

static void put_waiters(struct figures *f)
{
    family(f, "queue_waiting_workers", "gauge", "LEASE requests that wait for a job of the queue.");
    for (size_t i = 0; i < f->n; i++)
        sample(f, "queue_waiting_workers", i, NULL, f->queues[i].waiters);
}

/* A counter at this place in struct counters. */
static void put_counter(struct figures *f, const char *name, const char *help, size_t at)
{
    const char *base = (const char *)&f->s.counters;
    uint64_t shown = 0;

    family(f, name, "counter", help);
    for (size_t i = 0; i < f->n; i++) {
        uint64_t v = *(const uint64_t *)(const void *)((const char *)f->queues[i].counters + at);

        sample(f, name, i, NULL, v);
        shown += v;
    }
    sample(f, name, f->n, NULL, left(*(const uint64_t *)(const void *)(base + at), shown));
}

static void put_counters(struct figures *f)
{
#define PUT(name, help)                                                  \
    put_counter(f, "jobs_" #name "_total", "Since the start: " help ".", \
                offsetof(struct counters, name));
    ENGINE_COUNTERS(PUT)
#undef PUT
}

static void put_buckets(struct figures *f, const char *name, size_t i, const struct hist *h,
                        const struct hist *less, double unit)
{
    for (size_t k = 0; k < sizeof(edges) / sizeof(edges[0]); k++) {
        uint64_t edge = (UINT64_C(1) << edges[k]) - 1;

        buf_printf(f->out, "belfry_%s_bucket{", name);
        labels(f, i);
        buf_printf(f->out, ",le=\"%g\"} %llu\n", (double)edge * unit,
                   (unsigned long long)left(hist_upto(h, edge), less ? hist_upto(less, edge) : 0));
    }
    buf_printf(f->out, "belfry_%s_bucket{", name);
    labels(f, i);
    buf_printf(f->out, ",le=\"+Inf\"} %llu\nbelfry_%s_sum{",
               (unsigned long long)left(h->count, less ? less->count : 0), name);
    labels(f, i);
    buf_printf(f->out, "} %.3f\nbelfry_%s_count{",
               (double)left(h->sum, less ? less->sum : 0) * unit, name);
    labels(f, i);
    buf_printf(f->out, "} %llu\n", (unsigned long long)left(h->count, less ? less->count : 0));
}

typedef const struct hist *pick_fn(const struct queue_view *v);

static const struct hist *pick_lateness(const struct queue_view *v)
{
    return v->lateness;
}

static const struct hist *pick_runtime(const struct queue_view *v)
{
    return v->runtime;
}

static const struct hist *pick_wait(const struct queue_view *v)
{
    return v->wait;
}

static void put_hist(struct figures *f, const char *name, const char *help,
                     const struct hist *total, pick_fn *pick)
{
    struct hist *shown = calloc(1, sizeof(*shown));

    if (!shown) {
        f->out->failed = true;
        return;
    }
    family(f, name, "histogram", help);
    for (size_t i = 0; i < f->n; i++) {
        put_buckets(f, name, i, pick(&f->queues[i]), NULL, 1e-3);
        hist_merge(shown, pick(&f->queues[i]));
    }
    put_buckets(f, name, f->n, total, shown, 1e-3);
    free(shown);
}

/* One for the whole server, in microseconds. */
static void put_server_hist(struct figures *f, const char *name, const char *help,
                            const struct hist *h)
{
    family(f, name, "histogram", help);
    for (size_t k = 0; k < sizeof(edges) / sizeof(edges[0]); k++) {
        uint64_t edge = (UINT64_C(1) << (edges[k] + 4)) - 1;

        buf_printf(f->out, "belfry_%s_bucket{le=\"%g\"} %llu\n", name, (double)edge * 1e-6,
                   (unsigned long long)hist_upto(h, edge));
    }
    buf_printf(f->out,
               "belfry_%s_bucket{le=\"+Inf\"} %llu\nbelfry_%s_sum %.6f\nbelfry_%s_count %llu\n",
               name, (unsigned long long)h->count, name, (double)h->sum * 1e-6, name,
               (unsigned long long)h->count);
}

static void put_server(struct figures *f)
{
    family(f, "build_info", "gauge", "The version that runs.");
    buf_printf(f->out, "belfry_build_info{version=\"%s\"} 1\n", BELFRY_VERSION);
    seconds(f, "uptime_seconds", "gauge", "Since the start.", (double)f->h.uptime_ms / 1e3);
    one(f, "connections", "gauge", "Clients that are connected.", f->h.connections);
    one(f, "commands_total", "counter", "Requests that were executed.", f->h.commands);
    one(f, "waiting_workers", "gauge", "LEASE requests that wait.", f->s.waiters);
    one(f, "queues", "gauge", "Queues that are known.", f->s.queues);
    one(f, "tenants", "gauge", "Tenants that are known.", f->s.tenants);
    one(f, "memory_bytes", "gauge", "Memory by the account that the budget limits.",
        f->p.memory_bytes);
    one(f, "memory_limit_bytes", "gauge", "The budget.", f->h.memory_limit_bytes);
    one(f, "tokens", "gauge", "Tokens that there are.", f->tokens);
    one(f, "auth_failures_total", "counter", "Tokens that were shown and are none.",
        f->h.auth_failures);
    one(f, "auth_refused_total", "counter",
        "Attempts to show a token that were refused unseen, after many failures.",
        f->h.auth_refused);
    put_server_hist(f, "fetch_seconds", "What requests waited for jobs that were on disk.",
                    f->h.fetch_us);
    put_server_hist(f, "commit_seconds", "From handing records to the disk until they are durable.",
                    f->h.commit_us);
}

static void put_events(struct figures *f)
{
    one(f, "event_streams", "gauge", "Readers of /v1/events.", f->h.event_streams);
    one(f, "events_total", "counter", "Changes of jobs that were told to those who listen.",
        f->h.events);
    one(f, "events_missed_total", "counter", "Of them, those that the log and traces missed.",
        f->h.events_missed);
    one(f, "otlp_spans_exported_total", "counter", "Spans that the OTLP receiver took.",
        f->h.spans_exported);
    one(f, "otlp_spans_dropped_total", "counter", "Spans that it did not take in time.",
        f->h.spans_dropped);
}

static void put_pushes(struct figures *f)
{
    static const char *const names[] = {
#define NAME(name, help) [PUSH_##name] = #name,
        PUSH_OUTCOMES(NAME)
#undef NAME
    };

    family(f, "push_requests_total", "counter", "Pushes by what became of them.");
    for (size_t i = 0; i < PUSH_OUTCOME_COUNT; i++)
        buf_printf(f->out, "belfry_push_requests_total{outcome=\"%s\"} %llu\n", names[i],
                   (unsigned long long)f->h.push->outcomes[i]);
    one(f, "push_running", "gauge", "Pushes under way.", f->h.push->running);
    one(f, "push_circuits_open", "gauge", "Endpoints that failed and are left alone for a while.",
        f->h.push->circuits);
    put_server_hist(f, "push_seconds", "From a push's start to its answer.", &f->h.push->took_us);
}

static void put_storage(struct figures *f)
{
    one(f, "disk_bytes", "gauge", "Size of the file system that has the data.", f->h.disk_bytes);
    one(f, "disk_free_bytes", "gauge", "What is left of it.", f->h.disk_free_bytes);
    one(f, "disk_low", "gauge", "1 while space is at its reserve and new jobs are refused.",
        f->h.disk_low);
    one(f, "hot_jobs", "gauge", "Jobs in memory, of any state.", f->s.hot_jobs);
    one(f, "cold_jobs", "gauge", "Jobs on disk only.", f->s.cold_jobs);
    one(f, "runs", "gauge", "Sorted files of jobs on disk.", f->s.runs);
    one(f, "run_bytes", "gauge", "Their size.", f->s.run_bytes);
    one(f, "fed_batches_total", "counter", "Batches of jobs that went from memory to disk.",
        f->p.fed_batches);
    one(f, "loaded_jobs_total", "counter", "Jobs that came from disk to memory.", f->p.loaded_jobs);
    one(f, "merged_runs_total", "counter", "Runs that were merged.", f->p.merged_runs);
    one(f, "journal_bytes", "gauge", "Size of the journal.", f->p.journal_bytes);
    one(f, "journal_segments", "gauge", "Files of the journal.", f->p.segments);
    one(f, "journal_commits_total", "counter", "Commits that were written.", f->p.commits);
    one(f, "journal_committed_bytes_total", "counter", "Bytes of commits.", f->p.committed_bytes);
    one(f, "journal_reclaimed_segments_total", "counter", "Segments that were reclaimed.",
        f->p.reclaimed_segments);
    one(f, "journal_copied_bytes_total", "counter", "Bytes that reclaiming copied forward.",
        f->p.copied_bytes);
    one(f, "epoch", "gauge", "Raised by every start.", f->p.epoch);
}

/* By the names that every exporter uses. */
static void put_process(struct figures *f)
{
    buf_printf(f->out,
               "# HELP process_resident_memory_bytes Resident memory.\n"
               "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %llu\n"
               "# HELP process_cpu_seconds_total Processor time, user and system.\n"
               "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %.2f\n"
               "# HELP process_start_time_seconds Since 1970.\n"
               "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.3f\n",
               (unsigned long long)f->h.rss_bytes, (double)f->h.cpu_ms / 1e3,
               (double)f->h.started_ms / 1e3);
}

static int gather(void *arg, const struct queue_view *v)
{
    struct figures *f = arg;

    f->queues[f->n++] = *v;
    return 0;
}

/* What has series by queue. */
static void put_queues(struct figures *f)
{
    put_states(f);
    put_waiters(f);
    put_counters(f);
    put_hist(f, "lateness_seconds", "From the moment a job was to run until its delivery.",
             f->s.lateness, pick_lateness);
    put_hist(f, "runtime_seconds", "From a job's delivery until its attempt ended.", f->s.runtime,
             pick_runtime);
    put_hist(f, "wait_seconds", "How long a LEASE waited until it got jobs.", f->s.wait, pick_wait);
}

/* The sums are the tenant's. */
static void take_tenant(struct figures *f, const struct engine *e, struct str tenant)
{
    engine_tenant_stats(e, tenant, &f->t);
    memcpy(f->s.jobs, f->t.jobs, sizeof(f->s.jobs));
    f->s.counters = f->t.counters;
    f->s.lateness = &f->t.lateness;
    f->s.runtime = &f->t.runtime;
    f->s.wait = &f->t.wait;
}

int metrics_text(struct engine *e, struct partition *p, const struct verb_host *host,
                 struct str tenant, struct buf *out)
{
    bool all = str_eq(tenant, STR(TENANT_ALL));
    struct figures *f = calloc(1, sizeof(*f));
    int err;

    if (!f)
        return BELFRY_NOMEM;
    f->out = out;
    f->tokens = engine_token_count(e);
    engine_stats(e, &f->s);
    partition_stats(p, &f->p);
    host->stats(host, &f->h);
    err = engine_queues(e, tenant, (struct str){ "", 0 }, QUEUES_MAX, gather, f);
    if (!err && all) {
        put_server(f);
        put_events(f);
        put_storage(f);
        put_pushes(f);
        put_queues(f);
        put_process(f);
    } else if (!err) {
        take_tenant(f, e, tenant);
        put_queues(f);
    }
    if (!err && out->failed)
        err = BELFRY_NOMEM;
    free(f);
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
