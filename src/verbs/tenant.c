/* SPDX-License-Identifier: MIT */
/* TENANT, TENANTS. */
#include "verbs/handlers.h"

#include <stdio.h>

#include "recur/quiet.h"
#include "verbs/page.h"

/* clang-format off */
#define OF struct tenant_settings
static const struct shape_field setting_fields[] = {
    SHOW_INT("weight", weight), SHOW_BOOL("paused", paused),
    SHOW_INT("max_pending", max_pending), SHOW_INT("max_running", max_running),
    SHOW_RATE("rate", rate), SHOW_INT("burst", rate.burst), SHOW_TEXT("quiet", quiet, OR_NULL), SHOW_TEXT("tz", tz, OR_NULL),
    SHOW_DURATION("spread_ms", spread_ms), SHOW_INT("max_queues", max_queues),
    SHOW_INT("max_recurrences", max_recurrences),
    SHOW_INT("max_connections", max_connections), SHOW_INT("requests", requests),
    SHOW_SIZE("max_bytes", max_bytes), SHOW_INT("max_streams", max_streams),
    SHOW_SIZE("max_leased", max_leased), { 0 },
};
#undef OF
#define OF struct tenant_view
const struct shape_field tenant_fields[] = {
    SHOW_TEXT("tenant", name), SHOW_INT("pending", pending), SHOW_INT("running", running),
    SHOW_SIZE("leased_bytes", leased_bytes), SHOW_SIZE("queue_bytes", queue_bytes), SHOW_SIZE("kept_bytes", kept_bytes), SHOW_INT("queues", queues), SHOW_INT("used_queues", used_queues),
    SHOW_INT("recurrences", recurrences), SHOW_PART(settings, struct tenant_settings, setting_fields),
    SHOW_BOOL("maintenance", shut), SHOW_MOMENT("maintenance_until_ms", shut_until_ms, OR_NULL),
    SHOW_MOMENT("quiet_until_ms", quiet_until_ms, OR_NULL), { 0 },
};
/* clang-format on */

/* Whether QUIET and TZ are valid. False after an error reply. */
static bool is_quiet_valid(struct verb_call *c)
{
    const struct arg_value *quiet = arg_of(c, "quiet"), *tz = arg_of(c, "tz");
    const struct zone *zone;
    struct rule_error error;
    struct quiet parsed;
    char text[320];

    if (quiet->set && quiet->str.len > 0 && quiet_parse(quiet->str, &parsed, &error) < 0) {
        snprintf(text, sizeof(text), "quiet: %s", error.text);
        verb_error(c, BELFRY_INVALID, text);
        return false;
    }
    return !tz->set || zone_given(c, tz->str, &zone) == 0;
}

/* A tenant's own admin must not set its share of the server. False after an error reply. */
static bool may_limit(struct verb_call *c, unsigned fields)
{
    unsigned limits = 1u << TENANT_WEIGHT | 1u << TENANT_MAX_PENDING | 1u << TENANT_MAX_RUNNING |
                      1u << TENANT_RATE | 1u << TENANT_MAX_QUEUES | 1u << TENANT_MAX_RECURRENCES |
                      1u << TENANT_MAX_CONNECTIONS | 1u << TENANT_REQUESTS |
                      1u << TENANT_MAX_BYTES | 1u << TENANT_MAX_STREAMS | 1u << TENANT_MAX_LEASED |
                      1u << TENANT_BURST;

    if (!verb_is_confined(c) || !(fields & limits))
        return true;
    verb_error(c, BELFRY_NOPERM,
               "weight, max_pending, max_running, max_queues, max_recurrences, max_connections, "
               "max_bytes, max_streams, max_leased, requests, rate and burst are set by an admin "
               "of tenant *");
    return false;
}

void run_tenant(struct verb_call *c)
{
    struct tenant_settings s = { 0 };
    unsigned fields = args_store(c, &s);
    struct str name = c->args[SUBJECT].str;
    struct tenant_view v;

    if (!may_limit(c, fields) || !is_quiet_valid(c))
        return;
    if (fields && verb_failed(c, engine_tenant_set(c->engine, name, &s, fields)))
        return;
    if (engine_tenant_get(c->engine, name, &v) == 0)
        shape_put(c->reply, tenant_fields, &v);
    else
        reply_null(c->reply);
}

static int tenant_add(void *page, const struct tenant_view *v)
{
    return page_add(page, v);
}

/* A caller that is confined to its tenant sees only that. */
static int own_tenant(struct verb_call *c, struct str after, struct page *page)
{
    struct tenant_view v;

    if (str_compare(c->tenant, after) <= 0 || engine_tenant_get(c->engine, c->tenant, &v) != 0)
        return 0;
    return page_add(page, &v);
}

void run_tenants(struct verb_call *c)
{
    struct page page = { .call = c, .fields = tenant_fields };
    struct listing l = LISTING;

    args_store(c, &l);
    page_begin(&page);
    page_end(&page,
             verb_is_confined(c) ? own_tenant(c, l.after, &page)
                                 : engine_tenants(c->engine, l.after, l.limit, tenant_add, &page),
             "");
}

void run_tenantdelete(struct verb_call *c)
{
    verb_ok(c, engine_tenant_delete(c->engine, c->args[SUBJECT].str));
}
