/* SPDX-License-Identifier: MIT */
/* TOKENCREATE, TOKENS, TOKENREVOKE. */
#include "engine/token.h"

#include <openssl/crypto.h>

#include "verbs/handlers.h"
#include "verbs/secret.h"

#define LISTED_MAX 1000

static void reply_moment(struct reply *r, const char *name, int64_t ms)
{
    reply_text(r, name);
    if (ms)
        reply_integer(r, ms);
    else
        reply_null(r);
}

static void reply_token_view(struct reply *r, const struct token_view *t)
{
    reply_text(r, "name");
    reply_bytes(r, t->name);
    reply_text(r, "role");
    reply_text(r, role_name(t->role));
    reply_text(r, "tenant");
    reply_bytes(r, t->tenant);
    reply_field(r, "created_ms", t->created_ms);
    reply_moment(r, "expires_ms", t->expires_ms);
}

#define VIEW_FIELDS 5

/* An error that is about no job, so that all it says is said here. */
static void refuse(struct verb_call *c, int err)
{
    const char *detail = engine_detail(c->engine);

    verb_refuse(c, err, detail[0] ? detail : error_text(err));
}

/* With the first token comes the server's own secret. NOMEM, IO. */
static int need_key(struct verb_call *c)
{
    uint8_t key[TOKEN_HASH_BYTES];
    int err;

    if (engine_token_key(c->engine))
        return 0;
    if (!secret_draw(key, sizeof(key)))
        return BELFRY_IO;
    err = engine_token_key_set(c->engine, key);
    OPENSSL_cleanse(key, sizeof(key));
    return err;
}

/* The token's text is in this answer and nowhere else. */
static void reply_created(struct verb_call *c, const struct token_view *t, const char *secret)
{
    char text[NAME_MAX_BYTES + 1 + SECRET_TEXT];

    memcpy(text, t->name.ptr, t->name.len);
    text[t->name.len] = '.';
    memcpy(text + t->name.len + 1, secret, SECRET_TEXT);
    reply_map(c->reply, VIEW_FIELDS + 1);
    reply_token_view(c->reply, t);
    reply_text(c->reply, "token");
    reply_bytes(c->reply, (struct str){ text, t->name.len + 1 + SECRET_TEXT });
    OPENSSL_cleanse(text, sizeof(text));
}

void run_tokencreate(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct token_view t = {
        .name = a[TOKENCREATE_NAME].str,
        .role = (enum role)(a[TOKENCREATE_ROLE].number + 1),
        .created_ms = engine_now(c->engine),
    };
    uint8_t bytes[SECRET_BYTES], hash[TOKEN_HASH_BYTES];
    char secret[SECRET_TEXT];
    int err = 0;

    t.tenant = a[TOKENCREATE_TENANT].set ? a[TOKENCREATE_TENANT].str
               : t.role == ROLE_ADMIN    ? STR(TENANT_ALL)
                                         : STR(TENANT_DEFAULT);
    if (a[TOKENCREATE_EXPIRE].set)
        t.expires_ms = t.created_ms + a[TOKENCREATE_EXPIRE].number;
    c->tenant = t.tenant;
    if (!secret_draw(bytes, sizeof(bytes))) {
        verb_error(c, BELFRY_IO, "the system has no random bytes");
        return;
    }
    secret_write(bytes, secret);
    secret_hash((struct str){ secret, sizeof(secret) }, hash);
    t.hash = hash;
    err = engine_token_create(c->engine, &t);
    if (!err && (err = need_key(c)) < 0)
        engine_tear(c->engine); /* nothing of it has happened */
    if (err)
        refuse(c, err);
    else
        reply_created(c, &t, secret);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    OPENSSL_cleanse(secret, sizeof(secret));
}

/* Whose token it is, for the audit log: afterwards nobody knows. */
static void keep_tenant(struct verb_call *c, struct str name)
{
    struct token_view t;

    if (!engine_token_find(c->engine, name, &t))
        return;
    memcpy(c->kept, t.tenant.ptr, t.tenant.len);
    c->tenant = (struct str){ c->kept, t.tenant.len };
}

void run_tokenrevoke(struct verb_call *c)
{
    struct str name = c->args[TOKENREVOKE_NAME].str;
    int err;

    keep_tenant(c, name);
    err = engine_token_revoke(c->engine, name);
    if (err)
        refuse(c, err);
    else
        reply_status(c->reply, "OK");
}

struct listed {
    struct token_view at[LISTED_MAX];
    size_t n;
};

static int note(void *arg, const struct token_view *t)
{
    struct listed *l = arg;

    l->at[l->n++] = *t;
    return 0;
}

void run_tokens(struct verb_call *c)
{
    const struct arg_value *a = c->args;
    struct listed l;
    int err;

    l.n = 0;
    err =
        engine_tokens(c->engine, c->tenant, a[TOKENS_AFTER].set ? a[TOKENS_AFTER].str : STR(""),
                      a[TOKENS_LIMIT].set ? (size_t)a[TOKENS_LIMIT].number : LISTED_MAX, note, &l);
    if (err) {
        verb_error(c, err, "");
        return;
    }
    reply_array(c->reply, l.n);
    for (size_t i = 0; i < l.n; i++) {
        reply_map(c->reply, VIEW_FIELDS + 1);
        reply_token_view(c->reply, &l.at[i]);
        reply_text(c->reply, "expired");
        reply_boolean(c->reply, l.at[i].expires_ms && engine_now(c->engine) >= l.at[i].expires_ms);
    }
}
