/* SPDX-License-Identifier: MIT */
#include "verbs/identity.h"

#include <openssl/crypto.h>

#include "verbs/secret.h"

void identity_forget(struct identity *i)
{
    *i = (struct identity){ 0 };
}

static void identity_take(struct identity *i, const struct token_view *t)
{
    i->serial = t->serial;
    i->expires_ms = t->expires_ms;
    i->role = t->role;
    i->confined = !str_eq(t->tenant, STR(TENANT_ALL));
    i->name_len = (uint8_t)t->name.len;
    i->tenant_len = (uint8_t)t->tenant.len;
    memcpy(i->name, t->name.ptr, t->name.len);
    memcpy(i->tenant, t->tenant.ptr, t->tenant.len);
}

int identity_show(struct identity *i, const struct engine *e, struct str user, struct str password)
{
    static const uint8_t nobodys[TOKEN_HASH_BYTES];
    uint8_t hash[TOKEN_HASH_BYTES];
    struct str name, secret;
    struct token_view t;
    bool there, same;

    secret_parts(user, password, &name, &secret);
    secret_hash(secret, hash);
    there = engine_token_find(e, name, &t);
    same = CRYPTO_memcmp(hash, there ? t.hash : nobodys, sizeof(hash)) == 0;
    identity_forget(i);
    if (!(there & same) || secret.len > SECRET_MAX ||
        (t.expires_ms && engine_now(e) >= t.expires_ms))
        return BELFRY_WRONGPASS;
    identity_take(i, &t);
    i->generation = engine_token_generation(e);
    return 0;
}

int identity_refresh(struct identity *i, const struct engine *e, bool remote)
{
    uint64_t shown = i->serial;
    struct token_view t;

    i->generation = engine_token_generation(e);
    i->standing = BELFRY_NOAUTH;
    i->expires_ms = 0;
    if (engine_token_count(e) == 0) {
        i->serial = 0;
        i->name_len = i->tenant_len = 0;
        i->role = ROLE_ADMIN;
        i->confined = false;
        i->standing = remote ? BELFRY_NOAUTH : 0;
    } else if (shown && engine_token_find(e, identity_name(i), &t) && t.serial == shown &&
               (t.expires_ms == 0 || engine_now(e) < t.expires_ms)) {
        identity_take(i, &t);
        i->standing = 0;
    } else {
        i->role = ROLE_NONE;
    }
    return i->standing;
}

int identity_resume(struct identity *i, const struct engine *e, struct str name, uint64_t serial,
                    bool remote)
{
    identity_forget(i);
    i->serial = serial;
    i->name_len = (uint8_t)name.len;
    memcpy(i->name, name.ptr, name.len);
    return identity_refresh(i, e, remote);
}

const char *identity_why(const struct identity *i, const struct engine *e)
{
    if (engine_token_count(e) == 0)
        return "there are no tokens yet, so that only loopback is served";
    return i->serial
               ? "the one that was shown has expired or was revoked"
               : "AUTH name.secret, or over HTTP the header Authorization: Bearer name.secret";
}
