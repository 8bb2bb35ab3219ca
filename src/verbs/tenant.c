/* SPDX-License-Identifier: MIT */
/* TENANT, TENANTS. */
#include "verbs/handlers.h"

#include <stdio.h>

#include "recur/quiet.h"
#include "verbs/page.h"

#define TENANTS_MAX 1000

/* clang-format off */
#define OF struct tenant_settings
static const struct shape_field setting_fields[] = {
    SHOW_INT("weight", weight), SHOW_BOOL("maintenance", maintenance),
    SHOW_INT("max_pending", max_pending), SHOW_INT("max_running", max_running),
    SHOW_RATE("rate", rate), SHOW_TEXT("quiet", quiet, OR_NULL), SHOW_TEXT("tz", tz, OR_NULL),
    SHOW_INT("spread_ms", spread_ms), { 0 },
};
#undef OF
#define OF struct tenant_view
const struct shape_field tenant_fields[] = {
    SHOW_TEXT("tenant", name), SHOW_INT("pending", pending), SHOW_INT("running", running),
    SHOW_INT("queues", queues), SHOW_PART(settings, struct tenant_settings, setting_fields),
    SHOW_MOMENT("quiet_until_ms", quiet_until_ms, OR_NULL), { 0 },
};
/* clang-format on */

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
        shape_put(c->reply, tenant_fields, &v);
    else
        reply_null(c->reply);
}

static int tenant_add(void *page, const struct tenant_view *v)
{
    return page_add(page, v);
}

/* One who is confined to his tenant sees that. */
static int own_tenant(struct verb_call *c, struct str after, struct page *page)
{
    struct tenant_view v;

    if (str_compare(c->tenant, after) <= 0 || engine_tenant_get(c->engine, c->tenant, &v) != 0)
        return 0;
    return page_add(page, &v);
}

void run_tenants(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct page page = { .fields = tenant_fields, .size = sizeof(struct tenant_view), .call = c };
    struct str after = arg_str(&a[TENANTS_AFTER]);
    size_t limit = (size_t)arg_number(&a[TENANTS_LIMIT], TENANTS_MAX);
    int err = verb_is_confined(c) ? own_tenant(c, after, &page)
                                  : engine_tenants(c->engine, after, limit, tenant_add, &page);

    if (err)
        verb_error(c, err, "");
    else
        page_put(c->reply, &page);
    page_fini(&page);
}
