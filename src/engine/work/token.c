/* SPDX-License-Identifier: MIT */
#include "engine/token.h"

#include <stdlib.h>

#include "engine/log/log.h"
#include "engine/place/detail.h"
#include "record/name.h"
#include "record/record.h"

/* ---- Requests ---- */

/* An admin that stays while there are other tokens. */
static bool is_lasting_admin(const struct token *t)
{
    return t->role == ROLE_ADMIN && t->expires_ms == 0 && str_eq(token_tenant(t), STR(TENANT_ALL));
}

static size_t lasting_admins(const struct engine *e)
{
    size_t n = 0;

    list_each_of (const struct token, t, &e->log.tokens.all, link)
        n += is_lasting_admin(t);
    return n;
}

int engine_token_create(struct engine *e, const struct token_view *t)
{
    struct token_record r = {
        .name = t->name,
        .tenant = t->tenant,
        .role = t->role,
        .created_ms = e->now_ms,
        .expires_ms = t->expires_ms,
        .hash = { (const char *)t->hash, TOKEN_HASH_BYTES },
    };

    if (!name_valid(t->name))
        return engine_error(e, BELFRY_INVALID, "name: " NAME_RULE);
    if (!name_valid(t->tenant) && !str_eq(t->tenant, STR(TENANT_ALL)))
        return engine_error(e, BELFRY_INVALID, "tenant: expected a tenant's name, or *");
    if (t->role <= ROLE_NONE || t->role >= ROLE_END)
        return engine_error(e, BELFRY_INVALID, "role: expected one of the roles");
    if (e->log.tokens.count == 0 &&
        (t->role != ROLE_ADMIN || t->expires_ms || !str_eq(t->tenant, STR(TENANT_ALL))))
        return engine_error(e, BELFRY_INVALID,
                            "the first token is to be an admin of tenant *, without EXPIRE: from "
                            "then on nobody is served without a token, and somebody has to make "
                            "the others");
    if (token_find(e, t->name))
        return engine_error(e, BELFRY_KEYEXISTS, "there is a token %.*s: revoke it first",
                            STR_ARG(t->name));
    if (e->log.tokens.count >= TOKENS_MAX)
        return engine_error(e, BELFRY_LIMIT, "there are %d tokens, which is the limit: revoke some",
                            TOKENS_MAX);
    return emit_token(e, &r);
}

int engine_token_revoke(struct engine *e, struct str name)
{
    const struct token *t = token_find(e, name);
    struct token_record r = { .name = name, .gone = true };

    if (!t || t->role == ROLE_NONE)
        return engine_error(e, BELFRY_NOTFOUND, "there is no token %.*s", STR_ARG(name));
    if (is_lasting_admin(t) && e->log.tokens.count > 1 && lasting_admins(e) == 1)
        return engine_error(e, BELFRY_STATE,
                            "%.*s is the last admin of tenant * that does not expire: make another "
                            "first, or revoke all others",
                            STR_ARG(name));
    return emit_token(e, &r);
}

const uint8_t *engine_token_key(const struct engine *e)
{
    const struct token *t = token_find(e, STR(TOKEN_KEY_NAME));

    return t ? t->hash : NULL;
}

int engine_token_key_set(struct engine *e, const uint8_t *key)
{
    return emit_token(e, &(struct token_record){
                             .name = STR(TOKEN_KEY_NAME),
                             .created_ms = e->now_ms,
                             .hash = { (const char *)key, TOKEN_HASH_BYTES },
                         });
}

/* ---- Looking ---- */

static struct token_view view_of(const struct token *t)
{
    return (struct token_view){
        .name = token_name(t),
        .tenant = token_tenant(t),
        .role = t->role,
        .created_ms = t->created_ms,
        .expires_ms = t->expires_ms,
        .hash = t->hash,
        .serial = t->serial,
    };
}

bool engine_token_find(const struct engine *e, struct str name, struct token_view *ret)
{
    const struct token *t = token_find(e, name);

    if (!t || t->role == ROLE_NONE)
        return false;
    *ret = view_of(t);
    return true;
}

int engine_tokens(const struct engine *e, struct str tenant, struct str after, size_t limit,
                  int (*fn)(void *arg, const struct token_view *t), void *arg)
{
    const struct named **all = malloc((e->log.tokens.count + 1) * sizeof(*all));
    bool any = str_eq(tenant, STR(TENANT_ALL));
    size_t n = 0;
    int answer = 0;

    if (!all)
        return BELFRY_NOMEM;
    list_each_of (const struct token, t, &e->log.tokens.all, link) {
        if (t->role != ROLE_NONE && (any || str_eq(tenant, token_tenant(t))) &&
            str_compare(token_name(t), after) > 0)
            all[n++] = &t->by_name;
    }
    named_sort(all, n);
    for (size_t i = 0; i < n && i < limit && answer == 0; i++) {
        struct token_view v = view_of(container_of(all[i], const struct token, by_name));

        answer = fn(arg, &v);
    }
    free(all);
    return answer;
}

size_t engine_token_count(const struct engine *e)
{
    return e->log.tokens.count;
}

uint64_t engine_token_generation(const struct engine *e)
{
    return e->log.tokens.generation;
}
