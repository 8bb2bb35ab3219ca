/* SPDX-License-Identifier: MIT */
/* Steps in which an admin changes settings. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/steps.h"

#define MINUTE INT64_C(60000)
#define DAY    (24 * 60 * MINUTE)

/* ---- Limits, where there are some ---- */

static struct rate random_rate(struct world *w)
{
    struct rng *r = &w->rng;

    if (!w->limits || rng_chance(r, 50))
        return (struct rate){ 0 };
    struct rate rate = { .count = rng_between(r, 1, rng_chance(r, 80) ? 6 : MODEL_TAKES),
                         .per_ms = 1 + rng_duration(r, 10 * MINUTE) };
    if (rng_chance(r, 40))
        rate.burst = rng_between(r, 1, rate.count);
    if (rate.burst > 0 && (rate.count % rate.burst > 0 || rate.per_ms * rate.burst < rate.count))
        rate.burst = 0;
    return rate;
}

static int64_t random_limit(struct world *w, int64_t most)
{
    return !w->limits || rng_chance(&w->rng, 50) ? 0 : rng_between(&w->rng, 1, most);
}

/* Quiet for some part of a period, long or short. */
static void random_quiet(struct world *w, struct tenant_settings *ret)
{
    struct rng *r = &w->rng;
    int64_t period = 2 + rng_duration(r, DAY);

    if (w->gates && rng_chance(r, 70))
        gate_quiet(ret->quiet, period, rng_between(r, 1, period - 1), rng_between(r, 0, period));
    snprintf(ret->tz, sizeof(ret->tz), "%s", rng_chance(r, 50) ? "Mars" : "");
}

/* A request has a record if it makes a thing known or changes it, and none if it does not. */
static void judge_record(const struct world *w, uint64_t changes, bool known, bool same)
{
    bool written = engine_changes(w->engine) != changes;

    CHECK(written || (known && same), "settings that change something have no record");
    CHECK(!written || !known || !same, "settings that change nothing have a record");
}

/* ---- Queues ---- */

static void queue_set(struct world *w, unsigned q, const struct model_queue *s, unsigned fields)
{
    char text[TEXT_MAX];
    struct queue_settings settings = {
        .paused = s->paused,
        .lease_ms = s->lease_ms,
        .attempts = s->attempts,
        .retain_ms = s->retain_ms,
        .retain_dead_ms = s->retain_dead_ms,
        .key_hold_ms = s->key_hold_ms,
        .past_grace_ms = s->past_grace_ms,
        .max_running = s->max_running,
        .rate = s->rate,
    };

    snprintf(settings.backoff, sizeof(settings.backoff), "%s", backoffs_text(s->backoff));
    struct model_queue before = w->model.queues[q];
    struct queue_view v;
    bool known = engine_queue_get(w->engine, text_make(TEXT_QUEUE, q, text), &v) == 0;
    uint64_t changes = engine_changes(w->engine);
    int err = engine_queue_set(w->engine, text_make(TEXT_QUEUE, q, text), &settings, fields);
    trace_note("QUEUE q%u fields %x: paused %d lease %" PRId64 " attempts %" PRId64 " backoff %s"
               " retain %" PRId64 " dead %" PRId64 " hold %" PRId64 " grace %" PRId64
               " running %" PRId64 " rate %" PRId64 "/%" PRId64,
               q, fields, s->paused, s->lease_ms, s->attempts, settings.backoff, s->retain_ms,
               s->retain_dead_ms, s->key_hold_ms, s->past_grace_ms, s->max_running, s->rate.count,
               s->rate.per_ms);
    CHECK(err == 0, "QUEUE answers %s", error_name(err));
    w->model.queues[q].exists = w->model.queues[q].exists || known; /* that is no change */
    model_queue_set(&w->model, q, s, fields);
    before.exists = true;
    judge_record(w, changes, known, memcmp(&before, &w->model.queues[q], sizeof(before)) == 0);
    world_answer(w, "QUEUE");
}

void step_queue_set(struct world *w)
{
    struct rng *r = &w->rng;
    struct model_queue s = {
        .lease_ms = 1 + rng_duration(r, 5 * MINUTE),
        .attempts = rng_between(r, 0, 6),
        .backoff = (unsigned)rng_between(r, 1, BACKOFFS - 1),
        .retain_ms = rng_chance(r, 20) ? 0 : rng_duration(r, 2 * DAY),
        .retain_dead_ms = rng_chance(r, 20) ? 0 : rng_duration(r, 31 * DAY),
        .key_hold_ms = rng_chance(r, 20) ? 0 : rng_duration(r, DAY),
        .past_grace_ms = rng_chance(r, 60) ? -1 : rng_duration(r, DAY),
        .max_running = random_limit(w, 4),
        .rate = random_rate(w),
    };

    unsigned fields = (unsigned)rng_next(r) & 0x3ff & ~(1u << QUEUE_PAUSED);
    if (fields & 1u << QUEUE_RATE && (s.rate.burst > 0 || rng_chance(r, 10)))
        fields |= 1u << QUEUE_BURST;
    queue_set(w, (unsigned)rng_below(r, MODEL_QUEUES), &s, fields);
}

void step_pause(struct world *w)
{
    unsigned q = (unsigned)rng_below(&w->rng, MODEL_QUEUES);
    bool paused = w->model.queues[q].paused;

    queue_set(w, q, &(struct model_queue){ .paused = !paused || rng_chance(&w->rng, 10) },
              1u << QUEUE_PAUSED);
}

void step_resume(struct world *w, unsigned queue)
{
    queue_set(w, queue, &(struct model_queue){ .paused = false },
              1u << QUEUE_PAUSED | 1u << QUEUE_RATE);
}

/* ---- Tenants ---- */

static void tenant_set(struct world *w, unsigned t, const struct tenant_settings *s,
                       unsigned fields)
{
    char text[TEXT_MAX];
    struct tenant_settings before = w->model.tenants[t];
    struct tenant_view v;
    bool known = engine_tenant_get(w->engine, text_make(TEXT_TENANT, t, text), &v) == 0;
    uint64_t changes = engine_changes(w->engine);
    int err = engine_tenant_set(w->engine, text_make(TEXT_TENANT, t, text), s, fields);

    trace_note("TENANT %u fields %x: weight %" PRId64 " paused %d maintenance %d pending %" PRId64
               " running %" PRId64 " rate %" PRId64 "/%" PRId64 " quiet %s spread %" PRId64,
               t, fields, s->weight, s->paused, s->maintenance, s->max_pending, s->max_running,
               s->rate.count, s->rate.per_ms, s->quiet, s->spread_ms);
    CHECK(err == 0, "TENANT answers %s", error_name(err));
    model_tenant_set(&w->model, t, s, fields);
    judge_record(w, changes, known, memcmp(&before, &w->model.tenants[t], sizeof(before)) == 0);
    world_answer(w, "TENANT");
}

/* Mostly a limit that is soon reached. Where there are recurrences, the limit is far away, because
 * the model does not know which occurrences have room. */
static int64_t random_bytes(struct world *w, unsigned t)
{
    int64_t kept = (int64_t)bytes_kept(w, t);

    if (w->recurs || rng_chance(&w->rng, 40))
        return rng_chance(&w->rng, 50) ? 0 : INT64_C(1) << 40;
    return 1 + (rng_chance(&w->rng, 30) ? kept / 2 : kept) + rng_between(&w->rng, 0, 20000);
}

/* A limit of a few jobs. The model then does not expect that the tenant is given more: see
 * leasing_queues. */
static int64_t random_leased(struct world *w)
{
    if (!w->cold || rng_chance(&w->rng, 50))
        return rng_chance(&w->rng, 50) ? 0 : INT64_C(1) << 40;
    return rng_between(&w->rng, 1, rng_chance(&w->rng, 50) ? 1000 : 10000);
}

void step_tenant_set(struct world *w)
{
    struct rng *r = &w->rng;
    unsigned t = (unsigned)rng_below(r, MODEL_TENANTS);
    struct tenant_settings s = {
        .weight = rng_chance(r, 95) ? rng_between(r, 1, 4) : rng_between(r, 1, WEIGHT_MAX),
        .max_pending = random_limit(w, rng_chance(r, 50) ? 6 : 60),
        .max_running = random_limit(w, 5),
        .rate = random_rate(w),
        .spread_ms = rng_chance(r, 50) ? 0 : rng_duration(r, 30 * MINUTE),
    };

    random_quiet(w, &s);
    s.max_queues = s.max_pending ? MODEL_QUEUES + s.max_pending : 0; /* it holds nobody back */
    s.max_recurrences = s.max_running < 2 ? s.max_running : 0;
    s.max_connections = s.max_pending; /* these two are for the server */
    s.requests = s.max_running;
    s.max_bytes = random_bytes(w, t);
    s.max_streams = s.max_pending; /* it is for the server, too */
    s.max_leased = random_leased(w);
    unsigned fields = (unsigned)rng_next(r) & 0x7fff & ~(1u << TENANT_MAINTENANCE);
    if (fields & 1u << TENANT_RATE && (s.rate.burst > 0 || rng_chance(r, 10)))
        fields |= 1u << TENANT_BURST;
    tenant_set(w, t, &s, fields);
}

void step_maintenance(struct world *w)
{
    unsigned t = (unsigned)rng_below(&w->rng, MODEL_TENANTS);
    struct tenant_settings s = { .maintenance = !model_is_shut(&w->model, t) };
    unsigned fields = 1u << TENANT_MAINTENANCE;

    if (s.maintenance && rng_chance(&w->rng, 50)) {
        s.maintenance_until_ms = w->model.now_ms + rng_duration(&w->rng, 10 * MINUTE);
        fields |= 1u << TENANT_UNTIL;
    }
    if (w->limits || rng_chance(&w->rng, 20) || !s.maintenance)
        tenant_set(w, t, &s, fields);
}

void step_tenant_pause(struct world *w)
{
    unsigned t = (unsigned)rng_below(&w->rng, MODEL_TENANTS);
    bool paused = w->model.tenants[t].paused;

    if (w->limits || rng_chance(&w->rng, 20) || paused)
        tenant_set(w, t, &(struct tenant_settings){ .paused = !paused || rng_chance(&w->rng, 10) },
                   1u << TENANT_PAUSED);
}

void step_open_tenant(struct world *w, unsigned tenant)
{
    tenant_set(w, tenant, &(struct tenant_settings){ 0 },
               1u << TENANT_PAUSED | 1u << TENANT_MAINTENANCE | 1u << TENANT_RATE);
}
