/* SPDX-License-Identifier: MIT */
/* STATS, and the rows of figures. */
#include "verbs/handlers.h"

/* Rows about struct figures, in groups, because STATS and METRICS have different orders. */
/* clang-format off */
#define SERVER_FIGURES \
    SHOW_DURATION("uptime_ms", h.uptime_ms), \
    SHOW_INT("connections", h.connections, METRIC("connections", "Clients that are connected.")), \
    SHOW_INT("strangers", h.clients.strangers, METRIC("strangers", "Of them, clients that have yet to show a token.")), \
    SHOW_INT("", h.clients.late, METRIC("strangers_late_total", "Connections that were closed because no token was shown within auth_timeout.")), \
    SHOW_INT("", h.clients.replaced, METRIC("strangers_replaced_total", "Connections without a token whose place a new one took.")), \
    SHOW_INT("", h.clients.refused, METRIC("tenant_connections_refused_total", "Tokens that were refused because their tenant had as many connections as it may.")), \
    SHOW_INT("", h.clients.limited, METRIC("tenant_requests_refused_total", "Requests that were refused because their tenant had sent as many as it may.")), \
    SHOW_SIZE("clients_bytes", h.clients.bytes, METRIC("clients_bytes", "Buffers of all connections: what clients sent, and have not read.")), \
    SHOW_SIZE("clients_limit_bytes", h.clients.limit_bytes, METRIC("clients_limit_bytes", "The limit of these, clients_memory.")), \
    SHOW_INT("", h.clients.waits, METRIC("clients_waits_total", "Requests that waited because of this limit.")), \
    SHOW_INT("", h.clients.closed, METRIC("clients_closed_total", "Connections that were closed because others needed their memory.")), \
    SHOW_INT("commands", h.commands, METRIC("commands_total", "Requests that were executed.")), \
    SHOW_INT("slow", h.slow, METRIC("slow_total", "Pieces of work that held the loop for slow_work or longer.")), \
    SHOW_INT("stalls", h.stalls, METRIC("stalls_total", "Times that the loop stood still for 50 ms or more.")), \
    SHOW_INT("waiting_workers", s.waiters, METRIC("waiting_workers", "LEASE requests that wait.")), \
    SHOW_INT("waiting_results", s.awaits, METRIC("waiting_results", "Requests that wait for the end of a job.")), \
    SHOW_INT("audit_entries", s.audit_entries, METRIC("audit_entries", "Entries of the audit log.")), \
    SHOW_INT("audit_dropped", s.audit_dropped, METRIC("audit_dropped_total", "Entries of the audit log that were forgotten before audit_retention was over, as there were more than audit_max.")), \
    SHOW_INT("audit_refused", h.audit_refused, METRIC("audit_refused_total", "Changes that were refused because their tenant had made as many entries of the audit log as audit_rate allows.")), \
    SHOW_INT("queues", s.queues, METRIC("queues", "Queues that are known.")), \
    SHOW_INT("queues_forgotten", s.queues_forgotten, METRIC("queues_forgotten_total", "Queues that were forgotten, as they had no jobs and no settings.")), \
    SHOW_INT("tenants", s.tenants, METRIC("tenants", "Tenants that are known."))

#define MEMORY_FIGURES \
    SHOW_SIZE("memory_bytes", p.memory_bytes, METRIC("memory_bytes", "Memory by the account that the budget limits.")), \
    SHOW_SIZE("memory_limit_bytes", h.memory_limit_bytes, METRIC("memory_limit_bytes", "The budget.")), \
    SHOW_SIZE("leased_bytes", s.leased_bytes, METRIC("leased_bytes", "Memory of leased jobs.")), \
    SHOW_INT("leased_memory_tenants", s.laden, METRIC("leased_memory_tenants", "Tenants that get no further job because their leased jobs take their share of memory, or their MAX_LEASED.")), \
    SHOW_INT("leased_memory_holds", s.leased_holds, METRIC("leased_memory_holds_total", "Times that a tenant reached its share of memory for leased jobs, or its MAX_LEASED, and had more to give."))

#define JOBS_FIGURES \
    SHOW_INT("hot_jobs", s.hot_jobs, METRIC("hot_jobs", "Jobs in memory, of any state.")), \
    SHOW_INT("cold_jobs", s.cold_jobs, METRIC("cold_jobs", "Jobs on disk only.")), \
    SHOW_SIZE("kept_bytes", s.kept_bytes, METRIC("kept_bytes", "Bytes that are kept of all tenants: their jobs, ended ones too, and their recurrences.")), \
    SHOW_INT("kept_bytes_refused", s.kept_refusals, METRIC("kept_bytes_refused_total", "Requests that were refused because of MAX_BYTES of their tenant, or of tenant_bytes."))

#define RUNS_FIGURES \
    SHOW_INT("runs", s.runs, METRIC("runs", "Sorted files of jobs on disk.")), \
    SHOW_SIZE("run_bytes", s.run_bytes, METRIC("run_bytes", "Their size.")), \
    SHOW_INT("fed_batches", p.fed_batches, METRIC("fed_batches_total", "Batches of jobs that went from memory to disk.")), \
    SHOW_INT("loaded_jobs", p.loaded_jobs, METRIC("loaded_jobs_total", "Jobs that came from disk to memory.")), \
    SHOW_INT("merged_runs", p.merged_runs, METRIC("merged_runs_total", "Runs that were merged."))

#define JOURNAL_FIGURES \
    SHOW_SIZE("journal_bytes", p.journal_bytes, METRIC("journal_bytes", "Size of the journal.")), \
    SHOW_INT("journal_segments", p.segments, METRIC("journal_segments", "Files of the journal."))

#define COMMITS_FIGURES \
    SHOW_INT("commits", p.commits, METRIC("journal_commits_total", "Commits that were written.")), \
    SHOW_INT("", p.committed_bytes, METRIC("journal_committed_bytes_total", "Bytes of commits."))

#define DISK_FIGURES \
    SHOW_SIZE("disk_bytes", h.disk_bytes, METRIC("disk_bytes", "Size of the file system that has the data.")), \
    SHOW_SIZE("disk_free_bytes", h.disk_free_bytes, METRIC("disk_free_bytes", "What is left of it.")), \
    SHOW_INT("disk_low", h.disk_low, METRIC("disk_low", "1 while space is at its reserve and new jobs are refused."))

#define RECLAIM_FIGURES \
    SHOW_INT("journal_reclaimed", p.reclaimed_segments, METRIC("journal_reclaimed_segments_total", "Segments that were reclaimed.")), \
    SHOW_SIZE("journal_copied_bytes", p.copied_bytes, METRIC("journal_copied_bytes_total", "Bytes that reclaiming copied forward."))

#define EPOCH_FIGURES \
    SHOW_INT("epoch", p.epoch, METRIC("epoch", "Raised by every start."))

#define OF struct push_stats
const struct shape_field push_metrics[] = {
    SHOW_INT("push_running", running, METRIC("push_running", "Pushes under way.")),
    SHOW_INT("push_circuits_open", circuits,
             METRIC("push_circuits_open", "Endpoints that failed and are left alone for a while.")),
    { 0 },
};

#define OUTCOME(name, help) SHOW_INT("total_push_" #name, outcomes[PUSH_##name]),
static const struct shape_field push_fields[] = {
    SHOW_ALL(push_metrics),
    PUSH_OUTCOMES(OUTCOME)
    SHOW_HIST("push", "us", took_us),
    { 0 },
};
#undef OUTCOME
#undef OF
#define OF struct counters
#define COUNTER(name, help) \
    SHOW_INT("total_" #name, name, METRIC("jobs_" #name "_total", "Since the start: " help ".")),
const struct shape_field counter_fields[] = {
    ENGINE_COUNTERS(COUNTER)
    { 0 },
};
#undef COUNTER
#undef OF
#define OF struct hist
static const struct shape_field fetch_fields[] = {
    SHOW_INT("fetches", count),
    { 0 },
};
#undef OF

static void put_version(struct reply *r, const void *view)
{
    (void)view;
    reply_text(r, BELFRY_VERSION);
}

#define STATE(name, text, part, next) SHOW_INT(text, s.jobs[JOB_##name]),
#define OF struct figures
const struct shape_field stats_fields[] = {
    SHOW_OWN("version", SHAPE_TEXT, put_version),
    SERVER_FIGURES,
    JOB_STATES(STATE)
    JOBS_FIGURES,
    MEMORY_FIGURES,
    SHOW_SIZE("rss_bytes", h.rss_bytes),
    RUNS_FIGURES,
    SHOW_SIZE("live_bytes", s.live_bytes),
    JOURNAL_FIGURES,
    RECLAIM_FIGURES,
    COMMITS_FIGURES,
    EPOCH_FIGURES,
    DISK_FIGURES,
    SHOW_HIST("commit", "us", h.commit_us),
    SHOW_PART(s.counters, struct counters, counter_fields),
    SHOW_PART(h.fetch_us, struct hist, fetch_fields),
    SHOW_HIST("fetch", "us", h.fetch_us),
    SHOW_HIST("lateness", "ms", s.lateness),
    SHOW_HIST("runtime", "ms", s.runtime),
    SHOW_HIST("wait", "ms", s.wait),
    SHOW_PART(h.push, struct push_stats, push_fields),
    { 0 },
};

const struct shape_field server_metrics[] = {
    SERVER_FIGURES,
    MEMORY_FIGURES,
    SHOW_INT("", tokens, METRIC("tokens", "Tokens that there are.")),
    SHOW_INT("", h.auth_failures, METRIC("auth_failures_total", "Wrong tokens that were shown and answered as such.")),
    SHOW_INT("", h.auth_refused, METRIC("auth_refused_total", "Wrong tokens that were refused with BUSY, after many from one address.")),
    { 0 },
};

const struct shape_field storage_metrics[] = {
    SHOW_INT("", h.event_streams, METRIC("event_streams", "Readers of /v1/events.")),
    SHOW_INT("", h.streams_refused, METRIC("event_streams_refused_total", "Readers of /v1/events that were refused because of max_streams, of the server or of their tenant.")),
    SHOW_INT("", h.events, METRIC("events_total", "Changes of jobs that were told to those who listen.")),
    SHOW_INT("", h.events_missed, METRIC("events_missed_total", "Of them, those that the log and traces missed.")),
    SHOW_INT("", h.spans_exported, METRIC("otlp_spans_exported_total", "Spans that the OTLP receiver took.")),
    SHOW_INT("", h.spans_dropped, METRIC("otlp_spans_dropped_total", "Spans that it did not take in time.")),
    SHOW_INT("", h.log_lost, METRIC("log_lines_lost_total", "Lines of the server's log that nobody read in time.")),
    SHOW_INT("", h.log_left_out, METRIC("log_lines_left_out_total", "Lines of the server's log that were left out, as there were many others with their message.")),
    DISK_FIGURES,
    JOBS_FIGURES,
    RUNS_FIGURES,
    JOURNAL_FIGURES,
    COMMITS_FIGURES,
    RECLAIM_FIGURES,
    EPOCH_FIGURES,
    { 0 },
};
#undef OF

struct tenant_figures {
    struct str tenant;
    struct tenant_stats s;
};

#define OF struct tenant_figures
const struct shape_field tenant_stats_fields[] = {
    SHOW_TEXT("tenant", tenant),
    SHOW_INT("waiting_workers", s.waiters),
    SHOW_INT("queues", s.queues),
    SHOW_SIZE("kept_bytes", s.kept_bytes),
    JOB_STATES(STATE)
    SHOW_PART(s.counters, struct counters, counter_fields),
    SHOW_HIST("lateness", "ms", s.lateness),
    SHOW_HIST("runtime", "ms", s.runtime),
    SHOW_HIST("wait", "ms", s.wait),
    { 0 },
};
/* clang-format on */

void figures_look(struct engine *e, struct partition *p, const struct verb_host *host,
                  struct figures *ret)
{
    engine_stats(e, &ret->s);
    partition_stats(p, &ret->p);
    host->stats(host, &ret->h);
    ret->tokens = engine_token_count(e);
}

void run_stats(struct verb_call *c)
{
    struct tenant_figures of_tenant = { .tenant = c->tenant };
    struct figures f;

    if (str_eq(c->tenant, STR(TENANT_ALL))) {
        figures_look(c->engine, c->partition, c->host, &f);
        shape_put(c->reply, stats_fields, &f);
    } else {
        engine_tenant_stats(c->engine, c->tenant, &of_tenant.s);
        shape_put(c->reply, tenant_stats_fields, &of_tenant);
    }
}
