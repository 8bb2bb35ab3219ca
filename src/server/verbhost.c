/* SPDX-License-Identifier: MIT */
/* The server as verbs see it: facts of the process and its disk, and the log. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/time.h"
#include "engine/audit.h"
#include "server/client.h"
#include "server/events.h"
#include "server/push/push.h"
#include "verbs/overview.h"
#include "verbs/worker.h"

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

static void gather_system(const struct server *s, struct verb_host_stats *ret)
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

static void gather_clients(const struct server *s, struct client_stats *ret)
{
    *ret = (struct client_stats){
        .strangers = s->strangers.count,
        .late = s->strangers.late,
        .replaced = s->strangers.replaced,
        .refused = s->accounts.refused,
        .limited = s->accounts.limited,
        .bytes = s->accounts.bytes,
        .limit_bytes = accounts_limit(s),
        .waits = s->accounts.waits,
        .closed = s->accounts.closed,
    };
}

static void gather_stats(const struct verb_host *h, struct verb_host_stats *ret)
{
    const struct server *s = container_of(h, struct server, verb_host);

    ret->uptime_ms = time_mono_ms() - s->started_mono_ms;
    ret->connections = s->peers.totals[PEER_PLAIN] + s->peers.totals[PEER_TLS];
    ret->commands = s->commands;
    ret->slow = s->slow.count;
    ret->stalls = s->host.stalls;
    ret->memory_limit_bytes = (uint64_t)s->options.memory;
    ret->started_ms = time_wall_ms() - ret->uptime_ms;
    ret->fetch_us = &s->host.fetch_us;
    ret->commit_us = &s->host.commit_us;
    ret->log_lost = s->log.writer ? s->log.writer->lost : 0;
    ret->log_left_out = s->log.rate ? s->log.rate->left_out : 0;
    gather_clients(s, &ret->clients);
    ret->auth_failures = s->guard.failures;
    ret->auth_refused = s->guard.refused;
    ret->audit_refused = s->rations.refused;
    gather_system(s, ret);
    events_stats(s, ret);
    ret->push = push_stats(s);
}

/* A field of a log line in visible ASCII: every other byte becomes a question mark. */
static struct str visible(struct str s, char buf[AUDIT_WORDS_MAX])
{
    size_t n = s.len < AUDIT_WORDS_MAX ? s.len : AUDIT_WORDS_MAX;

    for (size_t i = 0; i < n; i++)
        buf[i] = s.ptr[i] >= ' ' && s.ptr[i] < 127 ? s.ptr[i] : '?';
    return (struct str){ buf, n };
}

/* An entry of the audit log is a line of the server's log, too. Their number has its own limit. */
static void log_audited(const struct verb_host *h, const struct audit_entry *a)
{
    const struct server *s = container_of(h, struct server, verb_host);
    struct log_field fields[] = {
        { "tenant", a->tenant, 0 },   { "user", a->user, 0 }, { "client", a->client, 0 },
        { "address", a->address, 0 }, { "verb", a->verb, 0 }, { "request", a->request, 0 },
        { "outcome", a->outcome, 0 },
    };
    size_t n = sizeof(fields) / sizeof(fields[0]);
    char texts[sizeof(fields) / sizeof(fields[0])][AUDIT_WORDS_MAX];

    for (size_t i = 0; i < n; i++)
        fields[i].text = visible(fields[i].text, texts[i]);
    log_each(&s->log, LOG_LEVEL_INFO, "audit", fields, n);
}

/* Enters how many changes were refused. False: not now. */
static bool enter_refused(void *arg, struct str tenant, uint64_t refused)
{
    struct server *s = arg;
    char outcome[AUDIT_TEXT_MAX];
    struct audit_entry a = { .tenant = tenant, .verb = STR("AUDIT"), .request = STR("audit_rate") };

    if (!host_is_up(&s->host) || !host_may_execute(&s->host))
        return false;
    snprintf(outcome, sizeof(outcome), "%llu changes were refused", (unsigned long long)refused);
    a.outcome = str_of(outcome);
    host_advance(&s->host);
    if (engine_audit(s->host.engine, &a) < 0)
        return false;
    log_audited(&s->verb_host, &a);
    host_wake(&s->host);
    return true;
}

void verbhost_sweep(struct server *s, int64_t mono_ms)
{
    rations_sweep(&s->rations, mono_ms, enter_refused, s);
}

/* The log hears of an address's first wrong token, and of the token after which the guard answers
 * BUSY. */
static void log_wrong_token(const struct verb_host *h, struct str address, uint32_t n)
{
    const struct server *s = container_of(h, struct server, verb_host);
    char from[sizeof(((struct session *)0)->address)];

    snprintf(from, sizeof(from), "%.*s", STR_ARG(address));
    if (n == 1)
        log_warn(&s->log, "a wrong token was shown", "address", from);
    else if (n == GUARD_FAILURES)
        log_warn(&s->log,
                 "many wrong tokens were shown: further ones are only counted for a minute",
                 "address", from);
}

static bool unpark_client(const struct verb_host *h, uint64_t id, struct str tenant)
{
    struct server *s = container_of(h, struct server, verb_host);

    list_each_of (struct client, c, &s->clients, all) {
        if (c->session.id != id)
            continue;
        if (!c->session.parked ||
            (!str_eq(tenant, STR(TENANT_ALL)) && !str_eq(tenant, identity_tenant(&c->session.who))))
            return false;
        client_end_wait(c);
        return true;
    }
    return false;
}

void verbhost_init(struct server *s)
{
    s->verb_host = (struct verb_host){
        .unpark = unpark_client,
        .max_payload = (size_t)s->options.max_payload,
        .metrics_queues = (size_t)s->options.metrics_queues,
        .stats = gather_stats,
        .audited = log_audited,
        .auth_failed = log_wrong_token,
        .workers = workers_new(s->hash_key),
        .overviews = overviews_new(s->hash_key),
    };
}
