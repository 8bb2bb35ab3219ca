/* SPDX-License-Identifier: MIT */
#include "engine/token.h"

#include <stdlib.h>
#include <xxhash.h>

#include "engine/internal.h"

struct token {
    struct table_node by_name;
    struct list link; /* in token_set.all */
    uint32_t segment; /* where its record stands */
    enum role role;
    int64_t created_ms;
    int64_t expires_ms;
    uint64_t serial;
    uint8_t hash[TOKEN_HASH_BYTES];
    uint16_t name_len;
    uint16_t tenant_len;
    char text[]; /* name, tenant */
};

static struct str name_of(const struct token *t)
{
    return (struct str){ t->text, t->name_len };
}

static struct str tenant_of(const struct token *t)
{
    return (struct str){ t->text + t->name_len, t->tenant_len };
}

static bool matches(const struct table_node *node, const void *arg)
{
    return str_eq(name_of(container_of(node, struct token, by_name)), *(const struct str *)arg);
}

static uint64_t hash_of(const struct table_node *node)
{
    const struct token *t = container_of(node, struct token, by_name);

    return XXH3_64bits(t->text, t->name_len);
}

void tokens_init(struct engine *e)
{
    table_init(&e->tokens.by_name, hash_of);
    list_init(&e->tokens.all);
    e->tokens.generation = (e->o.epoch << 24) + 1;
}

static void drop(struct engine *e, struct token *t)
{
    table_remove(&e->tokens.by_name, &t->by_name);
    list_remove(&t->link);
    e->tokens.count -= t->role != ROLE_NONE;
    explicit_bzero(t->hash, sizeof(t->hash));
    free(t);
}

void tokens_free(struct engine *e)
{
    while (!list_empty(&e->tokens.all))
        drop(e, container_of(e->tokens.all.next, struct token, link));
    table_fini(&e->tokens.by_name);
}

static struct token *find(const struct engine *e, struct str name)
{
    struct table_node *node =
        table_find(&e->tokens.by_name, XXH3_64bits(name.ptr, name.len), matches, &name);

    return node ? container_of(node, struct token, by_name) : NULL;
}

int apply_token(struct engine *e, const struct token_record *r)
{
    struct token *old = find(e, r->name), *t = NULL;

    if (!r->gone) {
        t = calloc(1, sizeof(*t) + r->name.len + r->tenant.len);
        if (!t)
            return BELFRY_NOMEM;
        t->segment = e->segment;
        t->role = (enum role)r->role;
        t->created_ms = r->created_ms;
        t->expires_ms = r->expires_ms;
        t->serial = ++e->tokens.serial;
        memcpy(t->hash, r->hash.ptr, TOKEN_HASH_BYTES);
        t->name_len = (uint16_t)r->name.len;
        t->tenant_len = (uint16_t)r->tenant.len;
        memcpy(t->text, r->name.ptr, r->name.len);
        if (r->tenant.len)
            memcpy(t->text + r->name.len, r->tenant.ptr, r->tenant.len);
    }
    if (old)
        drop(e, old);
    if (t) {
        table_add(&e->tokens.by_name, &t->by_name);
        list_append(&e->tokens.all, &t->link);
        e->tokens.count += t->role != ROLE_NONE;
    }
    e->tokens.generation++;
    return 0;
}

static struct token_record record_of(const struct token *t)
{
    return (struct token_record){
        .name = name_of(t),
        .tenant = tenant_of(t),
        .role = t->role,
        .created_ms = t->created_ms,
        .expires_ms = t->expires_ms,
        .hash = { (const char *)t->hash, TOKEN_HASH_BYTES },
    };
}

int tokens_copy(struct engine *e, uint32_t segment)
{
    struct list *node;

    list_each (node, &e->tokens.all) {
        struct token *t = container_of(node, struct token, link);
        struct token_record r = record_of(t);

        if (t->segment <= segment && emit_token_copy(e, &r, &t->segment) < 0)
            return BELFRY_NOMEM;
    }
    return 0;
}

/* ---- Requests ---- */

/* One that is always there while there are others. */
static bool is_lasting_admin(const struct token *t)
{
    return t->role == ROLE_ADMIN && t->expires_ms == 0 && str_eq(tenant_of(t), STR(TENANT_ALL));
}

static size_t lasting_admins(const struct engine *e)
{
    const struct list *node;
    size_t n = 0;

    list_each (node, &e->tokens.all)
        n += is_lasting_admin(container_of(node, struct token, link));
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
        return engine_error(e, BELFRY_INVALID,
                            "name: expected 1-128 characters of A-Z a-z 0-9 . _ - : /");
    if (!name_valid(t->tenant) && !str_eq(t->tenant, STR(TENANT_ALL)))
        return engine_error(e, BELFRY_INVALID, "tenant: expected a tenant's name, or *");
    if (t->role <= ROLE_NONE || t->role >= ROLE_END)
        return engine_error(e, BELFRY_INVALID, "role: expected one of the roles");
    if (e->tokens.count == 0 &&
        (t->role != ROLE_ADMIN || t->expires_ms || !str_eq(t->tenant, STR(TENANT_ALL))))
        return engine_error(e, BELFRY_INVALID,
                            "the first token is to be an admin of tenant *, without EXPIRE: from "
                            "then on nobody is served without a token, and somebody has to make "
                            "the others");
    if (find(e, t->name))
        return engine_error(e, BELFRY_KEYEXISTS, "there is a token %.*s: revoke it first",
                            STR_ARG(t->name));
    if (e->tokens.count >= TOKENS_MAX)
        return engine_error(e, BELFRY_LIMIT, "there are %d tokens, which is the limit: revoke some",
                            TOKENS_MAX);
    return emit_token(e, &r);
}

int engine_token_revoke(struct engine *e, struct str name)
{
    const struct token *t = find(e, name);
    struct token_record r = { .name = name, .gone = true };

    if (!t || t->role == ROLE_NONE)
        return engine_error(e, BELFRY_NOTFOUND, "there is no token %.*s", STR_ARG(name));
    if (is_lasting_admin(t) && e->tokens.count > 1 && lasting_admins(e) == 1)
        return engine_error(e, BELFRY_STATE,
                            "%.*s is the last admin of tenant * that does not expire: make another "
                            "first, or revoke all others",
                            STR_ARG(name));
    return emit_token(e, &r);
}

const uint8_t *engine_token_key(const struct engine *e)
{
    const struct token *t = find(e, STR(TOKEN_KEY_NAME));

    return t ? t->hash : NULL;
}

int engine_token_key_set(struct engine *e, const uint8_t *key)
{
    struct token_record r = {
        .name = STR(TOKEN_KEY_NAME),
        .created_ms = e->now_ms,
        .hash = { (const char *)key, TOKEN_HASH_BYTES },
    };

    return emit_token(e, &r);
}

/* ---- Looking ---- */

static struct token_view view_of(const struct token *t)
{
    return (struct token_view){
        .name = name_of(t),
        .tenant = tenant_of(t),
        .role = t->role,
        .created_ms = t->created_ms,
        .expires_ms = t->expires_ms,
        .hash = t->hash,
        .serial = t->serial,
    };
}

bool engine_token_find(const struct engine *e, struct str name, struct token_view *ret)
{
    const struct token *t = find(e, name);

    if (!t || t->role == ROLE_NONE)
        return false;
    *ret = view_of(t);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return str_compare(name_of(*(const struct token *const *)a),
                       name_of(*(const struct token *const *)b));
}

int engine_tokens(const struct engine *e, struct str tenant, struct str after, size_t limit,
                  int (*fn)(void *arg, const struct token_view *t), void *arg)
{
    const struct token **all = malloc((e->tokens.count + 1) * sizeof(struct token *));
    bool any = str_eq(tenant, STR(TENANT_ALL));
    const struct list *node;
    size_t n = 0;
    int answer = 0;

    if (!all)
        return BELFRY_NOMEM;
    list_each (node, &e->tokens.all) {
        const struct token *t = container_of(node, struct token, link);

        if (t->role != ROLE_NONE && (any || str_eq(tenant, tenant_of(t))) &&
            str_compare(name_of(t), after) > 0)
            all[n++] = t;
    }
    qsort(all, n, sizeof(struct token *), by_name);
    for (size_t i = 0; i < n && i < limit && answer == 0; i++) {
        struct token_view v = view_of(all[i]);

        answer = fn(arg, &v);
    }
    free(all);
    return answer;
}

size_t engine_token_count(const struct engine *e)
{
    return e->tokens.count;
}

uint64_t engine_token_generation(const struct engine *e)
{
    return e->tokens.generation;
}
