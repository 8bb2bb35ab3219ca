/* SPDX-License-Identifier: MIT */
/* TENANT, TENANTS. */
#include "verbs/handlers.h"

#include <stdio.h>

#include "recur/quiet.h"

#define TENANTS_MAX 1000

static void field(struct reply *r, const char *name, uint64_t v)
{
    reply_field(r, name, (int64_t)v);
}

static void field_text(struct reply *r, const char *name, const char *text)
{
    reply_text(r, name);
    if (*text)
        reply_text(r, text);
    else
        reply_null(r);
}

static int reply_tenant(void *arg, const struct tenant_view *v)
{
    struct reply *r = arg;
    const struct tenant_settings *s = v->settings;

    reply_map(r, 13);
    reply_text(r, "tenant");
    reply_bytes(r, v->name);
    field(r, "pending", v->pending);
    field(r, "running", v->running);
    field(r, "queues", v->queues);
    field(r, "weight", (uint64_t)s->weight);
    reply_text(r, "maintenance");
    reply_boolean(r, s->maintenance);
    field(r, "max_pending", (uint64_t)s->max_pending);
    field(r, "max_running", (uint64_t)s->max_running);
    reply_rate(r, &s->rate);
    field_text(r, "quiet", s->quiet);
    field_text(r, "tz", s->tz);
    field(r, "spread_ms", (uint64_t)s->spread_ms);
    reply_text(r, "quiet_until_ms");
    if (v->quiet_until_ms >= 0)
        reply_integer(r, v->quiet_until_ms);
    else
        reply_null(r);
    return 0;
}

/* QUIET and TZ; an error after its reply if they cannot be read. */
static int quiet_given(struct verb_call *c, struct tenant_settings *ret, unsigned *fields)
{
    const struct arg_value *quiet = &c->args[TENANT_ARG_QUIET], *tz = &c->args[TENANT_ARG_TZ];
    const struct zone *zone;
    struct rule_error error;
    struct quiet parsed;
    char text[320];

    if (quiet->set && quiet->str.len > 0 && quiet_parse(quiet->str, &parsed, &error) < 0) {
        snprintf(text, sizeof(text), "quiet: %s", error.text);
        verb_error(c, BELFRY_INVALID, text);
        return BELFRY_INVALID;
    }
    if (tz->set && zone_given(c, tz, &zone) < 0)
        return BELFRY_INVALID;
    if (quiet->set) {
        snprintf(ret->quiet, sizeof(ret->quiet), "%.*s", STR_ARG(quiet->str));
        *fields |= 1u << TENANT_QUIET;
    }
    if (tz->set) {
        snprintf(ret->tz, sizeof(ret->tz), "%.*s", STR_ARG(tz->str));
        *fields |= 1u << TENANT_TZ;
    }
    return 0;
}

/* What a tenant may take of the server is not for its own admin to say. False after an error reply.
 */
static bool may_limit(struct verb_call *c)
{
    const struct arg_value *a = c->args;

    if (!verb_is_confined(c) || !(a[TENANT_ARG_WEIGHT].set || a[TENANT_ARG_MAX_PENDING].set ||
                                  a[TENANT_ARG_MAX_RUNNING].set || a[TENANT_ARG_RATE].set))
        return true;
    verb_error(c, BELFRY_NOPERM,
               "weight, max_pending, max_running and rate are set by an admin of tenant *");
    return false;
}

void run_tenant(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct tenant_settings s = { 0 };
    struct tenant_view v;
    unsigned fields = 0;
    int err;

    if (!may_limit(c) || quiet_given(c, &s, &fields) < 0)
        return;
#define GIVEN(argument, field, member, value) \
    if (a[argument].set) {                    \
        s.member = a[argument].value;         \
        fields |= 1u << field;                \
    }
    GIVEN(TENANT_ARG_WEIGHT, TENANT_WEIGHT, weight, number)
    GIVEN(TENANT_ARG_MAINTENANCE, TENANT_MAINTENANCE, maintenance, number == 1)
    GIVEN(TENANT_ARG_MAX_PENDING, TENANT_MAX_PENDING, max_pending, number)
    GIVEN(TENANT_ARG_MAX_RUNNING, TENANT_MAX_RUNNING, max_running, number)
    GIVEN(TENANT_ARG_RATE, TENANT_RATE, rate, rate)
    GIVEN(TENANT_ARG_SPREAD, TENANT_SPREAD, spread_ms, number)
#undef GIVEN
    err = fields ? engine_tenant_set(c->engine, a[TENANT_NAME].str, &s, fields) : 0;
    if (err)
        verb_error(c, err, engine_detail(c->engine));
    else if (engine_tenant_get(c->engine, a[TENANT_NAME].str, &v) == 0)
        reply_tenant(c->reply, &v);
    else
        reply_null(c->reply);
}

struct tenants {
    struct tenant_view at[TENANTS_MAX];
    size_t n;
};

static int note_tenant(void *arg, const struct tenant_view *v)
{
    struct tenants *t = arg;

    t->at[t->n++] = *v;
    return 0;
}

/* One who is confined to his tenant sees that. */
static int own_tenant(struct verb_call *c, struct str after, struct tenants *ret)
{
    struct tenant_view v;

    if (str_compare(c->tenant, after) > 0 && engine_tenant_get(c->engine, c->tenant, &v) == 0)
        note_tenant(ret, &v);
    return 0;
}

void run_tenants(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct tenants tenants = { .n = 0 };
    struct str after = a[TENANTS_AFTER].set ? a[TENANTS_AFTER].str : STR("");
    size_t limit = a[TENANTS_LIMIT].set ? (size_t)a[TENANTS_LIMIT].number : TENANTS_MAX;
    int err = verb_is_confined(c) ? own_tenant(c, after, &tenants)
                                  : engine_tenants(c->engine, after, limit, note_tenant, &tenants);

    if (err) {
        verb_error(c, err, "");
        return;
    }
    reply_array(c->reply, tenants.n);
    for (size_t i = 0; i < tenants.n; i++)
        reply_tenant(c->reply, &tenants.at[i]);
}
