/* SPDX-License-Identifier: MIT */
/* TOKENCREATE, TOKENS, TOKENREVOKE. */
#include "engine/token.h"

#include <openssl/crypto.h>

#include "verbs/handlers.h"
#include "verbs/page.h"
#include "verbs/secret.h"

/* A token as TOKENS and TOKENCREATE show it. */
struct token_shown {
    struct token_view view;
    int64_t expires_ms; /* -1: never */
    bool expired;
    struct str token; /* the token's text */
    struct str note;  /* a sentence for the reader of a new token */
};

/* clang-format off */
#define OF struct token_shown
static const struct shape_field common_fields[] = {
    SHOW_TEXT("name", view.name), SHOW_WORD("role", view.role, role_name, WORDS_3RD(ROLES)),
    SHOW_TEXT("tenant", view.tenant), SHOW_MOMENT("created_ms", view.created_ms),
    SHOW_MOMENT("expires_ms", expires_ms, OR_NULL), { 0 },
};

const struct shape_field token_fields[] = {
    SHOW_ALL(common_fields), SHOW_BOOL("expired", expired), { 0 },
};

const struct shape_field new_token_fields[] = {
    SHOW_ALL(common_fields), SHOW_TEXT("token", token), SHOW_TEXT("note", note), { 0 },
};
/* clang-format on */

static struct token_shown shown_of(const struct verb_call *c, const struct token_view *t)
{
    return (struct token_shown){
        .view = *t,
        .expires_ms = t->expires_ms ? t->expires_ms : -1,
        .expired = t->expires_ms && engine_now(c->engine) >= t->expires_ms,
    };
}

/* An error's usual text is about jobs, so the engine's detail stands alone. */
static void token_refuse(struct verb_call *c, int err)
{
    const char *detail = engine_detail(c->engine);

    verb_refuse(c, err, detail[0] ? detail : error_text(err));
}

/* Makes the server's own secret with the first token. NOMEM, IO. */
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

/* Only this answer has the token's text. */
static void reply_created(struct verb_call *c, const struct token_view *t, const char *secret)
{
    struct token_shown shown = shown_of(c, t);
    char text[NAME_MAX_BYTES + 1 + SECRET_TEXT];

    memcpy(text, t->name.ptr, t->name.len);
    text[t->name.len] = '.';
    memcpy(text + t->name.len + 1, secret, SECRET_TEXT);
    shown.token = (struct str){ text, t->name.len + 1 + SECRET_TEXT };
    shown.note = engine_token_count(c->engine) == 1
                     ? STR("This was the first token: from now on every client needs a token, on "
                           "this machine too. The token is shown once, so keep it now.")
                     : STR("The token is shown once, so keep it now.");
    shape_put(c->reply, new_token_fields, &shown);
    OPENSSL_cleanse(text, sizeof(text));
}

void run_tokencreate(struct verb_call *c)
{
    const struct arg_value *tenant = arg_of(c, "tenant"), *expire = arg_of(c, "expire");
    struct token_view t = {
        .name = c->args[SUBJECT].str,
        .role = (enum role)(arg_of(c, "role")->number + 1),
        .created_ms = engine_now(c->engine),
    };
    uint8_t bytes[SECRET_BYTES], hash[TOKEN_HASH_BYTES];
    char secret[SECRET_TEXT];
    int err = 0;

    t.tenant = tenant->set            ? tenant->str
               : t.role == ROLE_ADMIN ? STR(TENANT_ALL)
                                      : STR(TENANT_DEFAULT);
    if (expire->set)
        t.expires_ms = t.created_ms + expire->number;
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
        engine_tear(c->engine); /* the token must not exist without it */
    if (err)
        token_refuse(c, err);
    else
        reply_created(c, &t, secret);
    OPENSSL_cleanse(bytes, sizeof(bytes));
    OPENSSL_cleanse(secret, sizeof(secret));
}

/* Keeps the token's tenant for the audit log, before the token is gone. */
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
    struct str name = c->args[SUBJECT].str;
    int err;

    keep_tenant(c, name);
    err = engine_token_revoke(c->engine, name);
    if (err)
        token_refuse(c, err);
    else
        reply_status(c->reply, "OK");
}

static int token_add(void *arg, const struct token_view *t)
{
    struct page *page = arg;
    struct token_shown shown = shown_of(page->call, t);

    return page_add(page, &shown);
}

void run_tokens(struct verb_call *c)
{
    struct page page = { .call = c, .fields = token_fields };
    struct listing l = LISTING;

    args_store(c, &l);
    page_begin(&page);
    page_end(&page, engine_tokens(c->engine, c->tenant, l.after, l.limit, token_add, &page), "");
}
