/* SPDX-License-Identifier: MIT */
/* QUEUE, QUEUES, PAUSE, RESUME, STATS. */
#include "verbs/handlers.h"

#include <stdio.h>

#include "base/time.h"
#include "engine/push.h"

static void field(struct reply *r, const char *name, uint64_t v)
{
    reply_field(r, name, (int64_t)v);
}

static void reply_states(struct reply *r, const uint64_t *jobs)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        field(r, job_state_name((enum job_state)i), jobs[i]);
}

static void reply_hist(struct reply *r, const char *name, const char *unit, const struct hist *h)
{
    static const struct {
        const char *name;
        double share;
    } quantiles[] = { { "p50", 0.5 }, { "p99", 0.99 } };
    char text[48];

    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "%s_%s_%s", name, quantiles[i].name, unit);
        field(r, text, hist_quantile(h, quantiles[i].share));
    }
    snprintf(text, sizeof(text), "%s_max_%s", name, unit);
    field(r, text, h->max);
}

#define HIST_FIELDS 3

#define COUNTER_ONE(name, help) +1
enum { COUNTER_FIELDS = ENGINE_COUNTERS(COUNTER_ONE) };
#undef COUNTER_ONE

static void reply_counters(struct reply *r, const struct counters *c)
{
#define FIELD(name, help) field(r, "total_" #name, c->name);
    ENGINE_COUNTERS(FIELD)
#undef FIELD
}

/* As it is given: `100/1m`; null for none. */
void reply_rate(struct reply *r, const struct rate *rate)
{
    struct buf text = { 0 };

    reply_text(r, "rate");
    if (rate->count) {
        char per[TIME_TEXT];

        time_format_duration(rate->per_ms, per);
        buf_printf(&text, "%lld/%s", (long long)rate->count, per);
    }
    if (text.len && !text.failed)
        reply_bytes(r, buf_view(&text));
    else
        reply_null(r);
    buf_fini(&text);
}

/* Of what may be secret only that it is there: the names of headers, the number of secrets. */
static void reply_push(struct reply *r, const struct push_settings *s)
{
    struct str rest = s->headers, name, value;
    struct buf names = { 0 };
    uint64_t secrets = 0;

    while (push_header_next(&rest, &name, &value))
        buf_printf(&names, "%s%.*s", names.len ? ", " : "", STR_ARG(name));
    rest = s->secrets;
    while (push_secret_next(&rest, &value))
        secrets++;
    reply_field_bytes(r, "push_url", s->url);
    reply_text(r, "push_headers");
    if (names.len && !names.failed)
        reply_bytes(r, buf_view(&names));
    else
        reply_null(r);
    field(r, "push_secrets", secrets);
    field(r, "push_timeout_ms", (uint64_t)s->timeout_ms);
    field(r, "push_concurrency", (uint64_t)s->concurrency);
    buf_fini(&names);
}

static void reply_settings(struct reply *r, const struct queue_settings *s)
{
    reply_text(r, "paused");
    reply_boolean(r, s->paused);
    field(r, "lease_ms", (uint64_t)s->lease_ms);
    field(r, "attempts", (uint64_t)s->attempts);
    reply_text(r, "backoff");
    reply_text(r, s->backoff);
    field(r, "retain_ms", (uint64_t)s->retain_ms);
    field(r, "retain_dead_ms", (uint64_t)s->retain_dead_ms);
    field(r, "key_hold_ms", (uint64_t)s->key_hold_ms);
    reply_text(r, "past_grace_ms");
    if (s->past_grace_ms < 0)
        reply_null(r);
    else
        reply_integer(r, s->past_grace_ms);
    field(r, "max_running", (uint64_t)s->max_running);
    reply_rate(r, &s->rate);
    reply_push(r, &s->push);
}

#define SETTING_FIELDS 15

static int reply_queue(void *arg, const struct queue_view *v)
{
    struct reply *r = arg;
    struct str tenant, queue;

    scope_split(v->name, &tenant, &queue);
    reply_map(r, 4 + JOB_STATE_COUNT + COUNTER_FIELDS + 3 * HIST_FIELDS + SETTING_FIELDS);
    reply_text(r, "tenant");
    reply_bytes(r, tenant);
    reply_text(r, "queue");
    reply_bytes(r, queue);
    reply_text(r, "held_by");
    if (v->hold == HOLD_NONE)
        reply_null(r);
    else
        reply_text(r, hold_text(v->hold));
    reply_states(r, v->jobs);
    field(r, "waiting_workers", v->waiters);
    reply_settings(r, v->settings);
    reply_counters(r, v->counters);
    reply_hist(r, "lateness", "ms", v->lateness);
    reply_hist(r, "runtime", "ms", v->runtime);
    reply_hist(r, "wait", "ms", v->wait);
    return 0;
}

#define QUEUES_MAX 1000

struct names {
    struct str at[QUEUES_MAX];
    size_t n;
};

static int note_name(void *arg, const struct queue_view *v)
{
    struct names *names = arg;

    names->at[names->n++] = v->name;
    return 0;
}

void run_queues(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct names names = { .n = 0 };
    char buf[QUEUE_MAX_BYTES];
    struct str after = STR("");

    if (a[QUEUES_AFTER].set && str_eq(c->tenant, STR(TENANT_ALL))) {
        after = a[QUEUES_AFTER].str;
    } else if (a[QUEUES_AFTER].set && !name_valid(a[QUEUES_AFTER].str)) {
        verb_error(c, BELFRY_INVALID, "after: expected a queue's name");
        return;
    } else if (a[QUEUES_AFTER].set) {
        full_name(c->tenant, a[QUEUES_AFTER].str, buf, &after);
    }
    int err = engine_queues(c->engine, c->tenant, after,
                            a[QUEUES_LIMIT].set ? (size_t)a[QUEUES_LIMIT].number : QUEUES_MAX,
                            note_name, &names);

    if (err) {
        verb_error(c, err, "");
        return;
    }
    reply_array(c->reply, names.n);
    for (size_t i = 0; i < names.n; i++) {
        struct queue_view v;

        engine_queue_get(c->engine, names.at[i], &v); /* listed just now: it is there */
        reply_queue(c->reply, &v);
    }
}

static unsigned settings_given(const struct arg_value *a, struct queue_settings *ret)
{
    unsigned fields = 0;

#define NUMBER(argument, field, member)   \
    if (a[argument].set) {                \
        ret->member = a[argument].number; \
        fields |= 1u << field;            \
    }
    NUMBER(QUEUE_ARG_LEASE, QUEUE_LEASE, lease_ms)
    NUMBER(QUEUE_ARG_ATTEMPTS, QUEUE_ATTEMPTS, attempts)
    NUMBER(QUEUE_ARG_RETAIN, QUEUE_RETAIN, retain_ms)
    NUMBER(QUEUE_ARG_RETAIN_DEAD, QUEUE_RETAIN_DEAD, retain_dead_ms)
    NUMBER(QUEUE_ARG_KEY_HOLD, QUEUE_KEY_HOLD, key_hold_ms)
    NUMBER(QUEUE_ARG_PAST_GRACE, QUEUE_PAST_GRACE, past_grace_ms)
    NUMBER(QUEUE_ARG_MAX_RUNNING, QUEUE_MAX_RUNNING, max_running)
    NUMBER(QUEUE_ARG_PUSH_TIMEOUT, QUEUE_PUSH_TIMEOUT, push.timeout_ms)
    NUMBER(QUEUE_ARG_PUSH_CONCURRENCY, QUEUE_PUSH_CONCURRENCY, push.concurrency)
#undef NUMBER
#define TEXT(argument, field, member)  \
    if (a[argument].set) {             \
        ret->member = a[argument].str; \
        fields |= 1u << field;         \
    }
    TEXT(QUEUE_ARG_PUSH_URL, QUEUE_PUSH_URL, push.url)
    TEXT(QUEUE_ARG_PUSH_HEADERS, QUEUE_PUSH_HEADERS, push.headers)
    TEXT(QUEUE_ARG_PUSH_SECRET, QUEUE_PUSH_SECRET, push.secrets)
#undef TEXT
    if (a[QUEUE_ARG_RATE].set) {
        ret->rate = a[QUEUE_ARG_RATE].rate;
        fields |= 1u << QUEUE_RATE;
    }
    if (a[QUEUE_ARG_BACKOFF].set) {
        struct str s = a[QUEUE_ARG_BACKOFF].str;

        memcpy(ret->backoff, s.ptr, s.len); /* its length was checked with its form */
        ret->backoff[s.len] = '\0';
        fields |= 1u << QUEUE_BACKOFF;
    }
    return fields;
}

void run_queue(struct verb_call *c)
{
    struct queue_settings s = { 0 };
    unsigned fields = settings_given(c->args, &s);
    char buf[QUEUE_MAX_BYTES];
    struct str name;
    struct queue_view v;
    int err;

    if (!queue_named(c, c->args[QUEUE_NAME].str, buf, &name))
        return;
    err = fields ? engine_queue_set(c->engine, name, &s, fields) : 0;

    if (err) {
        verb_error(c, err, engine_detail(c->engine));
        return;
    }
    if (engine_queue_get(c->engine, name, &v) == 0)
        reply_queue(c->reply, &v);
    else
        reply_null(c->reply);
}

static void set_paused(struct verb_call *c, bool paused)
{
    struct queue_settings s = { .paused = paused };
    char buf[QUEUE_MAX_BYTES];
    struct str name;

    if (queue_named(c, c->args[QUEUE_NAME].str, buf, &name))
        verb_ok(c, engine_queue_set(c->engine, name, &s, 1u << QUEUE_PAUSED));
}

void run_pause(struct verb_call *c)
{
    set_paused(c, true);
}

void run_resume(struct verb_call *c)
{
    set_paused(c, false);
}

static void tenant_stats(struct verb_call *c)
{
    struct reply *r = c->reply;
    struct tenant_stats s;

    engine_tenant_stats(c->engine, c->tenant, &s);
    reply_map(r, 3 + JOB_STATE_COUNT + COUNTER_FIELDS + 3 * HIST_FIELDS);
    reply_text(r, "tenant");
    reply_bytes(r, c->tenant);
    field(r, "waiting_workers", s.waiters);
    field(r, "queues", s.queues);
    reply_states(r, s.jobs);
    reply_counters(r, &s.counters);
    reply_hist(r, "lateness", "ms", &s.lateness);
    reply_hist(r, "runtime", "ms", &s.runtime);
    reply_hist(r, "wait", "ms", &s.wait);
}

static void server_stats(struct verb_call *c)
{
    struct reply *r = c->reply;
    struct engine_stats s;
    struct partition_stats p;
    struct verb_host_stats h;

    engine_stats(c->engine, &s);
    partition_stats(c->partition, &p);
    c->host->stats(c->host, &h);
    reply_map(r, 27 + JOB_STATE_COUNT + COUNTER_FIELDS + PUSH_OUTCOME_COUNT + 5 * HIST_FIELDS);
    reply_text(r, "version");
    reply_text(r, BELFRY_VERSION);
    field(r, "uptime_ms", (uint64_t)h.uptime_ms);
    field(r, "connections", h.connections);
    field(r, "commands", h.commands);
    field(r, "waiting_workers", s.waiters);
    field(r, "queues", s.queues);
    field(r, "tenants", s.tenants);
    reply_states(r, s.jobs);
    field(r, "hot_jobs", s.hot_jobs);
    field(r, "cold_jobs", s.cold_jobs);
    field(r, "memory_bytes", p.memory_bytes);
    field(r, "memory_limit_bytes", h.memory_limit_bytes);
    field(r, "rss_bytes", h.rss_bytes);
    field(r, "runs", s.runs);
    field(r, "run_bytes", s.run_bytes);
    field(r, "fed_batches", p.fed_batches);
    field(r, "loaded_jobs", p.loaded_jobs);
    field(r, "merged_runs", p.merged_runs);
    field(r, "live_bytes", s.live_bytes);
    field(r, "journal_bytes", p.journal_bytes);
    field(r, "journal_segments", p.segments);
    field(r, "journal_reclaimed", p.reclaimed_segments);
    field(r, "journal_copied_bytes", p.copied_bytes);
    field(r, "commits", p.commits);
    field(r, "epoch", p.epoch);
    reply_counters(r, &s.counters);
    field(r, "fetches", h.fetch_us->count);
    reply_hist(r, "fetch", "us", h.fetch_us);
    reply_hist(r, "lateness", "ms", s.lateness);
    reply_hist(r, "runtime", "ms", s.runtime);
    reply_hist(r, "wait", "ms", s.wait);
    field(r, "push_running", h.push->running);
    field(r, "push_circuits_open", h.push->circuits);
#define FIELD(name, help) field(r, "total_push_" #name, h.push->outcomes[PUSH_##name]);
    PUSH_OUTCOMES(FIELD)
#undef FIELD
    reply_hist(r, "push", "us", &h.push->took_us);
}

void run_stats(struct verb_call *c)
{
    if (str_eq(c->tenant, STR(TENANT_ALL)))
        server_stats(c);
    else
        tenant_stats(c);
}
