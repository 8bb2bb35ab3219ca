/* SPDX-License-Identifier: MIT */
/* The tokens there are: few and small, so all are in memory. */
#include "engine/log/log.h"

#include <stdlib.h>

#include "record/record.h"

void tokens_init(struct engine *e)
{
    named_init(&e->log.tokens.by_name, e->o.secret);
    list_init(&e->log.tokens.all);
    e->log.tokens.generation = (e->o.epoch << 24) + 1;
}

static void token_drop(struct engine *e, struct token *t)
{
    table_remove(&e->log.tokens.by_name, &t->by_name.node);
    list_remove(&t->link);
    e->log.tokens.count -= t->role != ROLE_NONE;
    explicit_bzero(t->hash, sizeof(t->hash));
    free(t);
}

void tokens_free(struct engine *e)
{
    while (!list_empty(&e->log.tokens.all))
        token_drop(e, container_of(e->log.tokens.all.next, struct token, link));
    table_fini(&e->log.tokens.by_name);
}

struct token *token_find(const struct engine *e, struct str name)
{
    struct named *found = named_find(&e->log.tokens.by_name, name);

    return found ? container_of(found, struct token, by_name) : NULL;
}

int apply_token(struct engine *e, const struct token_record *r)
{
    struct token *old = token_find(e, r->name), *t = NULL;

    if (!r->gone) {
        t = calloc(1, sizeof(*t) + r->name.len + r->tenant.len);
        if (!t)
            return BELFRY_NOMEM;
        t->segment = e->segment;
        t->role = (enum role)r->role;
        t->created_ms = r->created_ms;
        t->expires_ms = r->expires_ms;
        t->serial = ++e->log.tokens.serial;
        memcpy(t->hash, r->hash.ptr, TOKEN_HASH_BYTES);
        t->tenant_len = (uint16_t)r->tenant.len;
        if (r->tenant.len)
            memcpy(t->text + r->name.len, r->tenant.ptr, r->tenant.len);
    }
    if (old)
        token_drop(e, old);
    if (t) {
        named_add(&e->log.tokens.by_name, &t->by_name, t->text, r->name);
        list_append(&e->log.tokens.all, &t->link);
        e->log.tokens.count += t->role != ROLE_NONE;
    }
    e->log.tokens.generation++;
    return 0;
}
