/* SPDX-License-Identifier: MIT */
/* The settings of tenants and queues. */
#include <inttypes.h>

#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "engine/place/queue.h"
#include "engine/token.h"
#include "engine/work/work.h"
#include "record/backoff.h"
#include "record/name.h"
#include "record/ratelog.h"
#include "record/record.h"

static int check_rate(struct engine *e, const struct rate *r)
{
    if (r->count != 0 &&
        (r->count < 0 || r->count > RATE_COUNT_MAX || r->per_ms < 1 || r->per_ms > RATE_PER_MAX))
        return engine_error(e, BELFRY_INVALID, "rate: expected up to %d in 1ms to 1d",
                            RATE_COUNT_MAX);
    if (r->burst != 0 && r->count == 0)
        return engine_error(e, BELFRY_INVALID, "burst: there is no rate");
    if (r->burst < 0 || (r->burst > 0 && r->count % r->burst != 0))
        return engine_error(e, BELFRY_INVALID,
                            "burst: expected a number that divides the rate's %" PRId64, r->count);
    if (!rate_burst_is_valid(r))
        return engine_error(e, BELFRY_INVALID,
                            "burst: expected %" PRId64 " or more, as the rate allows in 1ms",
                            (r->count + r->per_ms - 1) / r->per_ms);
    return 0;
}

/* Settings that change nothing have no record, so that the audit log has no entry of them. */
static bool is_as_before(const struct engine *e, bool equal)
{
    return equal && !MUTANT(e->o.mutant, SAME_WRITTEN);
}

int engine_tenant_set(struct engine *e, struct str name, const struct tenant_settings *s,
                      unsigned fields)
{
    const struct tenant *t = tenant_find(e, name);
    struct tenant_record r = { .name = name, .settings = t ? t->settings : tenant_defaults };
    int err;

    if (!name_valid(name))
        return engine_error(e, BELFRY_INVALID, "tenant: " NAME_RULE);
#define SET(field, kind, member)       \
    if (fields & 1u << TENANT_##field) \
        memcpy(&r.settings.member, &s->member, sizeof(s->member));
    TENANT_FIELDS(SET)
#undef SET
    if (!(fields & 1u << TENANT_BURST) && fields & 1u << TENANT_RATE)
        r.settings.rate.burst = 0;
    if (!(fields & 1u << TENANT_UNTIL) && fields & 1u << TENANT_MAINTENANCE)
        r.settings.maintenance_until_ms = 0;
    if (r.settings.weight < 1 || r.settings.weight > WEIGHT_MAX)
        return engine_error(e, BELFRY_INVALID, "weight: expected 1 to %d", WEIGHT_MAX);
    if (r.settings.max_pending < 0 || r.settings.max_running < 0)
        return engine_error(e, BELFRY_INVALID, "max_pending, max_running: expected 0 or more");
    if (r.settings.max_queues < 0 || r.settings.max_recurrences < 0)
        return engine_error(e, BELFRY_INVALID, "max_queues, max_recurrences: expected 0 or more");
    if (r.settings.max_connections < 0 || r.settings.requests < 0)
        return engine_error(e, BELFRY_INVALID, "max_connections, requests: expected 0 or more");
    if (r.settings.max_bytes < 0 || r.settings.max_streams < 0 || r.settings.max_leased < 0)
        return engine_error(e, BELFRY_INVALID,
                            "max_bytes, max_streams, max_leased: expected 0 or more");
    if (r.settings.spread_ms < 0 || r.settings.spread_ms > SPREAD_MAX_MS)
        return engine_error(e, BELFRY_INVALID, "spread: expected 0ms to 1d");
    if (r.settings.maintenance_until_ms != 0 && !r.settings.maintenance)
        return engine_error(e, BELFRY_INVALID, "until: the tenant is not in maintenance");
    err = check_rate(e, &r.settings.rate);
    if (err || (t && is_as_before(e, tenant_settings_equal(&t->settings, &r.settings))))
        return err;
    if (t)
        rated_taken(e, &t->rated, &t->settings.rate, &r.taken);
    return emit_tenant(e, &r);
}

int engine_queue_set(struct engine *e, struct str name, const struct queue_settings *s,
                     unsigned fields)
{
    struct queue_record r = { .queue = name, .settings = queue_defaults };
    struct queue *q = queue_find(e, name);
    int err;
    struct backoff b;
    const char *why;

    if (!queue_name_valid(name))
        return engine_error(e, BELFRY_INVALID, "queue: " NAME_RULE);
    if (fields & 1u << QUEUE_BACKOFF && backoff_parse(str_of(s->backoff), &b, &why) < 0)
        return engine_error(e, BELFRY_INVALID, "backoff: %s", why);
    if (q)
        r.settings = *q->settings;
#define SET(field, kind, member)      \
    if (fields & 1u << QUEUE_##field) \
        memcpy(&r.settings.member, &s->member, sizeof(s->member));
    QUEUE_FIELDS(SET)
#undef SET
    if (!(fields & 1u << QUEUE_BURST) && fields & 1u << QUEUE_RATE)
        r.settings.rate.burst = 0;
    if (r.settings.max_running < 0)
        return engine_error(e, BELFRY_INVALID, "max_running: expected 0 or more");
    err = check_rate(e, &r.settings.rate);
    if (!err)
        err = push_settings_check(e, &r.settings.push);
    if (!err && !queue_settings_are_usual(&r.settings))
        err = tenant_refuses_queue(e, q, name);
    if (err || (q && is_as_before(e, queue_settings_equal(q->settings, &r.settings))))
        return err;
    if (q)
        rated_taken(e, &q->rated, &q->settings->rate, &r.taken);
    return emit_queue(e, &r);
}

/* ---- Deleting ---- */

/* In memory or on disk, also if they have ended. */
static bool queue_has_jobs(const struct queue *q)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (q->jobs[i])
            return true;
    for (int i = 0; i < COLD_SLOTS; i++)
        if (q->cold[i])
            return true;
    return false;
}

int engine_queue_delete(struct engine *e, struct str name)
{
    struct queue *q = queue_find(e, name);
    int err = 0;

    if (!q || q->hidden)
        return engine_error(e, BELFRY_NOTFOUND, "there is no such queue");
    if (queue_has_jobs(q) && !MUTANT(e->o.mutant, REMOVAL_HASTY))
        return engine_error(e, BELFRY_STATE,
                            "the queue has jobs, which may have ended: "
                            "delete them first, or let them be forgotten");
    if (q->post.waiters > 0)
        return engine_error(e, BELFRY_STATE, "workers wait for jobs of the queue");
    if (q->settings != &queue_defaults) {
        struct queue_record r = { .queue = name, .settings = queue_defaults };
        err = MUTANT(e->o.mutant, REMOVAL_LOST) ? apply_queue(e, &r) : emit_queue(e, &r);
    }
    if (!err && (q = queue_find(e, name)))
        queue_drop(e, q);
    return err;
}

static int note_token(void *arg, const struct token_view *v)
{
    (void)v;
    *(bool *)arg = true;
    return 0;
}

/* Whether some of its queues, also the engine's own, are in use. */
static bool tenant_is_used(const struct tenant *t)
{
    list_each_of (const struct queue, q, &t->queues, of_tenant)
        if (q->use != QUEUE_IDLE)
            return true;
    return false;
}

int engine_tenant_delete(struct engine *e, struct str name)
{
    struct tenant *t = tenant_find(e, name);
    bool has_token = false;
    int err = 0;

    if (!t)
        return engine_error(e, BELFRY_NOTFOUND, "there is no such tenant");
    if (tenant_is_used(t))
        return engine_error(e, BELFRY_STATE,
                            "the tenant has queues with jobs or settings, or recurrences or bulks");
    engine_tokens(e, name, (struct str){ 0 }, 1, note_token, &has_token);
    if (has_token)
        return engine_error(e, BELFRY_STATE, "tokens name the tenant: revoke them first");
    if (t->segment) {
        struct tenant_record r = { .name = name, .settings = tenant_defaults };
        err = MUTANT(e->o.mutant, TENANT_REMOVAL_LOST) ? apply_tenant(e, &r) : emit_tenant(e, &r);
    }
    if (err)
        return err;
    size_t queues = list_length(&t->queues);
    if (queues == 0)
        tenant_settle(e, t);
    for (size_t n = queues; n > 0; n--) /* the tenant goes with the last one */
        queue_drop(e, container_of(t->queues.next, struct queue, of_tenant));
    return 0;
}
