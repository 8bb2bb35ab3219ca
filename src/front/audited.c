/* SPDX-License-Identifier: MIT */
/* Requests that the audit log has: their rations and entries. */
#include <stdio.h>

#include "base/time.h"
#include "engine/audit.h"
#include "front/session.h"

/* The tenant whose ration of the audit log the session's changes use; empty: it has no ration. */
static struct str rationed_tenant(const struct session *s, const struct session_target *t)
{
    const struct identity *who = &s->who;

    if (!t->rations || (!who->confined && who->role == ROLE_ADMIN))
        return (struct str){ 0 };
    return who->confined ? identity_tenant(who) : STR(TENANT_ALL);
}

/* Whether the ration is used up; `why` says until when. */
static bool is_used_up(const struct session *s, const struct session_target *t, char *why,
                       size_t why_size)
{
    struct str tenant = rationed_tenant(s, t);
    int64_t ms =
        tenant.len ? ration_wait(t->rations, tenant, s->who.role == ROLE_ADMIN, time_mono_ms()) : 0;

    if (ms == 0)
        return false;
    snprintf(why, why_size,
             "the audit log takes %lld changes in a second (audit_rate): try "
             "again in %lldms",
             (long long)*t->rations->rate, (long long)ms);
    return true;
}

static void spend(const struct session *s, const struct session_target *t)
{
    struct str tenant = rationed_tenant(s, t);

    if (tenant.len > 0)
        ration_spend(t->rations, tenant, s->who.role == ROLE_ADMIN);
}

bool session_lacks_ration(const struct session *s, const struct session_target *t,
                          struct verb_call *call)
{
    char text[160];

    if (!verb_is_audited(call) || !is_used_up(s, t, text, sizeof(text)))
        return false;
    verb_error(call, BELFRY_RATE, text);
    return true;
}

void session_audit(const struct session *s, const struct session_target *t, struct verb_call *call)
{
    if (verb_audit(call, str_of(s->name), str_of(s->address)) < 0)
        engine_tear(call->engine);
    spend(s, t);
}

int session_enter(const struct session *s, const struct session_target *t, const char *verb,
                  char *why, size_t why_size)
{
    struct engine *e = partition_engine(t->partition);
    struct audit_entry a = {
        .at_ms = engine_now(e),
        .tenant = s->who.confined ? identity_tenant(&s->who) : STR(TENANT_ALL),
        .user = identity_name(&s->who),
        .client = str_of(s->name),
        .address = str_of(s->address),
        .verb = str_of(verb),
        .request = str_of(verb),
        .outcome = STR("OK"),
    };
    bool is_login = strcmp(verb, "LOGIN") == 0;
    int err;

    /* There are no more ends than beginnings, so an end is always entered. */
    if (is_login && is_used_up(s, t, why, why_size))
        return BELFRY_RATE;
    err = engine_audit(e, &a);
    if (err)
        return err;
    if (t->host->audited)
        t->host->audited(t->host, &a);
    if (is_login)
        spend(s, t);
    return 0;
}
