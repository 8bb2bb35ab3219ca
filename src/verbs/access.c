/* SPDX-License-Identifier: MIT */
/* The rights of a caller, by the verb's row and the caller's token; and error replies. */
#include <stdio.h>

#include "verbs/handlers.h"

bool verb_allows(const struct verb *v, enum role r)
{
    switch (r) {
    case ROLE_ADMIN: return true;
    case ROLE_PRODUCER: return v->flags & VERB_PRODUCER;
    case ROLE_WORKER: return v->flags & VERB_WORKER;
    case ROLE_READONLY:
        return v->flags & VERB_SHOWS || (v->flags & VERB_READS && !(v->flags & VERB_ADMIN));
    case ROLE_NONE:
    case ROLE_END: break;
    }
    return false;
}

size_t verb_roles(const struct verb *v, char *ret, size_t size)
{
    size_t len = 0;

    for (enum role r = ROLE_NONE + 1; r < ROLE_END && len < size; r++)
        if (verb_allows(v, r))
            len += (size_t)snprintf(ret + len, size - len, "%s%s", len ? ", " : "", role_name(r));
    return len;
}

const char *verb_thing(const struct verb *v)
{
    return v && v->args[0].thing ? v->args[0].thing : "job";
}

void verb_refuse(struct verb_call *c, int err, const char *text)
{
    c->failed = true;
    reply_refuse(c->reply, error_name(err), str_of(text));
}

void verb_error(struct verb_call *c, int err, const char *detail)
{
    const struct error_row *row = error_row(err);
    char text[512];

    if (err == BELFRY_COLD) {
        c->cold = true;
        return;
    }
    if (!detail[0] && err == BELFRY_NOTFOUND)
        snprintf(text, sizeof(text), "no such %s", verb_thing(c->verb));
    else if (!detail[0])
        snprintf(text, sizeof(text), "%s", error_text(err));
    else if (row && row->detail == ERROR_SAYS)
        snprintf(text, sizeof(text), "%s", detail);
    else
        snprintf(text, sizeof(text), "%s: %s", error_text(err), detail);
    verb_refuse(c, err, text);
}

bool verb_failed(struct verb_call *c, int err)
{
    if (err < 0 && !c->failed)
        verb_error(c, err, engine_detail(c->engine));
    return err < 0;
}

bool verb_missing(struct verb_call *c, int err)
{
    if (err != BELFRY_NOTFOUND)
        return verb_failed(c, err);
    reply_null(c->reply);
    return true;
}

void verb_ok(struct verb_call *c, int err)
{
    if (!verb_failed(c, err))
        reply_status(c->reply, "OK");
}

bool verb_is_confined(const struct verb_call *c)
{
    return c->who && c->who->confined;
}

bool one_tenant(struct verb_call *c)
{
    if (!str_eq(c->tenant, STR(TENANT_ALL)))
        return true;
    verb_error(c, BELFRY_INVALID, "tenant: expected the name of one, not *");
    return false;
}

int verb_admit(struct verb_call *c)
{
    char roles[64], text[256];

    if (!c->who)
        return 0;
    if (!verb_allows(c->verb, c->who->role)) {
        verb_roles(c->verb, roles, sizeof(roles));
        snprintf(text, sizeof(text), "%s is for %s; this token is %s", c->verb->name, roles,
                 role_name(c->who->role));
    } else if (c->verb->flags & VERB_SERVER && c->who->confined) {
        snprintf(text, sizeof(text), "%s is for tokens of tenant *", c->verb->name);
    } else {
        return 0;
    }
    verb_error(c, BELFRY_NOPERM, text);
    return BELFRY_NOPERM;
}

static const struct arg_value *tenant_given(const struct verb *v, const struct arg_value *args,
                                            uint32_t given)
{
    for (; given; given &= given - 1) {
        unsigned i = (unsigned)__builtin_ctz(given);

        if (v->args[i].type == ARG_TENANT)
            return &args[i];
    }
    return NULL;
}

static struct str tenant_or_default(const struct verb *v, const struct arg_value *given)
{
    if (given)
        return given->str;
    return v->flags & (VERB_HOLDS | VERB_WIDE) ? STR(TENANT_ALL) : STR(TENANT_DEFAULT);
}

struct str verb_tenant(const struct verb *v, const struct arg_value *args, uint32_t given)
{
    return tenant_or_default(v, tenant_given(v, args, given));
}

/* Whether a setting is among the arguments of a caller that may only look. */
static bool lacks_settings_right(const struct verb_call *c)
{
    if (!c->who || c->who->role != ROLE_READONLY || !(c->verb->flags & VERB_SHOWS))
        return false;
    for (uint32_t left = c->given; left; left &= left - 1)
        if (c->verb->args[__builtin_ctz(left)].field)
            return true;
    return false;
}

/* The answer does not depend on whether the tenant exists. */
int verb_scope(struct verb_call *c)
{
    const struct arg_value *given = tenant_given(c->verb, c->args, c->given);
    char text[NAME_MAX_BYTES + 64];

    if (lacks_settings_right(c)) {
        verb_error(c, BELFRY_NOPERM, "settings are changed by admin; this token is read-only");
        return BELFRY_NOPERM;
    }
    if (!verb_is_confined(c)) {
        c->tenant = tenant_or_default(c->verb, given);
        return 0;
    }
    if (c->verb->run == run_tenant)
        given = &c->args[SUBJECT];
    c->tenant = identity_tenant(c->who);
    if (!given || str_eq(given->str, c->tenant))
        return 0;
    snprintf(text, sizeof(text), "it is for tenant %.*s only", STR_ARG(c->tenant));
    verb_error(c, BELFRY_NOPERM, text);
    return BELFRY_NOPERM;
}
